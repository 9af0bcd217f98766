/* Messages of 8 bytes among all ranks: ping-pong between neighbours, a ring, an all-to-all by hand.
 *
 *   mix [ROUNDS]
 *
 * Prints the number of messages; each rank checks what it gets. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int wrong;

static void expect(uint64_t got, uint64_t wanted) { wrong += got != wanted; }

static uint64_t word(int from, int to, int round)
{
    return (uint64_t)from << 40 | (uint64_t)to << 20 | (uint64_t)round;
}

static long ping_pong(int rank, int ranks, int round)
{
    int peer = rank ^ 1;
    if (peer >= ranks)
        return 0;
    uint64_t out = word(rank, peer, round), in = 0;
    for (int side = 0; side < 2; side++)
        if ((rank & 1) == side)
            MPI_Send(&out, 1, MPI_UINT64_T, peer, 1, MPI_COMM_WORLD);
        else {
            MPI_Recv(&in, 1, MPI_UINT64_T, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            expect(in, word(peer, rank, round));
        }
    return 1;
}

static long ring(int rank, int ranks, int round)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    uint64_t out = word(rank, right, round), in = 0;
    MPI_Sendrecv(&out, 1, MPI_UINT64_T, right, 2, &in, 1, MPI_UINT64_T, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect(in, word(left, rank, round));
    return 1;
}

static long all_to_all(int rank, int ranks, int round, uint64_t *out, uint64_t *in, MPI_Request *requests)
{
    for (int i = 0; i < ranks; i++) {
        out[i] = word(rank, i, round);
        MPI_Irecv(&in[i], 1, MPI_UINT64_T, i, 3, MPI_COMM_WORLD, &requests[i]);
    }
    for (int i = 0; i < ranks; i++)
        MPI_Isend(&out[i], 1, MPI_UINT64_T, i, 3, MPI_COMM_WORLD, &requests[ranks + i]);
    MPI_Waitall(2 * ranks, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < ranks; i++)
        expect(in[i], word(i, rank, round));
    return ranks;
}

int main(int argc, char **argv)
{
    int rank, ranks, rounds = argc > 1 ? atoi(argv[1]) : 100;
    long messages = 0, total = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t *out = malloc(ranks * sizeof *out), *in = malloc(ranks * sizeof *in);
    MPI_Request *requests = malloc(2 * ranks * sizeof *requests);
    for (int round = 0; round < rounds; round++) {
        for (int i = 0; i < 8; i++)
            messages += ping_pong(rank, ranks, round) + ring(rank, ranks, round);
        messages += all_to_all(rank, ranks, round, out, in, requests);
    }
    int all_wrong = 0;
    MPI_Reduce(&messages, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%ld messages: %s\n", total, all_wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all_wrong != 0;
}
