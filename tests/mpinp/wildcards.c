/* Receives that wait on the host get messages in the order in which they were posted, whatever their wildcards. Usage: wildcards
 *
 * Rank 1 posts more receives than the card has room for, of a tag that is sent last; then receives with wildcards of all kinds,
 * each of which would get any of rank 0's messages. */
#include <mpi.h>
#include <stdio.h>

enum { FILLERS = 110, COUNT = 96, TAG = 5, FILLER = 6 };

int main(int argc, char **argv)
{
    static int values[COUNT], fillers[FILLERS];
    static MPI_Request requests[COUNT + FILLERS];
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm other;
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; rank == 1 && i < FILLERS; i++)
        MPI_Irecv(&fillers[i], 1, MPI_INT, 0, FILLER, other, &requests[COUNT + i]);
    for (int i = 0; rank == 1 && i < COUNT; i++) {
        int kind = i * 7 % 11 % 4, source = kind & 1 ? MPI_ANY_SOURCE : 0, tag = kind & 2 ? MPI_ANY_TAG : TAG;
        MPI_Irecv(&values[i], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < COUNT; i++)
        MPI_Send(&i, 1, MPI_INT, 1, TAG, MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < FILLERS; i++)
        MPI_Send(&i, 1, MPI_INT, 1, FILLER, other);
    if (rank == 1)
        MPI_Waitall(COUNT + FILLERS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; rank == 1 && i < COUNT; i++)
        wrong += values[i] != i;
    for (int i = 0; rank == 1 && i < FILLERS; i++)
        wrong += fillers[i] != i;
    if (rank == 1)
        printf("wildcards: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Comm_free(&other);
    MPI_Finalize();
    return wrong != 0;
}
