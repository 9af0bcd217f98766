/* Many short messages that wait for their receives, which come in another order: each rank but 0 sends MESSAGES of one
 * word; when all have come rank 0 receives them, and uses what it has received. So ROUNDS times, in the same order each
 * time. The values are checked.
 *
 * Usage: waiting MESSAGES ROUNDS (arrival | reverse | shuffled)
 * Prints of each round: `round ROUND CYCLES`, from the first receive to the last use. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GO = 30000, LAST = 30001, WORDS = 2 }; /* Places are 16 bytes apart. */

static int messages, rounds;

static void *room(size_t count, size_t bytes)
{
    void *block = aligned_alloc(64, (count * bytes + 63) / 64 * 64);
    if (!block) {
        fputs("waiting: no memory\n", stderr);
        exit(1);
    }
    return block;
}

/* Cycles of the processor: finer than MPI_Wtime. */
static unsigned long now(void)
{
    unsigned long cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

static long value_of(int round, int source, int message) { return (long)round * 1000003 + source * 1009 + message; }

/* In which order the messages of all sources are received: source and message in one number. */
static void make_order(int *order, int count, const char *how)
{
    for (int i = 0; i < count; i++)
        order[i] = strcmp(how, "reverse") == 0 ? count - 1 - i : i;
    unsigned long state = 12345;
    for (int i = count - 1; strcmp(how, "shuffled") == 0 && i > 0; i--) {
        state = state * 6364136223846793005ul + 1442695040888963407ul;
        int other = (int)((state >> 33) % (unsigned long)(i + 1)), kept = order[i];
        order[i] = order[other];
        order[other] = kept;
    }
}

static void serve(int rank)
{
    for (int round = 0; round < rounds; round++) {
        long value;
        MPI_Recv(&value, 1, MPI_LONG, 0, GO, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < messages; i++) {
            value = value_of(round, rank, i);
            MPI_Send(&value, 1, MPI_LONG, 0, i, MPI_COMM_WORLD);
        }
        MPI_Send(NULL, 0, MPI_LONG, 0, LAST, MPI_COMM_WORLD);
    }
}

static int receive(const int *order, int ranks)
{
    int count = messages * (ranks - 1), wrong = 0;
    long *places = room((size_t)count, WORDS * sizeof *places), go = 0;
    memset(places, 0, (size_t)count * WORDS * sizeof *places);
    for (int round = 0; round < rounds; round++) {
        for (int source = 1; source < ranks; source++)
            MPI_Send(&go, 1, MPI_LONG, source, GO, MPI_COMM_WORLD);
        for (int source = 1; source < ranks; source++)
            MPI_Recv(NULL, 0, MPI_LONG, source, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        unsigned long begun = now();
        for (int i = 0; i < count; i++) {
            int source = 1 + order[i] % (ranks - 1), message = order[i] / (ranks - 1);
            long *place = &places[(size_t)order[i] * WORDS];
            MPI_Recv(place, 1, MPI_LONG, source, message, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong += *(volatile long *)place != value_of(round, source, message);
        }
        printf("round %d %lu\n", round, now() - begun);
    }
    free(places);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    messages = argc > 1 ? atoi(argv[1]) : 32;
    rounds = argc > 2 ? atoi(argv[2]) : 4;
    const char *how = argc > 3 ? argv[3] : "shuffled";
    int count = messages * (ranks - 1), *order = room((size_t)count + 1, sizeof *order);
    make_order(order, count, how);
    if (rank == 0)
        wrong = receive(order, ranks);
    else
        serve(rank);
    free(order);
    MPI_Finalize();
    if (wrong)
        fprintf(stderr, "waiting: %d wrong values\n", wrong);
    return wrong != 0;
}
