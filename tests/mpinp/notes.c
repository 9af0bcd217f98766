/* Rank 1 cancels synchronous messages while rank 0 probes for them. Meanwhile further ranks receive, late, what rank 0 had sent
 * them: each says so by a note, which rank 0 answers by a request. A request between a probe and its answer lets the card take
 * the message back that it shows; so rank 0 must ask again before it claims it.
 *
 * Usage: notes TIMES TURNS (of a loop, from a message to the cancelling of it, at most) */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGE, VERDICT, LATE, COUNT = 40, RANKS = 8 };

static int wrong, received, rank, ranks, longest;

static void compute(int turns)
{
    for (volatile int i = 0; i < turns; i++)
        ;
}

/* The first loops are the shortest, and the last the longest. */
static void give(int number)
{
    MPI_Request request;
    MPI_Status status;
    int is_cancelled;
    MPI_Issend(&number, 1, MPI_INT, 0, MESSAGE, MPI_COMM_WORLD, &request);
    compute(longest / COUNT * number);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    MPI_Send(&is_cancelled, 1, MPI_INT, 0, VERDICT, MPI_COMM_WORLD);
    MPI_Recv(NULL, 0, MPI_INT, 0, VERDICT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void take(int number)
{
    int is_told = 0, is_claimed = 0, is_cancelled = -1, got = -1;
    while (!is_told) {
        MPI_Message message;
        int is_found = 0;
        MPI_Improbe(1, MESSAGE, MPI_COMM_WORLD, &is_found, &message, MPI_STATUS_IGNORE);
        if (is_found) {
            MPI_Mrecv(&got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
            wrong += got != number;
            is_claimed++;
        }
        MPI_Iprobe(1, VERDICT, MPI_COMM_WORLD, &is_told, MPI_STATUS_IGNORE);
    }
    MPI_Recv(&is_cancelled, 1, MPI_INT, 1, VERDICT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(NULL, 0, MPI_INT, 1, VERDICT, MPI_COMM_WORLD);
    wrong += is_claimed + is_cancelled != 1;
    received += is_claimed;
}

static void receive_late(int number)
{
    compute(longest / COUNT * ((number * 7 + rank) % COUNT) / 2);
    MPI_Recv(NULL, 0, MPI_INT, 0, LATE + COUNT - 1 - number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void exchange(void)
{
    static MPI_Request late[RANKS][COUNT];
    for (int to = 2; rank == 0 && to < ranks; to++)
        for (int i = 0; i < COUNT; i++)
            MPI_Issend(NULL, 0, MPI_INT, to, LATE + i, MPI_COMM_WORLD, &late[to][i]);
    /* What comes meanwhile is drained. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank > 1)
        compute(longest / 2);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        if (rank == 0)
            take(i);
        else if (rank == 1)
            give(i);
        else
            receive_late(i);
    }
    for (int to = 2; rank == 0 && to < ranks; to++)
        MPI_Waitall(COUNT, late[to], MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 2;
    longest = argc > 2 ? atoi(argv[2]) : 4000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < times; i++)
        exchange();
    /* Both came about. */
    if (rank == 0)
        printf("notes: %s, %d of %d received\n", wrong || !received || received == times * COUNT ? "FAILED" : "PASSED",
               received, times * COUNT);
    MPI_Finalize();
    return 0;
}
