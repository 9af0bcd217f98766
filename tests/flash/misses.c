/* How long a load takes that misses: of lines at each node, clean, or modified by the processor of another node.
 *
 * misses clean NODES           a line a node: "node N CYCLES"
 * misses dirty NODES OWNER     the same, modified by a thread on node OWNER
 *
 * The pages of node N are placed there by mbind. Each load's address comes from the load before. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, LINE = 128, LINES = 16, FLUSH = 64 * 1024, MPOL_BIND = 2 };

static uint64_t cycles(void)
{
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now)::"memory");
    return now;
}

/* A page at a node: where in it lines are used. Of four such, two ways of 4 KiB hold all. */
static char *page_at(int node)
{
    uint64_t mask = 1ull << node;
    char *page = mmap(0, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED || syscall(SYS_mbind, page, PAGE, MPOL_BIND, &mask, 65, 0)) {
        perror("mbind");
        exit(1);
    }
    return page + node % 2 * (PAGE / 2);
}

/* Pointers from line to line, LINES of them; the last is null. */
static void chain(char *page)
{
    for (int i = 0; i < LINES; i++)
        *(char **)(page + i * LINE) = i + 1 < LINES ? page + (i + 1) * LINE : 0;
}

/* Whatever was in the cache leaves it, all that was modified is written back: it does not take the controllers' time later. */
static void leave(const char *other)
{
    for (int i = 0; i < FLUSH; i += 32)
        (void)*(const volatile char *)(other + i);
}

static char *pages[64];
static int nodes;
static pthread_barrier_t barrier;

static void *modify(void *own)
{
    unsigned cpu, node;
    syscall(SYS_getcpu, &cpu, &node, 0);
    for (int i = 0; i < nodes; i++) {
        pthread_barrier_wait(&barrier);
        if ((int)node == *(int *)own)
            chain(pages[i]);
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

/* A load's cycles, of LINES that depend on each other. */
static double chase(char *at)
{
    uint64_t start = cycles();
#define STEP "ld %0, 0(%0)\n"
    __asm__ volatile(STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP STEP
                     : "+r"(at)::"memory");
    return (double)(cycles() - start - 1) / LINES;
}

/* The median of each load by itself: the owner may have lost one line or another. */
static double median(char *at)
{
    uint64_t each[LINES];
    for (int i = 0; i < LINES; i++) {
        uint64_t start, end;
        __asm__ volatile("rdcycle %0\nld %2, 0(%2)\nrdcycle %1" : "=&r"(start), "=&r"(end), "+&r"(at)::"memory");
        int place = i;
        for (; place > 0 && each[place - 1] > end - start - 1; place--)
            each[place] = each[place - 1];
        each[place] = end - start - 1;
    }
    return (double)each[LINES / 2];
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    nodes = atoi(argv[2]);
    int owner = argc > 3 ? atoi(argv[3]) : -1;
    char *other = aligned_alloc(PAGE, FLUSH);
    memset(other, 1, FLUSH);
    for (int i = 0; i < nodes; i++) {
        pages[i] = page_at(i);
        chain(pages[i]);
    }
    pthread_t threads[64];
    if (owner >= 0) {
        pthread_barrier_init(&barrier, 0, (unsigned)nodes);
        for (int i = 1; i < nodes; i++)
            pthread_create(&threads[i], 0, modify, &owner);
    }
    /* The code is here, and translations. */
    chain(other);
    chase(other);
    double found[64];
    for (int i = 0; i < nodes; i++) {
        (void)*(volatile char *)(pages[i] + PAGE / 2 - 1);
        leave(other);
        if (owner >= 0) {
            pthread_barrier_wait(&barrier);
            pthread_barrier_wait(&barrier);
            leave(other);
        }
        found[i] = owner < 0 ? chase(pages[i]) : median(pages[i]);
    }
    for (int i = 0; i < nodes; i++)
        printf("node %d %.2f\n", i, found[i]);
    if (owner >= 0) {
        for (int i = 1; i < nodes; i++)
            pthread_join(threads[i], 0);
    }
    return 0;
}
