/* Processes that wait at any time before and after what they wait for has come.
 *
 * Usage: wakes race SEED COUNT LONGEST (two ranks: a message goes to rank 1 and one comes back; rank 0 waits when it comes, or up to so
 *        many nanoseconds before)
 *        wakes all SEED ROUNDS LONGEST (messages of all ranks to all, of up to so many bytes, barriers and sums, in any order)
 *        wakes share TURNS (two ranks a node: even ones compute, odd ones wait for another node's)
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, wrong;

static unsigned below(unsigned long long *state, unsigned n)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(*state >> 33) % n;
}

static void compute(unsigned turns)
{
    for (volatile unsigned turn = 0; turn < turns; turn++)
        ;
}

/* Nothing else comes for rank 0 meanwhile: its own message is over. */
static double exchange_number(int i, unsigned turns)
{
    int got = -1;
    double begin = 0;
    if (rank == 0) {
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Ssend(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        begin = MPI_Wtime();
        compute(turns);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        compute(10000);
        MPI_Send(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    }
    wrong += got != i;
    return MPI_Wtime() - begin;
}

/* Rank 0 waits up to so many nanoseconds before a message that it does not wait for would have been received. */
static void race(unsigned long long seed, int count, int longest)
{
    enum { FIRST = 4, TURNS = 1000 };
    unsigned long long state = seed;
    double way = 1, begin = MPI_Wtime();
    compute(TURNS);
    double turn = (MPI_Wtime() - begin) / TURNS;
    for (int i = 0; i < FIRST; i++) {
        double took = exchange_number(-i, 0);
        way = took < way ? took : way;
    }
    for (int i = 1; i <= count; i++)
        exchange_number(i, (unsigned)((way - 1e-9 * below(&state, (unsigned)longest)) / turn));
}

static char content(int round, int from, int to, int at) { return (char)(round * 101 + from * 31 + to * 7 + at); }

/* All know the lengths; each has delays of its own. */
static void exchange(int round, unsigned long long *plan, unsigned long long *own, int longest)
{
    MPI_Request requests[2 * ranks];
    char *sent[ranks], *got[ranks];
    int bytes[ranks][ranks];
    for (int from = 0; from < ranks; from++)
        for (int to = 0; to < ranks; to++)
            bytes[from][to] = (int)below(plan, 2) ? (int)below(plan, 100) : (int)below(plan, (unsigned)longest);
    int first = (int)below(own, (unsigned)ranks);
    for (int i = 0; i < ranks; i++) {
        int peer = (first + i) % ranks, out = bytes[rank][peer], in = bytes[peer][rank];
        sent[peer] = malloc((size_t)out + 1);
        got[peer] = malloc((size_t)in + 1);
        for (int at = 0; at < out; at++)
            sent[peer][at] = content(round, rank, peer, at);
        compute(below(own, 3) ? 0 : below(own, 4000));
        MPI_Irecv(got[peer], in, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[2 * i]);
        compute(below(own, 3) ? 0 : below(own, 4000));
        MPI_Isend(sent[peer], out, MPI_BYTE, peer, round, MPI_COMM_WORLD, &requests[2 * i + 1]);
    }
    MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
    for (int peer = 0; peer < ranks; peer++) {
        for (int at = 0; at < bytes[peer][rank]; at++)
            wrong += got[peer][at] != content(round, peer, rank, at);
        free(sent[peer]);
        free(got[peer]);
    }
}

static void all(unsigned long long seed, int rounds, int longest)
{
    unsigned long long plan = seed, own = seed + 977 * (unsigned)(rank + 1);
    for (int round = 0; round < rounds; round++) {
        compute(below(&own, 6000));
        switch (below(&plan, 4)) {
        case 0: MPI_Barrier(MPI_COMM_WORLD); break;
        case 1: {
            int mine = rank + round, sum = 0;
            MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
            wrong += sum != ranks * (ranks - 1) / 2 + ranks * round;
            break;
        }
        default: exchange(round, &plan, &own, longest);
        }
    }
}

/* A message to the odd rank of the next node. */
static void share(unsigned turns)
{
    int nodes = ranks / 2, node = rank / 2, got = -1;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank % 2) {
        MPI_Recv(&got, 1, MPI_INT, 2 * ((node + nodes - 1) % nodes), 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += got != 2 * ((node + nodes - 1) % nodes);
        return;
    }
    double begin = MPI_Wtime();
    compute(turns);
    double end = MPI_Wtime();
    MPI_Send(&rank, 1, MPI_INT, 2 * ((node + 1) % nodes) + 1, 0, MPI_COMM_WORLD);
    printf("rank %d computed for %.1f us\n", rank, 1e6 * (end - begin));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned long long seed = strtoull(argc > 2 ? argv[2] : "1", NULL, 0);
    int count = argc > 3 ? atoi(argv[3]) : 20, longest = argc > 4 ? atoi(argv[4]) : 1000;
    if (strcmp(argv[1], "race") == 0)
        race(seed * 2654435761u, count, longest);
    else if (strcmp(argv[1], "all") == 0)
        all(seed * 2654435761u, count, longest);
    else
        share((unsigned)seed);
    int sum = 0;
    MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("wakes %s, seed %llu: %s\n", argv[1], seed, sum ? "FAILED" : "PASSED");
    MPI_Finalize();
    return sum != 0;
}
