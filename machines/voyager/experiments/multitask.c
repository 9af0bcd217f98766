/* A job to be time-shared: its ranks, in a ring, compute and exchange short messages with their neighbours, round by
 * round. Between two rounds a rank computes for STEPS steps, over data that fill the first-level cache.
 *
 *   multitask ROUNDS STEPS
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 2048 };

static uint64_t data[WORDS];

static uint64_t compute(uint64_t seed, long steps)
{
    for (long i = 0; i < steps; i++) {
        seed = seed * 6364136223846793005u + 1442695040888963407u;
        data[i % WORDS] += seed;
    }
    return seed;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3) {
        fputs("multitask ROUNDS STEPS\n", stderr);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    long rounds = atol(argv[1]), steps = atol(argv[2]);
    int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    uint64_t mine = (uint64_t)rank, from_left = 0, from_right = 0;
    for (long round = 0; round < rounds; round++) {
        mine = compute(mine + from_left + from_right, steps);
        MPI_Sendrecv(&mine, 1, MPI_UINT64_T, right, 0, &from_left, 1, MPI_UINT64_T, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&mine, 1, MPI_UINT64_T, left, 1, &from_right, 1, MPI_UINT64_T, right, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
    }
    /* Of all data: the same however the job was run. */
    printf("sum 0 %llu\n", (unsigned long long)(mine ^ data[rank]));
    MPI_Finalize();
    return 0;
}
