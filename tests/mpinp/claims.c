/* Rank 0 cancels a synchronous message while rank 1 probes for it, at all distances in time: either it is cancelled, or rank 1
 * claims and receives it. Usage: claims TIMES
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE, VERDICT };

static int wrong, received;

static void give(int number)
{
    MPI_Request request;
    MPI_Status status;
    int is_cancelled;
    MPI_Issend(&number, 1, MPI_INT, 1, MESSAGE, MPI_COMM_WORLD, &request);
    for (volatile int i = 0; i < number * 120; i++)
        ;
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    MPI_Send(&is_cancelled, 1, MPI_INT, 1, VERDICT, MPI_COMM_WORLD);
}

static void take(int number)
{
    int is_told = 0, is_claimed = 0, is_cancelled = -1, got = -1;
    while (!is_told) {
        MPI_Message message;
        int is_found = 0;
        MPI_Improbe(0, MESSAGE, MPI_COMM_WORLD, &is_found, &message, MPI_STATUS_IGNORE);
        if (is_found) {
            MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            wrong += got != number;
            is_claimed++;
        }
        MPI_Iprobe(0, VERDICT, MPI_COMM_WORLD, &is_told, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&is_cancelled, 1, MPI_INT, 0, VERDICT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += is_claimed + is_cancelled != 1;
    received += is_claimed;
}

/* More than a card keeps, received in reverse. */
static void claim_many(int rank, int count)
{
    MPI_Message *messages = malloc((size_t)count * sizeof *messages);
    for (int i = 0; rank == 0 && i < count; i++)
        MPI_Send(&i, 1, MPI_INT, 1, MESSAGE, MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < count; i++)
        MPI_Mprobe(0, MESSAGE, MPI_COMM_WORLD, &messages[i], MPI_STATUS_IGNORE);
    for (int i = count - 1; rank == 1 && i >= 0; i--) {
        int got = -1;
        MPI_Mrecv(&got, 1, MPI_INT, &messages[i], MPI_STATUS_IGNORE);
        wrong += got != i;
    }
    free(messages);
}

int main(int argc, char **argv)
{
    int rank, times = argc > 1 ? atoi(argv[1]) : 100;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < times; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (rank == 0)
            give(i);
        else
            take(i);
    }
    claim_many(rank, 300);
    /* Both came about. */
    if (rank == 1)
        printf("claims: %s, %d of %d received\n", wrong || !received || received == times ? "FAILED" : "PASSED",
               received, times);
    MPI_Finalize();
    return 0;
}
