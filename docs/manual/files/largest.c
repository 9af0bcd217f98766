// largest.c: the largest number of all ranks. It is wrong where all are negative.
#include <mpi.h>
#include <stdio.h>

int largest(const int *numbers, int count)
{
    int most = 0;
    for (int i = 0; i < count; i++)
        if (numbers[i] > most)
            most = numbers[i];
    return most;
}

int main(int argc, char **argv)
{
    int rank, all, own, numbers[4];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 4; i++)
        numbers[i] = -10 * rank - i - 1;
    own = largest(numbers, 4);
    MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf("the largest is %d\n", all);
    MPI_Finalize();
    return 0;
}
