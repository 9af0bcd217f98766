/* Messages between two neighbours. Prints, in ticks of 10 ns, `times BYTES TRIPS STREAM`: the least of many that so many round trips,
 * and so many messages one after the other with an answer behind the last, take.
 * Usage: messages mpi BYTES TRIES        two ranks
 *        messages transfer BYTES TRIES   two threads, by block transfers themselves: the flag is at who gets the data */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "chasqui/block_transfer.h"

enum { BYTES_MAX = 65536, TRIPS = 8, STREAM = 16, PAGE = 4096, MPOL_BIND = 2 };

/* A thread's: its data, a flag for each message that comes, and how many have. */
struct end {
    char *data;
    volatile uint64_t *flags;
    unsigned come;
};

static char data[BYTES_MAX] __attribute__((aligned(128)));
static struct end ends[2];
static int bytes, tries;
static pthread_barrier_t ready;

static uint64_t ticks(void)
{
    uint64_t now;
    __asm__ volatile("rdtime %0" : "=r"(now) : : "memory");
    return now;
}

static void by_mpi(int from, int me)
{
    if (me == from)
        MPI_Send(data, bytes, MPI_BYTE, !me, 0, MPI_COMM_WORLD);
    else
        MPI_Recv(data, bytes, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* All messages to an end add to one flag, on a line of its own. */
static void by_transfer(int from, int me)
{
    struct end *to = &ends[!from];
    if (me == from)
        chasqui_transfer_start(&(struct chasqui_transfer){
            .source = ends[me].data, .destination = to->data, .bytes = bytes, .flag = to->flags, .flag_adds = true});
    else
        chasqui_transfer_wait(to->flags, ++to->come);
}

static void measure(void (*message)(int from, int me), int me)
{
    uint64_t trips = ~0ull, stream = ~0ull;
    for (int i = 0; i < tries; i++) {
        uint64_t begun = ticks();
        for (int trip = 0; trip < TRIPS; trip++)
            message(0, me), message(1, me);
        uint64_t between = ticks();
        for (int number = 0; number < STREAM; number++)
            message(0, me);
        message(1, me);
        uint64_t ended = ticks();
        trips = between - begun < trips ? between - begun : trips;
        stream = ended - between < stream ? ended - between : stream;
    }
    if (me == 0)
        printf("times %d %d %d\n", bytes, (int)trips, (int)stream);
}

/* Its pages are there, by itself: nobody else has a copy. */
static void *thread(void *number)
{
    struct end *own = &ends[(uintptr_t)number];
    memset(own->data, 0, BYTES_MAX);
    *own->flags = 0;
    pthread_barrier_wait(&ready);
    measure(by_transfer, (int)(uintptr_t)number);
    return NULL;
}

static char *at_node(int node, size_t length)
{
    uint64_t mask = 1ull << node;
    char *area = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED || syscall(SYS_mbind, area, length, MPOL_BIND, &mask, 65, 0))
        exit(1);
    return area;
}

int main(int argc, char **argv)
{
    if (argc != 4)
        return 2;
    bytes = atoi(argv[2]), tries = atoi(argv[3]);
    if (!strcmp(argv[1], "mpi")) {
        int rank;
        MPI_Init(&argc, &argv);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        memset(data, rank, BYTES_MAX); /* its pages are there */
        measure(by_mpi, rank);
        MPI_Finalize();
        return 0;
    }
    pthread_t other;
    if (!chasqui_transfer_open())
        return 2;
    for (int node = 0; node < 2; node++)
        ends[node] = (struct end){at_node(node, BYTES_MAX), (volatile uint64_t *)at_node(node, PAGE), 0};
    pthread_barrier_init(&ready, NULL, 2);
    if (pthread_create(&other, NULL, thread, (void *)1))
        return 1;
    thread(NULL);
    pthread_join(other, NULL);
    return 0;
}
