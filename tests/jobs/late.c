/* Rank 0 sends short messages, which wait while rank 1 computes, beyond the end of its turn. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int round = 0; round < 4; round++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (volatile int i = 0; rank == 1 && i < 30000; i++)
            ;
        for (int i = 0; i < 10; i++) {
            int word = i;
            if (rank == 0)
                MPI_Send(&word, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
            else if (rank == 1)
                MPI_Recv(&word, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += word != i;
        }
    }
    if (rank == 1)
        printf("late: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return 0;
}
