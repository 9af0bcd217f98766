/* Threads over nodes: phases of work on data of one's own, sums under a lock, polling barriers.
 *
 * barriers THREADS PHASES */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, THREADS_MAX = 64, WORDS = 600 };

static struct {
    _Alignas(LINE) atomic_uint arrived;
    _Alignas(LINE) atomic_uint phase;
    _Alignas(LINE) pthread_mutex_t mutex;
    _Alignas(LINE) uint64_t sum;
} shared = {.mutex = PTHREAD_MUTEX_INITIALIZER};
static unsigned threads, phases;
static uint64_t *rows[THREADS_MAX];

static void meet(void)
{
    unsigned phase = shared.phase;
    if (atomic_fetch_add(&shared.arrived, 1) + 1 == threads) {
        shared.arrived = 0;
        shared.phase = phase + 1;
        return;
    }
    while (shared.phase == phase)
        __asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory"); /* pause */
}

static void *work(void *number)
{
    unsigned me = (unsigned)(uintptr_t)number;
    rows[me] = malloc(WORDS * sizeof *rows[me]);
    for (unsigned i = 0; i < WORDS; i++)
        rows[me][i] = me + i;
    meet();
    for (unsigned phase = 0; phase < phases; phase++) {
        uint64_t sum = 0;
        const uint64_t *other = rows[(me + phase + 1) % threads];
        for (unsigned i = 0; i < WORDS / (1 + (me + phase) % 3); i++)
            sum += other[i];
        meet();
        for (unsigned i = 0; i < WORDS; i++)
            rows[me][i] += sum & 0xff;
        pthread_mutex_lock(&shared.mutex);
        shared.sum += sum;
        pthread_mutex_unlock(&shared.mutex);
        meet();
    }
    return 0;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    threads = (unsigned)atoi(argv[1]);
    phases = (unsigned)atoi(argv[2]);
    pthread_t all[THREADS_MAX];
    for (unsigned i = 1; i < threads; i++) {
        int error = pthread_create(&all[i], 0, work, (void *)(uintptr_t)i);
        if (error) {
            fprintf(stderr, "pthread_create: %s\n", strerror(error));
            exit(1);
        }
    }
    work(0);
    for (unsigned i = 1; i < threads; i++)
        pthread_join(all[i], 0);
    printf("sum %lu\n", (unsigned long)shared.sum);
    return 0;
}
