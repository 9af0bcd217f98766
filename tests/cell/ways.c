/* Messages by all ways between ranks on SPEs: short ones in order, among others; and long ones that nobody wants yet. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { ROUNDS = 60, LONGEST = 5, HELD = 7, LONG = 1900, LAST = 99 };

static unsigned char data[HELD][LONG + 8], got[LONG + 8];

static unsigned char value(int from, int to, int round, int at)
{
    return (unsigned char)(31 * from + 7 * to + 3 * round + at);
}

/* Lengths around what fits into a word; runs of one tag; peers in turn, near and far; now and then a long one between. */
static int short_ones(int rank, int ranks)
{
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int distance = 1 + round / 7 % (ranks - 1), tag = round / 5, count;
        int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks;
        int length = round % 11 == 10 ? LONG : round % LONGEST;
        MPI_Request request;
        MPI_Status status;
        for (int i = 0; i < length; i++)
            data[0][i] = value(rank, to, round, i);
        memset(got, 255, sizeof got);
        MPI_Isend(data[0], length, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request);
        MPI_Recv(got, sizeof got, MPI_BYTE, from, tag, MPI_COMM_WORLD, &status);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != length || got[length] != 255;
        for (int i = 0; i < length; i++)
            wrong += got[i] != value(from, rank, round, i);
    }
    return wrong;
}

/* Many words to one receiver, which looks at them late, from all at once. */
static int crowd(int rank, int ranks)
{
    int wrong = 0;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned short word = (unsigned short)(rank * ROUNDS + round);
        if (rank != 0)
            MPI_Send(&word, 1, MPI_UNSIGNED_SHORT, 0, 0, MPI_COMM_WORLD);
        for (int from = 1; rank == 0 && from < ranks; from++) {
            MPI_Recv(&word, 1, MPI_UNSIGNED_SHORT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += word != from * ROUNDS + round;
        }
    }
    return wrong;
}

/* More long messages than there are buffers, before one that is wanted first; the others are received from the last on. */
static int held(int rank, int ranks)
{
    int wrong = 0, to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Request requests[HELD + 1];
    for (int i = 0; i < HELD; i++) {
        for (int at = 0; at < LONG; at++)
            data[i][at + i] = value(rank, to, i, at);
        MPI_Isend(data[i] + i, LONG, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Isend(&rank, 1, MPI_INT, to, LAST, MPI_COMM_WORLD, &requests[HELD]);
    int last;
    MPI_Recv(&last, 1, MPI_INT, from, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += last != from;
    for (int i = HELD - 1; i >= 0; i--) {
        memset(got, 255, sizeof got);
        MPI_Recv(got + 3, LONG, MPI_BYTE, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int at = 0; at < LONG; at++)
            wrong += got[at + 3] != value(from, rank, i, at);
        wrong += got[2] != 255 || got[LONG + 3] != 255;
    }
    MPI_Waitall(HELD + 1, requests, MPI_STATUSES_IGNORE);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    wrong = short_ones(rank, ranks) + crowd(rank, ranks) + held(rank, ranks);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("ways: %s on %d ranks\n", all ? "WRONG" : "right", ranks);
    MPI_Finalize();
    return 0;
}
