/* What a process does to receive a byte, for the profile: `receive_overhead TRIPS`, on two ranks.
 *
 * Rank 1 calls MPI_Recv, and rank 0 sends only when it has waited there for a while. The first receives fill caches; those
 * in measured() count. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 16, SETTLE = 30000 };

static int rank;

static void delay(long turns) { __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(turns)); }

/* Rank 0's side of a trip. Its delays differ, so that messages come at all moments of a loop that polls. */
static void give(int trip)
{
    char byte = (char)trip, token;
    MPI_Recv(&token, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    delay(SETTLE + trip * 37 % 64);
    MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
}

static void check(char byte, int trip)
{
    if (byte != (char)trip) {
        printf("rank 1: byte %d of trip %d\n", byte, trip);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void ask(void)
{
    char token = 0;
    MPI_Send(&token, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

static __attribute__((noinline)) char warm(void)
{
    char byte = 0;
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return byte;
}

static __attribute__((noinline)) char measured(void)
{
    char byte = 1;
    MPI_Recv(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return byte;
}

int main(int argc, char **argv)
{
    int trips = argc > 1 ? atoi(argv[1]) : 64;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int trip = 0; trip < WARM + trips; trip++) {
        if (rank == 0) {
            give(trip);
        } else if (rank == 1) {
            ask();
            check(trip < WARM ? warm() : measured(), trip);
        }
    }
    MPI_Finalize();
    return 0;
}
