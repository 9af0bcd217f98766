/* Collectives that all ranks begin at the same time. Prints `NAME BYTES` with the cycles of each, from there until the last rank
 * has returned. Usage: collectives TRIPS PERIOD */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIPS_MAX = 64, WORDS = 16, RANKS_MAX = 64, MEASURED = 13 };

static uint64_t next_begin, period;
static uint64_t mine[MEASURED][TRIPS_MAX], last[MEASURED][TRIPS_MAX];
static double reals[WORDS], sums[WORDS];
static int64_t integers[WORDS], of_all[WORDS], blocks[RANKS_MAX * WORDS];

/* The same on all nodes. */
static inline uint64_t now(void)
{
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks) : : "memory");
    return ticks;
}

static void barrier(int words)
{
    (void)words;
    MPI_Barrier(MPI_COMM_WORLD);
}

static void broadcast(int words) { MPI_Bcast(integers, words, MPI_INT64_T, 0, MPI_COMM_WORLD); }

static void sum_of_reals(int words) { MPI_Allreduce(reals, sums, words, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }

static void sum_of_integers(int words) { MPI_Allreduce(integers, of_all, words, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD); }

static void reduction(int words) { MPI_Reduce(reals, sums, words, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }

static void gather(int words)
{
    MPI_Gather(integers, words, MPI_INT64_T, blocks, words, MPI_INT64_T, 0, MPI_COMM_WORLD);
}

static void scatter(int words)
{
    MPI_Scatter(blocks, words, MPI_INT64_T, of_all, words, MPI_INT64_T, 0, MPI_COMM_WORLD);
}

static void await_begin(void)
{
    next_begin += period;
    if (now() > next_begin) {
        fprintf(stderr, "a period of %llu cycles is too short\n", (unsigned long long)period);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    while (now() < next_begin)
        ;
}

static const struct {
    const char *name;
    void (*collective)(int words);
    int words;
} measured[MEASURED] = {
    {"barrier", barrier, 0},
    {"broadcast", broadcast, 1},
    {"broadcast", broadcast, WORDS},
    {"sum-of-reals", sum_of_reals, 1},
    {"sum-of-reals", sum_of_reals, WORDS},
    {"sum-of-integers", sum_of_integers, 1},
    {"sum-of-integers", sum_of_integers, WORDS},
    {"reduction", reduction, 1},
    {"reduction", reduction, WORDS},
    {"gather", gather, 1},
    {"gather", gather, WORDS},
    {"scatter", scatter, 1},
    {"scatter", scatter, WORDS},
};

static void measure(int what, int trips)
{
    for (int trip = 0; trip < trips; trip++) {
        await_begin();
        measured[what].collective(measured[what].words);
        mine[what][trip] = now() - next_begin;
    }
}

static void print(int what, int trips)
{
    printf("%s %d", measured[what].name, 8 * measured[what].words);
    for (int trip = 0; trip < trips; trip++)
        printf(" %llu", (unsigned long long)last[what][trip]);
    printf("\n");
}

int main(int argc, char **argv)
{
    int rank, trips = argc > 1 ? atoi(argv[1]) : 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (trips < 4 || trips > TRIPS_MAX)
        return 3;
    period = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000000;
    for (int i = 0; i < WORDS; i++) {
        reals[i] = 1.0 / (rank + i + 1);
        integers[i] = rank * i;
    }
    /* The cards' firmware has begun. */
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t begin = now();
    MPI_Allreduce(&begin, &next_begin, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    for (int what = 0; what < MEASURED; what++)
        measure(what, trips);
    MPI_Reduce(mine, last, MEASURED * TRIPS_MAX, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    for (int what = 0; what < MEASURED && rank == 0; what++)
        print(what, trips);
    MPI_Finalize();
    return 0;
}
