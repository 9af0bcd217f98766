/* A process that writes what it likes to its NIC. `forged release`: rank 1 frees buffers of network memory that it has not
 * dealt with, and places within buffers. `forged names`: rank 0 composes slots by itself, with messages of one name, and
 * rank 1 binds some of them. These two may be harmed, and end by _Exit. The others exchange messages meanwhile, in pairs, of
 * all lengths, which come before their receives and after, by name and by wildcard: all must be right. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "chasqui/abi.h"
#include "chasqui/network_cache.h"
#include "registers.h"

enum { TURNS = 60, EXCHANGED = 3000 };
enum { SLOTS = 64, SLOT_BYTES = 2048, MESSAGES = 60, LONGEST = 64, ROUNDS = 6, OF_A_ROUND = 8 };

static volatile char *registers;
static int rank;
static MPI_Comm two; /* those who do wrong */
#define REGISTER(name) (*(volatile uint64_t *)(registers + CHASQUI_NETCACHE_##name))

static unsigned random_below(unsigned limit)
{
    static uint64_t state = 2 * 99991;
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % limit;
}

static void delay(long turns) { __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(turns)); }

static void release(void)
{
    long words[2] = {7, 7};
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (int i = 0; rank == 0 && i < OF_A_ROUND; i++)
            MPI_Send(words, 2, MPI_LONG, 1, 100 + i, MPI_COMM_WORLD);
        if (rank == 1) {
            delay(60000);
            for (unsigned i = 0; i < 2 * OF_A_ROUND; i++)
                REGISTER(RELEASE) = 16 * i + (round % 2 ? 0 : 8);
        }
        MPI_Barrier(two);
    }
}

static int length_of(int turn) { return (int[]){8, 16, 1, 13, 64, 200, 0, 900, EXCHANGED}[turn % 9]; }

static char byte_of(int of, int turn, int at) { return (char)(37 * of + 11 * turn + at); }

static void check(const char *got, int other, int turn)
{
    for (int at = 0; at < length_of(turn); at++) {
        if (got[at] != byte_of(other, turn, at)) {
            printf("rank %d: wrong: byte %d of message %d\n", rank, at, turn);
            fflush(stdout);
            _Exit(9);
        }
    }
}

/* The receives of a turn come after its message, before it, or with a wildcard. */
static void exchange(int other)
{
    static char sent[EXCHANGED], got[EXCHANGED + 16] __attribute__((aligned(64)));
    for (int turn = 0; turn < TURNS; turn++) {
        MPI_Request requests[2];
        int bytes = length_of(turn), tag = turn % 2 ? MPI_ANY_TAG : turn % 5;
        char *place = got + turn / 3 % 4 * 4;
        for (int at = 0; at < bytes; at++)
            sent[at] = byte_of(rank, turn, at);
        if (turn % 3 == 0)
            MPI_Irecv(place, bytes, MPI_CHAR, other, turn % 5, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(sent, bytes, MPI_CHAR, other, turn % 5, MPI_COMM_WORLD, &requests[1]);
        delay(turn % 3 == 1 ? 20000 : 1 + random_below(500));
        if (turn % 3)
            MPI_Irecv(place, bytes, MPI_CHAR, other, tag, MPI_COMM_WORLD, &requests[0]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        check(place, other, turn);
    }
    printf("rank %d: right\n", rank);
}

static void send_forged(void)
{
    static char ring[SLOTS * SLOT_BYTES] __attribute__((aligned(4096)));
    memset(ring, 0, sizeof ring);
    uint32_t done = (uint32_t)REGISTER(TRANSMIT_CONSUMER);
    REGISTER(TRANSMIT_BASE) = (uintptr_t)ring;
    for (int i = 0; i < MESSAGES; i++) {
        struct chasqui_netcache_slot *slot = (void *)(ring + done % SLOTS * SLOT_BYTES);
        uint32_t bytes = 1 + random_below(LONGEST);
        *slot = (struct chasqui_netcache_slot){
            .envelope = {.kind = CHASQUI_PACKET_EAGER,
                         .destination = 1,
                         .tag = (int)(100 + random_below(8)),
                         .sequence = 5 + random_below(2),
                         .bytes = bytes},
            .bytes = bytes,
            .flags = CHASQUI_NETCACHE_FLAG_NAMED,
            .ordinal = 1 + random_below(3),
        };
        __asm__ volatile("fence rw, o" ::: "memory");
        REGISTER(TRANSMIT_PRODUCER) = ++done;
        while ((uint32_t)REGISTER(TRANSMIT_CONSUMER) != done)
            ;
    }
}

static void bind_forged(void)
{
    static char places[4096] __attribute__((aligned(4096)));
    for (int i = 0; i < 6 * MESSAGES; i++) {
        char *place = places + 16 * random_below(200);
        delay(1 + random_below(120));
        if (random_below(2))
            chasqui_remap(5 + random_below(2), place);
        else
            chasqui_prebind(100 + random_below(8), place, LONGEST, 1 + random_below(3));
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, rank < 2, 0, &two);
    int device = open("/dev/ni0", O_RDWR);
    registers = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, device, CHASQUI_NI_REGION_STRIDE);
    if (rank >= 2)
        exchange(rank ^ 1);
    else if (argc > 1 && strcmp(argv[1], "release") == 0)
        release();
    else if (rank == 0)
        send_forged();
    else if (rank == 1)
        bind_forged();
    fflush(stdout);
    _Exit(0);
}
