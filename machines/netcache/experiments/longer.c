/* Messages of some length that wait for their receives: rank 1 sends WAITING of them, and when all have come rank 0
 * receives one after the other and reads each. So ROUNDS times. The data are checked.
 *
 * Usage: longer BYTES WAITING ROUNDS
 * Prints of each round: `receive ROUND CYCLES` and `read ROUND CYCLES`, of all messages together. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GO = 30000, LAST = 30001 };

static size_t bytes, stride;
static int waiting, rounds;

/* Cycles of the processor: finer than MPI_Wtime. */
static unsigned long now(void)
{
    unsigned long cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

static unsigned long word_of(int round, int message, size_t word)
{
    return ((unsigned long)round * 131 + (unsigned long)message) * 0x9e3779b97f4a7c15ul + word;
}

static void fill(unsigned long *data, int round, int message)
{
    for (size_t word = 0; word < bytes / sizeof *data; word++)
        data[word] = word_of(round, message, word);
}

static void serve(unsigned long *data)
{
    for (int round = 0; round < rounds; round++) {
        MPI_Recv(NULL, 0, MPI_LONG, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < waiting; i++) {
            fill(data, round, i);
            MPI_Send(data, (int)bytes, MPI_BYTE, 0, i, MPI_COMM_WORLD);
        }
        MPI_Send(NULL, 0, MPI_LONG, 0, LAST, MPI_COMM_WORLD);
    }
}

static unsigned long differs(const unsigned long *data, int round, int message)
{
    unsigned long wrong = 0;
    for (size_t word = 0; word < bytes / sizeof *data; word++)
        wrong |= data[word] ^ word_of(round, message, word);
    return wrong;
}

static int receive(unsigned long *data)
{
    int wrong = 0;
    for (int round = 0; round < rounds; round++) {
        unsigned long receiving = 0, reading = 0;
        MPI_Send(NULL, 0, MPI_LONG, 1, GO, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_LONG, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < waiting; i++) {
            unsigned long *place = data + (size_t)i * stride / sizeof *data;
            unsigned long begun = now();
            MPI_Recv(place, (int)bytes, MPI_BYTE, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            unsigned long received = now();
            wrong += differs(place, round, i) != 0;
            receiving += received - begun;
            reading += now() - received;
        }
        printf("receive %d %lu\nread %d %lu\n", round, receiving, round, reading);
    }
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    bytes = argc > 1 ? (size_t)atoi(argv[1]) : 64;
    waiting = argc > 2 ? atoi(argv[2]) : 1;
    rounds = argc > 3 ? atoi(argv[3]) : 4;
    stride = (bytes + 63) / 64 * 64;
    unsigned long *data = aligned_alloc(64, stride * (size_t)waiting);
    if (!data)
        return 1;
    memset(data, 0, stride * (size_t)waiting);
    if (rank == 0)
        wrong = receive(data);
    else if (rank == 1)
        serve(data);
    free(data);
    MPI_Finalize();
    if (wrong)
        fprintf(stderr, "longer: %d messages with wrong data\n", wrong);
    return wrong != 0;
}
