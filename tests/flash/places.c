/* Where pages are: those that four threads touch in turn, and those of areas and of a thread with a policy. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 8, MPOL_DEFAULT = 0, MPOL_BIND = 2, MPOL_INTERLEAVE = 3, MPOL_F_NODE = 1, MPOL_F_ADDR = 2 };

static char *pages;
static pthread_barrier_t barrier;

static char *map(void)
{
    char *at = mmap(0, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        exit(1);
    return at;
}

static void *touch(void *number)
{
    int me = (int)(intptr_t)number;
    for (int turn = 0; turn < PAGES; turn++) {
        if (turn % 4 == me)
            pages[turn * PAGE] = 1;
        pthread_barrier_wait(&barrier);
    }
    return 0;
}

static void show(const char *name, char *at)
{
    printf("%s:", name);
    for (int i = 0; i < PAGES; i++) {
        int node = -1;
        if (syscall(SYS_get_mempolicy, &node, 0, 0, at + i * PAGE, MPOL_F_NODE | MPOL_F_ADDR))
            perror("get_mempolicy");
        printf(" %d", node);
    }
    printf("\n");
}

int main(void)
{
    pthread_t threads[4];
    pthread_barrier_init(&barrier, 0, 4);
    pages = map();
    for (int i = 1; i < 4; i++)
        pthread_create(&threads[i], 0, touch, (void *)(intptr_t)i);
    touch(0);
    for (int i = 1; i < 4; i++)
        pthread_join(threads[i], 0);
    show("touched", pages);
    uint64_t third = 8, even = 5, first = 2;
    pages = map();
    if (syscall(SYS_mbind, pages, PAGES * PAGE, MPOL_BIND, &third, 65, 0))
        perror("mbind");
    show("bound", pages);
    pages = map();
    if (syscall(SYS_mbind, pages, PAGES * PAGE, MPOL_INTERLEAVE, &even, 65, 0))
        perror("mbind");
    show("interleaved", pages);
    if (syscall(SYS_set_mempolicy, MPOL_BIND, &first, 65))
        perror("set_mempolicy");
    show("set", map());
    syscall(SYS_set_mempolicy, MPOL_DEFAULT, 0, 0);
    return 0;
}
