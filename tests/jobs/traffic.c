/* Traffic of one job among others: every rank sends numbered messages of various lengths to every other, some by
 * rendezvous, computes between rounds, and checks what it gets, word by word. The words say which job, from whom, to
 * whom, and which message: one that is lost, mixed up or another job's shows.
 *
 *   traffic JOB ROUNDS COMPUTE
 *
 * COMPUTE is how many steps of a small generator a rank takes between two rounds. The last line has the sum of all
 * words received, and is the same however long anything takes. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTHS = 5, WORDS_MAX = 700 };

static const int words_of[LENGTHS] = {1, 6, 40, 250, WORDS_MAX};
static uint32_t outgoing[WORDS_MAX], incoming[WORDS_MAX];

static uint32_t word(uint32_t job, int from, int to, int round, int index)
{
    uint32_t x =
        job * 2654435761u ^ (uint32_t)from << 26 ^ (uint32_t)to << 20 ^ (uint32_t)round << 10 ^ (uint32_t)index;
    x ^= x >> 15;
    x *= 2246822519u;
    return x ^ x >> 13;
}

static uint32_t compute(uint32_t seed, long steps)
{
    while (steps-- > 0)
        seed = seed * 1664525u + 1013904223u;
    return seed;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    uint32_t job = (uint32_t)atol(argv[1]), seed = job;
    long rounds = atol(argv[2]), steps = atol(argv[3]);
    uint64_t sum = 0, total = 0;
    for (int round = 0; round < rounds; round++) {
        for (int shift = 1; shift < size; shift++) {
            int to = (rank + shift) % size, from = (rank + size - shift) % size;
            int words = words_of[(round + shift) % LENGTHS];
            for (int i = 0; i < words; i++)
                outgoing[i] = word(job, rank, to, round, i);
            MPI_Sendrecv(outgoing, words, MPI_UINT32_T, to, round, incoming, words, MPI_UINT32_T, from, round,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < words; i++) {
                if (incoming[i] != word(job, from, rank, round, i)) {
                    printf("traffic: job %u rank %d round %d: word %d from %d is wrong\n", job, rank, round, i, from);
                    MPI_Abort(MPI_COMM_WORLD, 1);
                }
                sum += incoming[i];
            }
        }
        seed = compute(seed, steps);
    }
    MPI_Allreduce(&sum, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("traffic: job %u, %d ranks, %llu, %u\n", job, size, (unsigned long long)total, seed);
    MPI_Finalize();
    return 0;
}
