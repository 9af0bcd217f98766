/* Rank 1 calls the kernel's waits by itself, all the time or as no library would; the others exchange messages meanwhile.
 *
 * Usage: stormy often COUNT (it waits for each message to itself, and where there is nothing to wait for)
 *        stormy forged VALUE (it waits for what never comes)
 *        stormy unknown (it calls what there is not)
 */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "registers.h"

enum { ROUNDS = 20 };

static int rank, ranks, card;
static const volatile char *host;

static void open_card(void)
{
    card = open("/dev/ni0", O_RDWR);
    const struct chasqui_ni_identification *ni = mmap(NULL, 4096, PROT_READ, MAP_SHARED, card, 0);
    host = mmap(NULL, ni->regions[CHASQUI_MPINP_REGION_HOST].bytes, PROT_READ, MAP_SHARED, card,
                CHASQUI_MPINP_REGION_HOST * CHASQUI_NI_REGION_STRIDE + CHASQUI_NI_REGION_STRIDE);
}

/* Number of its latest event. */
static uint32_t events(void)
{
    uint32_t latest = 0;
    const volatile struct chasqui_mpinp_event *ring = (const volatile void *)(host + CHASQUI_MPINP_HOST_EVENTS);
    for (unsigned i = 0; i < CHASQUI_MPINP_EVENTS; i++)
        if (ring[i].number > latest)
            latest = ring[i].number;
    return latest;
}

static int often(int count)
{
    int wrong = 0;
    for (int i = 0; i < count; i++) {
        int got = -1;
        MPI_Request requests[2];
        uint32_t seen = events();
        MPI_Irecv(&got, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[0]);
        MPI_Isend(&i, 1, MPI_INT, rank, 0, MPI_COMM_WORLD, &requests[1]);
        wrong += ioctl(card, CHASQUI_MPINP_CONTROL_WAIT, seen) != 0 || events() == seen;
        wrong += ioctl(card, CHASQUI_MPINP_CONTROL_WAIT, seen) != 0;
        wrong += ioctl(card, CHASQUI_MPINP_CONTROL_WAIT_ROOM, seen | 99ull << 32) != 0;
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        wrong += got != i;
    }
    return wrong;
}

static int storm(char **argv)
{
    open_card();
    if (strcmp(argv[1], "often") == 0)
        return often(atoi(argv[2]));
    if (strcmp(argv[1], "forged") == 0)
        return ioctl(card, CHASQUI_MPINP_CONTROL_WAIT, strtoull(argv[2], NULL, 0));
    return ioctl(card, 0x7112, &card) != -1 || errno != ENOTTY;
}

/* Around, past rank 1. */
static int go_on(void)
{
    int wrong = 0, next = (rank + 1) % ranks, before = (rank + ranks - 1) % ranks;
    next += next == 1;
    before -= before == 1;
    for (int i = 0; i < ROUNDS; i++) {
        int sent = 100 * i + rank, got = -1;
        MPI_Sendrecv(&sent, 1, MPI_INT, next, 1, &got, 1, MPI_INT, before, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += got != 100 * i + before;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    int wrong = rank == 1 ? storm(argv) : go_on();
    printf("rank %d: %s\n", rank, wrong ? "FAILED" : "PASSED");
    fflush(stdout);
    MPI_Finalize();
    return wrong != 0;
}
