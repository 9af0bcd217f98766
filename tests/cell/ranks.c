/* Ranks on SPEs: messages of all lengths, and what is wrong. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX = 9000, MANY = 12 };

static const int lengths[] = {0,   1,   15,  16,  17,  95,  96,   97,   111,  112,
                              463, 464, 465, 511, 512, 513, 4095, 4096, 4097, 8999};
static unsigned char out[MAX + 64], in[MAX + 64];

static unsigned char value(int from, int to, int length, int at)
{
    return (unsigned char)(31 * from + 7 * to + length + at);
}

/* Every rank to and from every other, from and to places that agree in their lowest bits or do not. */
static int exchange(int rank, int ranks, int length, int shift, int other_shift)
{
    int wrong = 0;
    for (int distance = 1; distance < ranks; distance++) {
        int to = (rank + distance) % ranks, from = (rank + ranks - distance) % ranks, count;
        MPI_Status status;
        memset(in, 255, sizeof in);
        for (int i = 0; i < length; i++)
            out[shift + i] = value(rank, to, length, i);
        MPI_Sendrecv(out + shift, length, MPI_BYTE, to, length, in + other_shift, MAX, MPI_BYTE, from, length,
                     MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        wrong += count != length || status.MPI_SOURCE != from;
        for (int i = 0; i < length; i++)
            wrong += in[other_shift + i] != value(from, rank, length, i);
        for (int i = 0; i < other_shift; i++)
            wrong += in[i] != 255;
        wrong += in[other_shift + length] != 255;
    }
    return wrong;
}

/* All send before anybody receives: more than there are slots. */
static int flood(int rank, int ranks)
{
    int sent[MANY], wrong = 0;
    MPI_Request requests[MANY];
    for (int i = 0; i < MANY; i++) {
        sent[i] = 100 * rank + i;
        MPI_Isend(&sent[i], 1, MPI_INT, (rank + 1) % ranks, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = MANY - 1; i >= 0; i--) {
        int got, from = (rank + ranks - 1) % ranks;
        MPI_Recv(&got, 1, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += got != 100 * from + i;
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    return wrong;
}

static void all_lengths(int rank, int ranks)
{
    int wrong = flood(rank, ranks), all;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        for (int shift = 0; shift < 32; shift += 11)
            wrong += exchange(rank, ranks, lengths[i], shift, (shift * 3 + (int)i) % 24);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("lengths: %s on %d ranks\n", all ? "WRONG" : "right", ranks);
}

static void *nothing(void *argument) { return argument; }

int main(int argc, char **argv)
{
    int rank, ranks, word;
    const char *what = argc > 1 ? argv[1] : "";
    pthread_t thread;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "lengths"))
        all_lengths(rank, ranks);
    if (!strcmp(what, "deadlock"))
        MPI_Recv(&word, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!strcmp(what, "null") && rank == 1)
        *(volatile int *)(16L * ranks - 16) = 1;
    if (!strcmp(what, "abort") && rank == 1)
        abort();
    if (!strcmp(what, "leave") && rank == 1)
        exit(3);
    if (!strcmp(what, "threads") && pthread_create(&thread, NULL, nothing, NULL))
        exit(4);
    if (!strcmp(what, "channel") && rank == 1)
        *(volatile int *)0x40000ff8L = 1;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
