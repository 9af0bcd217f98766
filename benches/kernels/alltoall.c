/* All-to-all of 64 bytes a pair, bound by communication. The argument is the number of times. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 8 };

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, rank, ranks, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    uint64_t *out = malloc(ranks * WORDS * sizeof *out), *in = malloc(ranks * WORDS * sizeof *in);
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < ranks * WORDS; i++)
            out[i] = (uint64_t)rank << 32 | (uint64_t)i << 16 | (uint64_t)t;
        MPI_Alltoall(out, WORDS, MPI_UINT64_T, in, WORDS, MPI_UINT64_T, MPI_COMM_WORLD);
        for (int i = 0; i < ranks * WORDS; i++)
            wrong += in[i] != ((uint64_t)(i / WORDS) << 32 | (uint64_t)(rank * WORDS + i % WORDS) << 16 | (uint64_t)t);
    }
    if (rank == 0 || wrong)
        printf("%s\n", wrong ? "WRONG" : "right");
    MPI_Finalize();
    return wrong != 0;
}
