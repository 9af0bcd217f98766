/* A message of BYTES each way while the program computes. Rank 0 prints `alone BYTES`, the cycles of Isend, Irecv and Wait of
 * both; `compute BYTES`, those of a loop that takes about as long; and `both BYTES`, those of the calls with the loop between
 * them. Usage: overlap TRIPS BYTES */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS_MAX = 64, TRIAL = 100000 };

static unsigned char *sent, *got;
static int rank, bytes;

static inline uint64_t now(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

/* Returns the cycles that so many turns took. */
static uint64_t compute(uint64_t turns)
{
    uint64_t before = now();
    for (; turns > 0; turns--)
        __asm__ volatile("" : : : "memory");
    return now() - before;
}

/* A message each way, and so many turns while it is under way: the cycles of all. */
static uint64_t exchange(uint64_t turns)
{
    MPI_Request requests[2];
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t before = now();
    MPI_Irecv(got, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &requests[1]);
    compute(turns);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    return now() - before;
}

static void print(const char *name, int trips, const uint64_t *times)
{
    printf("%s %d", name, bytes);
    for (int i = 0; i < trips; i++)
        printf(" %llu", (unsigned long long)times[i]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static uint64_t alone[TRIPS_MAX], computing[TRIPS_MAX], both[TRIPS_MAX];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int trips = argc > 1 ? atoi(argv[1]) : 4;
    bytes = argc > 2 ? atoi(argv[2]) : 65536;
    if (trips < 1 || trips > TRIPS_MAX)
        return 3;
    sent = malloc((size_t)bytes);
    got = malloc((size_t)bytes);
    memset(sent, 1 + rank, (size_t)bytes);
    memset(got, 0, (size_t)bytes);
    for (int i = 0; i < trips; i++)
        alone[i] = exchange(0);
    uint64_t turns = TRIAL * alone[trips - 1] / compute(TRIAL);
    for (int i = 0; i < trips; i++) {
        computing[i] = compute(turns);
        both[i] = exchange(turns);
    }
    if (got[0] != 2 - rank || got[bytes - 1] != 2 - rank)
        return 4;
    if (rank == 0) {
        print("alone", trips, alone);
        print("compute", trips, computing);
        print("both", trips, both);
    }
    MPI_Finalize();
    return 0;
}
