/* MPI between two ranks on SPEs. Prints, in ticks of 12.5 ns, `mpi BYTES LATENCY STREAM`: the least of many that so many round
 * trips, and so many messages one after the other with an answer behind the last, take.
 * Usage: mpi BYTES TRIES */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES_MAX = 32768, TRIPS = 8, STREAM = 16 };

static char data[BYTES_MAX] __attribute__((aligned(128)));

static uint64_t ticks(void)
{
    uint64_t now;
    __asm__ volatile("rdtime %0" : "=r"(now) : : "memory");
    return now;
}

static void go(int rank, int bytes, int both)
{
    if (rank == 0)
        MPI_Send(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (!both)
        return;
    if (rank == 1)
        MPI_Send(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    int bytes = atoi(argv[1]), tries = atoi(argv[2]), rank;
    uint64_t trips = ~0ull, stream = ~0ull;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < tries; i++) {
        uint64_t begun = ticks();
        for (int trip = 0; trip < TRIPS; trip++)
            go(rank, bytes, 1);
        uint64_t between = ticks();
        for (int message = 1; message < STREAM; message++)
            go(rank, bytes, 0);
        go(rank, bytes, 1);
        uint64_t ended = ticks();
        trips = between - begun < trips ? between - begun : trips;
        stream = ended - between < stream ? ended - between : stream;
    }
    if (rank == 0)
        printf("mpi %d %d %d\n", bytes, (int)trips, (int)stream);
    MPI_Finalize();
    return 0;
}
