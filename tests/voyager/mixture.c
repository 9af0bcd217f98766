/* Messages of all lengths, tags and modes at random, so that those of a pair go by different mechanisms one after
 * the other. Every process receives with wildcards: from each source the messages must come in the order in
 * which they were sent, whole. With MOVES, each process moves its queues in and out of the hardware about so many
 * times meanwhile.
 *
 *   mixture SEED MESSAGES [MOVES]
 */
#include <chasqui/nes.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 3000, UNDER_WAY = 8, RANKS_MAX = 16 };

static int rank, ranks, seed;
static MPI_Request requests[UNDER_WAY];
static int turn[RANKS_MAX], received; /* Messages that have come, by source, and altogether. */
static struct nes nes;                /* For its registers of system software alone. */

/* What the turn-th message from one process to another is: both sides draw the same (xorshift64*). */
static uint64_t draw(int from, int to, int turn)
{
    uint64_t x = (uint64_t)seed << 48 ^ (uint64_t)from << 40 ^ (uint64_t)to << 32 ^ (uint64_t)(turn + 1);
    for (int i = 0; i < 4; i++) {
        x ^= x >> 12, x ^= x << 25, x ^= x >> 27;
        x *= 0x2545f4914f6cdd1dull;
    }
    return x;
}

/* Lengths around every limit: Express, Tag-On, Basic slots of one and several, DMA. */
static int length_of(uint64_t x)
{
    const int base[] = {0, 4, 8, 8, 8, 40, 64, 88, 300, 1024, LONGEST - 8};
    return base[x % 11] + (int)(x / 11 % 3) * (x / 33 % 2);
}

/* Tags that an Express message can tell, and tags that it can't. */
static int tag_of(uint64_t x)
{
    const int tags[] = {3, 3, 3, 7, (1 << 20) - 1, 1 << 20, 0x7fffff};
    return tags[x / 66 % 7];
}

static void fill(char *data, int length, uint64_t x)
{
    for (int i = 0; i < length; i++)
        data[i] = (char)(x >> 40) + (char)i;
}

/* Receives one message, which must be the one whose turn it is. */
static void receive(int source)
{
    char data[LONGEST], expected[LONGEST];
    MPI_Status status;
    int length;
    MPI_Recv(data, LONGEST, MPI_CHAR, source, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
    source = status.MPI_SOURCE;
    uint64_t x = draw(source, rank, turn[source]);
    MPI_Get_count(&status, MPI_CHAR, &length);
    fill(expected, length_of(x), x);
    if (length == length_of(x) && status.MPI_TAG == tag_of(x) && memcmp(data, expected, (size_t)length) == 0) {
        turn[source]++;
        received++;
        return;
    }
    printf("rank %d, seed %d: message %d from %d has length %d and tag %d, not %d and %d\n", rank, seed, turn[source],
           source, length, status.MPI_TAG, length_of(x), tag_of(x));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void send_to(int to, int i)
{
    static char data[UNDER_WAY][LONGEST];
    static int next;
    uint64_t x = draw(rank, to, i);
    int place = next++ % UNDER_WAY, length = length_of(x), done = 0, here;
    /* It may need an answer of one that waits likewise: so receive. */
    while (MPI_Test(&requests[place], &done, MPI_STATUS_IGNORE), !done) {
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        if (here)
            receive(MPI_ANY_SOURCE);
    }
    fill(data[place], length, x);
    if (x / 500 % 5 == 0)
        MPI_Issend(data[place], length, MPI_CHAR, to, tag_of(x), MPI_COMM_WORLD, &requests[place]);
    else
        MPI_Isend(data[place], length, MPI_CHAR, to, tag_of(x), MPI_COMM_WORLD, &requests[place]);
}

/* Moves a queue that MPI uses: of Express, or the Basic one. True: it was elsewhere. */
static bool move(uint64_t x)
{
    static uint64_t done;
    uint64_t before = done;
    done = nes_system_migrate(&nes, x / 1000 % 2 ? NES_BASIC_NAME(0) : 0, x / 2000 % 2);
    return done != before;
}

int main(int argc, char **argv)
{
    int messages = argc > 2 ? atoi(argv[2]) : 100, moves = argc > 3 ? atoi(argv[3]) : 0, moved = 0;
    seed = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < UNDER_WAY; i++)
        requests[i] = MPI_REQUEST_NULL;
    if (moves > 0 && (!nes_open(&nes) || !nes.system))
        MPI_Abort(MPI_COMM_WORLD, 2);
    for (int i = 0; i < messages; i++) {
        uint64_t x = draw(rank, rank, i);
        if (moves > 0 && x % (uint64_t)messages < 2 * (uint64_t)moves)
            moved += move(x);
        for (int distance = 1; distance < ranks; distance++)
            send_to((rank + distance) % ranks, i);
        /* Often late, so that messages lie unexpected and queues fill. */
        while (received < i / 4 * 4 * (ranks - 1))
            receive(MPI_ANY_SOURCE);
    }
    while (received < messages * (ranks - 1))
        receive(MPI_ANY_SOURCE);
    MPI_Waitall(UNDER_WAY, requests, MPI_STATUSES_IGNORE);
    if (moves > 0 && moved < moves / 2)
        printf("rank %d, seed %d: %d moves\n", rank, seed, moved);
    if (rank == 0)
        puts("mixture: PASSED");
    MPI_Finalize();
    return 0;
}
