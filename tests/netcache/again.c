/* Of messages that come before their receives the first is taken by a wildcard, and those behind it, of the same envelope, by
 * exact receives, each with no other receive open. They go by name, and count with the first. */
#include <mpi.h>
#include <stdio.h>

enum { MESSAGES = 6, TAG = 5 };

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (long number = 0; number < MESSAGES; number++) {
        long got = number;
        if (rank == 1)
            MPI_Send(&number, 1, MPI_LONG, 0, TAG, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(&got, 1, MPI_LONG, number == 0 ? MPI_ANY_SOURCE : 1, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += got != number;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0)
        printf("again: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong > 0;
}
