/* Uses the driver echo.c: sizes at random places, pages that are not there yet, and addresses that are nobody's. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <time.h>

#include "echo.h"

#define ROOM 65536

static int ni;

static long call(const void *from, void *to, uint64_t bytes, uint64_t delay_ns)
{
    struct echo echo = {(uint64_t)from, (uint64_t)to, bytes, delay_ns};
    return ioctl(ni, ECHO_REQUEST, &echo);
}

static uint64_t now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000ull + time.tv_nsec;
}

static unsigned char *pages(void) { return mmap(0, ROOM, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); }

static int right(unsigned seed)
{
    srand(seed);
    for (int round = 0; round < 20; round++) {
        unsigned char *from = pages(), *to = pages();
        uint64_t bytes = 1 + rand() % (ROOM - 64), at = rand() % 64, to_at = rand() % 64, delay = rand() % 100000;
        long sum = 0;
        for (uint64_t i = 0; i < bytes; i++)
            sum += from[at + i] = rand();
        uint64_t start = now_ns();
        if (call(from + at, to + to_at, bytes, delay) != sum || now_ns() - start < delay)
            return 0;
        for (uint64_t i = 0; i < bytes; i++)
            if (to[to_at + i] != from[at + i])
                return 0;
        if (to[to_at + bytes] != 0)
            return 0;
        munmap(from, ROOM);
        munmap(to, ROOM);
    }
    return 1;
}

/* The call fails with EFAULT. */
static int refused(const void *from, void *to) { return call(from, to, 100, 0) == -1 && errno == EFAULT; }

int main(int count, char **arguments)
{
    unsigned seed = count > 1 ? atoi(arguments[1]) : 1;
    unsigned char *memory = pages(), *end = memory + ROOM / 2;
    munmap(end, ROOM / 2);
    ni = open("/dev/ni0", O_RDWR);
    printf("seed %u\n", seed);
    int ok = right(seed);
    ok &= refused((void *)8, memory) && refused(memory, (void *)8);
    ok &= refused(memory, (void *)-4096l) && refused((void *)0xffffffff80000000, memory);
    ok &= refused(end - 50, memory) && refused(memory, end - 50);
    ok &= ioctl(ni, 0x7102, 0) == -1 && errno == ENOTTY;
    puts(ok ? "echo: PASSED" : "echo: FAILED");
    return !ok;
}
