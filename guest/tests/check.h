/* What every test program uses: checks that name file, line and rank, and one verdict at the end. */
#ifndef CHASQUI_CHECK_H
#define CHASQUI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_rank, check_size, check_failures;

#define CHECK(condition)                                                                                           \
    do {                                                                                                           \
        if (!(condition)) {                                                                                        \
            check_failures++;                                                                                      \
            fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, check_rank, check_size, #condition); \
            if (check_failures > 20)                                                                               \
                MPI_Abort(MPI_COMM_WORLD, 3);                                                                      \
        }                                                                                                          \
    } while (0)

/* Two integers that must be equal. */
#define CHECK_EQUAL(a, b)                                                                                        \
    do {                                                                                                         \
        long long check_a = (long long)(a), check_b = (long long)(b);                                            \
        if (check_a != check_b) {                                                                                \
            check_failures++;                                                                                    \
            fprintf(stderr, "%s:%d: rank %d of %d: %s is %lld, not %lld (%s)\n", __FILE__, __LINE__, check_rank, \
                    check_size, #a, check_a, check_b, #b);                                                       \
            if (check_failures > 20)                                                                             \
                MPI_Abort(MPI_COMM_WORLD, 3);                                                                    \
        }                                                                                                        \
    } while (0)

static inline void check_init(int *argc, char ***argv)
{
    MPI_Init(argc, argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
}

/* Ends the program: 0 when no check failed on any rank. */
static inline int check_end(const char *name)
{
    int all = 0;
    MPI_Allreduce(&check_failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (check_rank == 0)
        printf("%s: %s\n", name, all ? "FAILED" : "ok");
    MPI_Finalize();
    return all != 0;
}

/* Reproducible random numbers (xorshift64*). */
static unsigned long long check_random_state = 0x2545f4914f6cdd1dull;
static inline void check_seed(unsigned long long seed) { check_random_state = seed * 0x9e3779b97f4a7c15ull + 1; }
static inline unsigned check_random(unsigned below)
{
    check_random_state ^= check_random_state >> 12;
    check_random_state ^= check_random_state << 25;
    check_random_state ^= check_random_state >> 27;
    return (unsigned)((check_random_state * 0x2545f4914f6cdd1dull) >> 33) % below;
}

#endif
