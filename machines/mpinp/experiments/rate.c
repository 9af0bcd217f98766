/* Messages one behind the other, for receives that are posted. Rank 1 asks for a burst of them, or for one. For each of TRIPS it
 * prints, behind `burst BYTES` and `one BYTES`, the cycles from there until all are received. Usage: rate TRIPS BYTES */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TRIPS_MAX = 64, BURST = 128, BYTES_MAX = 4096, TOKEN = 1 };

static unsigned char data[BURST][BYTES_MAX];

static inline uint64_t now(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

static uint64_t receive(int bytes, int trip, int count)
{
    static MPI_Request requests[BURST];
    for (int i = 0; i < count; i++)
        MPI_Irecv(data[i], bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    uint64_t begin = now();
    MPI_Send(NULL, 0, MPI_BYTE, 0, TOKEN, MPI_COMM_WORLD);
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    uint64_t end = now();
    for (int i = 0; i < count; i++)
        if (bytes > 0 && data[i][0] != (unsigned char)(trip + i))
            MPI_Abort(MPI_COMM_WORLD, 4);
    return end - begin;
}

static void send(int bytes, int trip, int count)
{
    for (int i = 0; i < count; i++)
        memset(data[i], trip + i, (size_t)bytes);
    MPI_Recv(NULL, 0, MPI_BYTE, 1, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < count; i++)
        MPI_Send(data[i], bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
}

static void print(const char *name, int bytes, int trips, const uint64_t *times)
{
    printf("%s %d", name, bytes);
    for (int trip = 0; trip < trips; trip++)
        printf(" %llu", (unsigned long long)times[trip]);
    printf("\n");
}

int main(int argc, char **argv)
{
    static uint64_t bursts[TRIPS_MAX], ones[TRIPS_MAX];
    int rank, trips = argc > 1 ? atoi(argv[1]) : 4, bytes = argc > 2 ? atoi(argv[2]) : 8;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (trips < 1 || trips > TRIPS_MAX || bytes > BYTES_MAX)
        return 3;
    for (int trip = 0; trip < trips; trip++) {
        if (rank == 0) {
            send(bytes, trip, BURST);
            send(bytes, trip, 1);
        } else {
            bursts[trip] = receive(bytes, trip, BURST);
            ones[trip] = receive(bytes, trip, 1);
        }
    }
    if (rank == 1) {
        print("burst", bytes, trips, bursts);
        print("one", bytes, trips, ones);
    }
    MPI_Finalize();
    return 0;
}
