/* Rank 1 stores a request to its window that it may not make; the others exchange messages meanwhile.
 *
 * Usage: forged WHAT (rank, name, kind, window, host, odd, entry, fetch, count, many, twice)
 */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "registers.h"

static volatile char *window;
static const struct chasqui_ni_identification *ni;
static uint32_t filled;

static void open_window(void)
{
    int fd = open("/dev/ni0", O_RDWR);
    ni = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    window = mmap(NULL, ni->regions[0].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, CHASQUI_NI_REGION_STRIDE);
    filled = *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL);
}

static void post(struct chasqui_mpinp_request request)
{
    volatile uint64_t *place = (volatile uint64_t *)(window + filled++ % CHASQUI_MPINP_REQUESTS * sizeof request);
    uint64_t words[sizeof request / 8];
    memcpy(words, &request, sizeof request);
    for (unsigned i = 0; i < sizeof request / 8; i++)
        place[i] = words[i];
    __asm__ volatile("fence o, o" : : : "memory");
    *(volatile uint32_t *)(window + CHASQUI_MPINP_DOORBELL) = filled;
}

static void harm(const char *what)
{
    struct chasqui_mpinp_request request = {.kind = CHASQUI_MPINP_RECEIVE,
                                            .name = 100,
                                            .valid = 1,
                                            .context = 12345,
                                            .bytes = 64,
                                            .address = {CHASQUI_MPINP_HOST_DATA}};
    uint32_t host = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_HOST_BYTES];
    unsigned times = 1;
    if (!strcmp(what, "rank"))
        request.rank = (uint16_t)ni->ranks;
    else if (!strcmp(what, "name"))
        request.name = CHASQUI_MPINP_NAMES;
    else if (!strcmp(what, "kind"))
        request.kind = 77;
    else if (!strcmp(what, "window")) {
        request.kind = CHASQUI_MPINP_SEND;
        request.flags = CHASQUI_MPINP_IN_WINDOW;
        request.address[0] = (uint32_t)ni->settings[CHASQUI_MPINP_SETTING_WINDOW_BYTES] - 32;
    } else if (!strcmp(what, "host"))
        request.address[0] = host - 32;
    else if (!strcmp(what, "odd"))
        request.address[0] += 4;
    else if (!strcmp(what, "entry"))
        times = 4;
    else if (!strcmp(what, "fetch"))
        request.kind = CHASQUI_MPINP_FETCH;
    else if (!strcmp(what, "count"))
        filled += CHASQUI_MPINP_REQUESTS + 1;
    else if (!strcmp(what, "many"))
        times = CHASQUI_MPINP_NAMES;
    else if (!strcmp(what, "twice"))
        times = 2;
    for (unsigned i = 0; i < times; i++) {
        if (!strcmp(what, "many"))
            request.name = (uint16_t)i;
        post(request);
        if (!strcmp(what, "entry"))
            request.kind = CHASQUI_MPINP_ENTRY;
        for (volatile int wait = 0; wait < 2000; wait++)
            ;
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, value = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        open_window();
        harm(argc > 1 ? argv[1] : "rank");
        for (;;)
            ;
    }
    int other = rank ? 0 : 2;
    for (int i = 0; i < 4 && rank < 3; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, other, 0, &value, 1, MPI_INT, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (value != i)
            return 3;
    }
    if (rank < 3)
        printf("rank %d: PASSED\n", rank);
    MPI_Finalize();
    return 0;
}
