/* What sending and receiving cost the host, without waiting. Between MPI_Isend and MPI_Wait, and between MPI_Irecv, MPI_Test and
 * MPI_Wait, the program computes for long, so that what each needs is there; what the card says later is dealt with in one more
 * call, and one that finds nothing is taken off. Prints `send BYTES` and `receive BYTES` with the cycles of each, and
 * `load BYTES`: the loads of so many bytes from the card. Usage: overhead TRIPS BYTES [answered]: the receiver answers before
 * data move, and the sender tests for that. */
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "../registers.h"

enum { TRIPS_MAX = 64, SETTLE = 200000 };

static MPI_Request other; /* a receive that is not over before the end */
/* An idle call that is taken off may take longer than all the rest. */
static int64_t times[TRIPS_MAX];
static int has_answer;

static inline uint64_t now(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

static void settle(unsigned times_long)
{
    for (uint64_t turns = (uint64_t)times_long * SETTLE; turns > 0; turns--)
        __asm__ volatile("" : : : "memory");
}

static void write_data(unsigned char *data, int bytes, int trip)
{
    for (int i = 0; i < bytes; i++)
        data[i] = (unsigned char)(trip + i);
}

static void print(const char *name, int bytes, int trips)
{
    printf("%s %d", name, bytes);
    for (int i = 0; i < trips; i++)
        printf(" %lld", (long long)times[i]);
    printf("\n");
}

static uint64_t test(MPI_Request *request)
{
    int flag;
    uint64_t before = now();
    MPI_Test(request, &flag, MPI_STATUS_IGNORE);
    return now() - before;
}

static uint64_t wait(MPI_Request *request)
{
    uint64_t before = now();
    MPI_Wait(request, MPI_STATUS_IGNORE);
    return now() - before;
}

/* What the card has said since is dealt with in the next call: the library's share of it, by a request that stays. */
static uint64_t deal_with(void) { return test(&other) - test(&other); }

static uint64_t send(unsigned char *data, int bytes)
{
    MPI_Request request;
    settle(2);
    uint64_t before = now();
    MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    uint64_t spent = now() - before;
    settle(2);
    if (has_answer) {
        spent += test(&request);
        settle(2);
    }
    spent += wait(&request);
    settle(2);
    return spent + deal_with();
}

/* It may have to answer before the message comes. */
static uint64_t receive(unsigned char *data, int bytes)
{
    MPI_Request request;
    settle(1);
    uint64_t before = now();
    MPI_Irecv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    uint64_t spent = now() - before;
    settle(2);
    spent += test(&request);
    settle(3);
    spent += wait(&request);
    test(&other);
    return spent - test(&other);
}

static void measure(int rank, unsigned char *data, int bytes, int trip)
{
    if (rank == 0)
        write_data(data, bytes, trip);
    MPI_Barrier(MPI_COMM_WORLD);
    times[trip] = (int64_t)(rank == 0 ? send(data, bytes) : receive(data, bytes));
}

/* What a receive by loads from the card would add: `bytes` of the window, eight at a time. */
static void load(unsigned char *data, int bytes, int trips)
{
    int device = open("/dev/ni0", O_RDWR);
    if (device < 0)
        exit(3);
    volatile uint64_t *window = mmap(NULL, 32768, PROT_READ | PROT_WRITE, MAP_SHARED, device,
                                     (1 + CHASQUI_MPINP_REGION_WINDOW) * CHASQUI_NI_REGION_STRIDE);
    if (window == MAP_FAILED)
        exit(3);
    for (int trip = 0; trip < trips; trip++) {
        uint64_t before = now();
        for (int i = 0; i < bytes; i += 8)
            *(volatile uint64_t *)(data + i) = window[512 + i / 8 % 2048];
        times[trip] = (int64_t)(now() - before);
    }
}

int main(int argc, char **argv)
{
    int rank, trips = argc > 1 ? atoi(argv[1]) : 4, bytes = argc > 2 ? atoi(argv[2]) : 4;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (trips < 4 || trips > TRIPS_MAX)
        return 3;
    has_answer = argc > 3;
    unsigned char *data = malloc((size_t)bytes + 8);
    int nothing;
    MPI_Irecv(&nothing, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD, &other);
    for (int trip = 0; trip < trips; trip++)
        measure(rank, data, bytes, trip);
    MPI_Send(&rank, 1, MPI_INT, 1 - rank, 1, MPI_COMM_WORLD);
    MPI_Wait(&other, MPI_STATUS_IGNORE);
    print(rank == 0 ? "send" : "receive", bytes, trips);
    if (rank == 1) {
        load(data, bytes, trips);
        print("load", bytes, trips);
    }
    MPI_Finalize();
    return 0;
}
