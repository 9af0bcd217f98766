/* Threads by the C library: each part checks its answer.
 *
 *   pthreads THREADS
 *
 * Exit status 0 if all is right, else the number of the part that is wrong. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 64, ROUNDS = 50, NUMBERS = 6000, ITEMS = 200, ROOM = 8 };

static int threads;
static pthread_barrier_t barrier;

/* Runs `work` on every thread, the caller's included; true if none returned anything. */
static int everywhere(void *(*work)(void *))
{
    pthread_t other[THREADS_MAX];
    int right = 1;
    for (intptr_t i = 1; i < threads; i++)
        if (pthread_create(&other[i], NULL, work, (void *)i) != 0)
            return 0;
    right &= work(NULL) == NULL;
    for (int i = 1; i < threads; i++) {
        void *result = &right;
        right &= pthread_join(other[i], &result) == 0 && result == NULL;
    }
    return right;
}

/* --- counters: by mutex, by atomic operation, by load-reserved and store-conditional --- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static long by_mutex, by_atomic, by_reservation;

static void *count(void *unused)
{
    (void)unused;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&mutex);
        by_mutex++;
        pthread_mutex_unlock(&mutex);
        __atomic_add_fetch(&by_atomic, 1, __ATOMIC_RELAXED);
        long old = __atomic_load_n(&by_reservation, __ATOMIC_RELAXED);
        while (!__atomic_compare_exchange_n(&by_reservation, &old, old + 1, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            ;
    }
    return NULL;
}

static int counters(void)
{
    long all = (long)threads * ROUNDS;
    return everywhere(count) && by_mutex == all && by_atomic == all && by_reservation == all;
}

/* --- thread-local storage, and barriers between phases --- */

static _Thread_local int mine = 7;
static int phase[THREADS_MAX];

static void *phases(void *argument)
{
    intptr_t me = (intptr_t)argument, wrong = me > 0 && mine != 7;
    mine = 100 + (int)me;
    for (int i = 1; i <= ROUNDS; i++) {
        phase[me] = i;
        pthread_barrier_wait(&barrier);
        for (int other = 0; other < threads; other++)
            wrong |= phase[other] != i;
        pthread_barrier_wait(&barrier);
    }
    wrong |= mine != 100 + me;
    return (void *)wrong;
}

/* --- a sum in parts --- */

static double number[NUMBERS], part[THREADS_MAX];

static void *add(void *argument)
{
    intptr_t me = (intptr_t)argument;
    for (int i = (int)me; i < NUMBERS; i += threads)
        part[me] += number[i];
    return NULL;
}

static int sum(void)
{
    double all = 0;
    for (int i = 0; i < NUMBERS; i++)
        number[i] = i;
    int right = everywhere(add);
    for (int i = 0; i < threads; i++)
        all += part[i];
    return right && all == (double)NUMBERS * (NUMBERS - 1) / 2;
}

/* --- a queue between a producer and consumers --- */

static pthread_cond_t not_empty = PTHREAD_COND_INITIALIZER, not_full = PTHREAD_COND_INITIALIZER;
static int queue[ROOM], queued, taken_sum, taken;

static void produce(void)
{
    for (int i = 1; i <= ITEMS; i++) {
        pthread_mutex_lock(&mutex);
        while (queued == ROOM)
            pthread_cond_wait(&not_full, &mutex);
        queue[queued++] = i;
        pthread_cond_signal(&not_empty);
        pthread_mutex_unlock(&mutex);
    }
}

static void *exchange(void *argument)
{
    if (argument == NULL) {
        produce();
        if (threads > 1)
            return NULL;
    }
    pthread_mutex_lock(&mutex);
    while (taken < ITEMS) {
        if (queued == 0) {
            pthread_cond_wait(&not_empty, &mutex);
            continue;
        }
        taken_sum += queue[--queued];
        if (++taken == ITEMS)
            pthread_cond_broadcast(&not_empty);
        pthread_cond_signal(&not_full);
    }
    pthread_mutex_unlock(&mutex);
    return NULL;
}

/* --- time-outs, semaphores, affinity --- */

static sem_t semaphore;

static void *post(void *unused)
{
    (void)unused;
    sem_post(&semaphore);
    sched_yield();
    return NULL;
}

static int others(void)
{
    struct timespec until;
    cpu_set_t set;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += 100000;
    if (until.tv_nsec >= 1000000000)
        until.tv_sec++, until.tv_nsec -= 1000000000;
    sem_init(&semaphore, 0, 0);
    int right = sem_timedwait(&semaphore, &until) == -1 && errno == ETIMEDOUT;
    right &= everywhere(post);
    for (int i = 0; i < threads; i++)
        right &= sem_wait(&semaphore) == 0;
    CPU_ZERO(&set);
    right &= sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) >= threads;
    right &= sched_setaffinity(0, sizeof set, &set) == 0;
    return right && sysconf(_SC_NPROCESSORS_ONLN) >= threads;
}

/* --- threads come and go on the same hart --- */

static void *nothing(void *argument) { return argument; }

static int again(void)
{
    pthread_t other;
    for (intptr_t i = 0; i < 5 && threads > 1; i++) {
        void *result = NULL;
        if (pthread_create(&other, NULL, nothing, (void *)i) != 0)
            return 0;
        if (pthread_join(other, &result) != 0 || result != (void *)i)
            return 0;
    }
    return 1;
}

/* One thread more than there are harts is refused. */
static int refused(void)
{
    pthread_t other[THREADS_MAX];
    int made = 0, error = 0;
    pthread_mutex_lock(&mutex);
    while (made < THREADS_MAX && (error = pthread_create(&other[made], NULL, count, NULL)) == 0)
        made++;
    pthread_mutex_unlock(&mutex);
    for (int i = 0; i < made; i++)
        pthread_join(other[i], NULL);
    return error == EAGAIN && made == threads - 1;
}

int main(int argc, char **argv)
{
    threads = argc > 1 ? atoi(argv[1]) : 1;
    if (threads < 1 || threads > THREADS_MAX)
        return 99;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    if (!counters())
        return 1;
    if (!everywhere(phases))
        return 2;
    if (!sum())
        return 3;
    /* The producer alone may not fill the queue. */
    if (threads > 1 && (!everywhere(exchange) || taken_sum != ITEMS * (ITEMS + 1) / 2))
        return 4;
    if (!others())
        return 5;
    if (!again())
        return 6;
    if (!refused())
        return 7;
    printf("%d threads: all is right\n", threads);
    return 0;
}
