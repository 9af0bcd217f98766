/* Spin locks of several processors: each ends, nothing is lost, and none is left out.
 *
 * locks KIND THREADS TIMES     KIND: tas, ticket, cas, lrsc
 *
 * TIMES acquisitions of all threads together; between two of its own a thread does something else for a while. A line "KIND THREADS TOTAL LEAST MOST" at the end: how often the thread had the
 * lock that had it least often, and most often. Nobody pauses: every polling loop is executed. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, THREADS_MAX = 64 };

static struct {
    _Alignas(LINE) atomic_uint word;
    _Alignas(LINE) atomic_uint next;
    _Alignas(LINE) atomic_uint serving;
    _Alignas(LINE) uint64_t plain; /* changed under the lock alone */
    _Alignas(LINE) atomic_uint ready;
} shared;
static struct {
    _Alignas(LINE) uint64_t had;
} own[THREADS_MAX];

static char kind;
static unsigned threads, total;

static unsigned reserve_and_store(void)
{
    unsigned old, failed;
    __asm__ volatile(
        "1: lr.w.aq %0, (%2)\n"
        "   bnez %0, 1b\n"
        "   li %1, 1\n"
        "   sc.w %1, %1, (%2)\n"
        "   bnez %1, 1b\n"
        : "=&r"(old), "=&r"(failed)
        : "r"(&shared.word)
        : "memory");
    return old;
}

static void acquire(void)
{
    switch (kind) {
    case 'a': /* tas */
        while (atomic_exchange_explicit(&shared.word, 1, memory_order_acquire)) {}
        return;
    case 'i': { /* ticket */
        unsigned mine = atomic_fetch_add(&shared.next, 1);
        while (atomic_load_explicit(&shared.serving, memory_order_acquire) != mine) {}
        return;
    }
    case 's': { /* cas */
        for (unsigned free = 0; !atomic_compare_exchange_strong(&shared.word, &free, 1); free = 0) {}
        return;
    }
    default: reserve_and_store();
    }
}

static void release(void)
{
    if (kind == 'i')
        atomic_store_explicit(&shared.serving, shared.serving + 1, memory_order_release);
    else
        atomic_store_explicit(&shared.word, 0, memory_order_release);
}

static void *work(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number, random = me;
    atomic_fetch_add(&shared.ready, 1);
    while (shared.ready < threads) {}
    for (int goes_on = 1; goes_on;) {
        acquire();
        goes_on = shared.plain < total;
        if (goes_on) {
            shared.plain++;
            own[me].had++;
        }
        release();
        random = random * 1103515245 + 12345;
        for (unsigned i = random >> 16 & 127; i > 0; i--)
            __asm__ volatile("");
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    kind = argv[1][1] == 'a' && argv[1][0] == 'c' ? 's' : argv[1][1];
    threads = (unsigned)atoi(argv[2]);
    total = (unsigned)atoi(argv[3]);
    pthread_t all[THREADS_MAX];
    for (unsigned i = 1; i < threads; i++)
        pthread_create(&all[i], 0, work, (void *)(uintptr_t)i);
    work(0);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(all[i], 0);
    uint64_t least = own[0].had, most = 0, sum = 0;
    for (unsigned i = 0; i < threads; i++) {
        least = own[i].had < least ? own[i].had : least;
        most = own[i].had > most ? own[i].had : most;
        sum += own[i].had;
    }
    printf("%s %u %lu %lu %lu\n", argv[1], threads, (unsigned long)sum, (unsigned long)least, (unsigned long)most);
    return sum == total && shared.plain == total ? 0 : 1;
}
