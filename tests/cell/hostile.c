/* Requests of a process that are wrong: each is refused, and the kernel and SPEs go on.
 * Usage: hostile [mpi]; with it as a rank on an SPE. */
#include <errno.h>
#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "registers.h"

static int device, wrong, made;
static uint64_t words[8];

/* One of these, or a request that there is not. */
static void expect(uint64_t request, uint64_t argument, int error, int other)
{
    errno = 0;
    long result = ioctl(device, (int)request, argument);
    made++;
    if (result == -1 && (errno == error || errno == other))
        return;
    wrong++;
    printf("request %#lx of %#lx: %ld, errno %d\n", (long)request, (long)argument, result, errno);
}

static uint64_t block(uint64_t first, uint64_t second, uint64_t third)
{
    memset(words, 0, sizeof words);
    words[0] = first, words[1] = second, words[2] = third;
    return (uintptr_t)words;
}

/* Numbers of SPEs that the process has not, or there are not. */
static void of_numbers(void)
{
    static const uint64_t numbers[] = {5, 8, 63, 64, 1ull << 32, 1ull << 63, ~0ull};
    static const uint64_t direct[] = {CHASQUI_CELL_CONTROL_GIVE, CHASQUI_CELL_CONTROL_KEEP, CHASQUI_CELL_CONTROL_PURGE,
                                      CHASQUI_CELL_CONTROL_STUCK};
    static const uint64_t by_block[] = {CHASQUI_CELL_CONTROL_READ, CHASQUI_CELL_CONTROL_SIGNALS,
                                        CHASQUI_CELL_CONTROL_MAILBOX_PUT, CHASQUI_CELL_CONTROL_MAILBOX_TAKE};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        for (unsigned k = 0; k < sizeof direct / sizeof *direct; k++)
            expect(direct[k], numbers[i], EINVAL, EINVAL);
        for (unsigned k = 0; k < sizeof by_block / sizeof *by_block; k++)
            expect(by_block[k], block(numbers[i], 1, 0), EINVAL, EINVAL);
        expect(CHASQUI_CELL_CONTROL_IMAGE, block((uintptr_t)words, 64, numbers[i]), EINVAL, EINVAL);
    }
    /* Of none, of all, of bits above those that there are. */
    expect(CHASQUI_CELL_CONTROL_WAIT, 0, EINVAL, EINVAL);
    expect(CHASQUI_CELL_CONTROL_WAIT, ~0ull, EINVAL, EINVAL);
    expect(CHASQUI_CELL_CONTROL_WAIT, 1ull << 63, EINVAL, EINVAL);
}

/* Where there is no memory, nor the process's: null, unmapped, the kernel's, the last of the address space; across an end. */
static void of_addresses(void)
{
    char *two = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(two + 4096, 4096);
    two[0] = 1;
    const uint64_t addresses[] = {
        0, 8, 0x123456000ull, 1ull << 38, 0xffffffff80000000ull, ~0ull - 7, (uintptr_t)two + 4088};
    static const uint64_t by_block[] = {CHASQUI_CELL_CONTROL_IMAGE,       CHASQUI_CELL_CONTROL_READ,
                                        CHASQUI_CELL_CONTROL_PIN,         CHASQUI_CELL_CONTROL_SIGNALS,
                                        CHASQUI_CELL_CONTROL_MOVE,        CHASQUI_CELL_CONTROL_MAILBOX_PUT,
                                        CHASQUI_CELL_CONTROL_MAILBOX_TAKE};
    for (unsigned i = 0; i < sizeof addresses / sizeof *addresses; i++) {
        for (unsigned k = 0; k < sizeof by_block / sizeof *by_block; k++)
            expect(by_block[k], addresses[i], EFAULT, EFAULT);
        /* What is to be there can not. */
        expect(CHASQUI_CELL_CONTROL_PIN, block(addresses[i], 4096, 1), EFAULT, EINVAL);
    }
    expect(CHASQUI_CELL_CONTROL_PIN, block((uintptr_t)two, ~0ull, 1), EINVAL, EINVAL);
    expect(CHASQUI_CELL_CONTROL_PIN, block((uintptr_t)two, 1ull << 40, 1), EFAULT, EFAULT);
    expect(CHASQUI_CELL_CONTROL_PIN, block((uintptr_t)expect & ~4095ull, 4096, 1), EFAULT, EFAULT);
    /* Areas of a rank that are none; an image longer than there is memory. */
    memset(words, 0, sizeof words);
    const uint64_t moves[][3] = {{1, 0, 4096}, {0, 1, 4096},       {0, 0, 0},
                                 {0, 0, 1},    {0, 0, 1ull << 40}, {0, 0, ~4095ull}};
    for (unsigned i = 0; i < sizeof moves / sizeof *moves; i++) {
        struct chasqui_cell_move move = {
            .pc = moves[i][0], .area = (uintptr_t)two + moves[i][1], .area_bytes = moves[i][2]};
        expect(CHASQUI_CELL_CONTROL_MOVE, (uintptr_t)&move, EINVAL, EINVAL);
    }
}

/* Requests that there are not. */
static void of_requests(void)
{
    static const uint64_t requests[] = {0, 0x7100, CHASQUI_CELL_CONTROL_MOVE + 1, 0x71ff, 0x5401, 0xffffffff};
    for (unsigned i = 0; i < sizeof requests / sizeof *requests; i++)
        expect(requests[i], (uintptr_t)words, ENOTTY, ENOTTY);
}

int main(int argc, char **argv)
{
    int as_rank = argc > 1;
    if (as_rank)
        MPI_Init(&argc, &argv);
    device = open("/dev/ni0", O_RDWR);
    of_numbers();
    of_addresses();
    of_requests();
    /* What is right is done. */
    long spe = ioctl(device, CHASQUI_CELL_CONTROL_TAKE, 0);
    wrong += spe < 0 || ioctl(device, CHASQUI_CELL_CONTROL_GIVE, spe) != 0;
    /* Another rank may have taken it since. */
    if (!as_rank)
        expect(CHASQUI_CELL_CONTROL_GIVE, (uint64_t)spe, EINVAL, EINVAL);
    printf("%d requests, %d wrong\n", made, wrong);
    if (as_rank) {
        int value = 7, got = 0, rank;
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        MPI_Sendrecv(&value, 1, MPI_INT, !rank, 0, &got, 1, MPI_INT, !rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("a message %d\n", got);
        MPI_Finalize();
    }
    return 0;
}
