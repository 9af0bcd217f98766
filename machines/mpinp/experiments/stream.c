/* Messages one behind the other, two under way at each end. Rank 1 prints `done BYTES` and the cycles of its clock at which each
 * was received. Usage: stream MESSAGES BYTES */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES_MAX = 256, UNDER_WAY = 2 };

static uint64_t done[MESSAGES_MAX];

static inline uint64_t now(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

static void begin(int rank, unsigned char *data, int bytes, MPI_Request *request)
{
    if (rank == 0)
        MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, request);
    else
        MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, request);
}

int main(int argc, char **argv)
{
    int rank, messages = argc > 1 ? atoi(argv[1]) : 3, bytes = argc > 2 ? atoi(argv[2]) : 4096;
    MPI_Request requests[UNDER_WAY];
    unsigned char *data[UNDER_WAY];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (messages < UNDER_WAY || messages > MESSAGES_MAX)
        return 3;
    for (int i = 0; i < UNDER_WAY; i++) {
        data[i] = malloc((size_t)bytes);
        memset(data[i], rank == 0 ? 7 : 0, (size_t)bytes);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < UNDER_WAY; i++)
        begin(rank, data[i], bytes, &requests[i]);
    for (int i = 0; i < messages; i++) {
        MPI_Wait(&requests[i % UNDER_WAY], MPI_STATUS_IGNORE);
        done[i] = now();
        if (rank == 1 && (data[i % UNDER_WAY][0] != 7 || data[i % UNDER_WAY][bytes - 1] != 7))
            return 4;
        if (i + UNDER_WAY < messages)
            begin(rank, data[i % UNDER_WAY], bytes, &requests[i % UNDER_WAY]);
    }
    if (rank == 1) {
        printf("done %d", bytes);
        for (int i = 0; i < messages; i++)
            printf(" %llu", (unsigned long long)done[i]);
        printf("\n");
    }
    MPI_Finalize();
    return 0;
}
