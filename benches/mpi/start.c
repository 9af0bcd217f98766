/* Instructions of MPI_Init, on the rank that takes most. */
#include <mpi.h>
#include <stdio.h>

static unsigned long instructions(void)
{
    unsigned long now;
    __asm__ volatile("rdinstret %0" : "=r"(now) : : "memory");
    return now;
}

int main(int argc, char **argv)
{
    unsigned long begin = instructions();
    MPI_Init(&argc, &argv);
    unsigned long spent = instructions() - begin, most;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Reduce(&spent, &most, 1, MPI_UNSIGNED_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%lu\n", most);
    MPI_Finalize();
    return 0;
}
