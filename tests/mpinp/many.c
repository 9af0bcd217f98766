/* Receives by the thousand, posted before the first message comes, get messages in order. Usage: many RECEIVES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAGS = 7 };

int main(int argc, char **argv)
{
    int count = argc > 1 ? atoi(argv[1]) : 0, rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int *values = calloc((size_t)count, sizeof *values);
    MPI_Request *requests = calloc((size_t)count, sizeof(MPI_Request));
    for (int i = 0; rank == 1 && i < count; i++)
        MPI_Irecv(&values[i], 1, MPI_INT, i % 5 ? 0 : MPI_ANY_SOURCE, i % TAGS, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < count; i++)
        MPI_Send(&i, 1, MPI_INT, 1, i % TAGS, MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < count; i++)
            wrong += values[i] != i;
        printf("many, %d receives: %s\n", count, wrong ? "FAILED" : "PASSED");
    }
    free(requests);
    free(values);
    MPI_Finalize();
    return wrong != 0;
}
