/* One thread uses five lines of a set of its L1, which has four ways, and the L2 gives one of them back in each turn; another
 * stores to one of them now and then. Which line makes room depends on whether that one has been taken by then. */
#include <pthread.h>
#include <stdio.h>

enum { TURNS = 300, APART = 4096, LINES = 6 };

static _Alignas(APART) char set[LINES * APART];
static volatile int goes;
static _Alignas(128) long own;

static volatile unsigned long *line(int i) { return (volatile unsigned long *)(set + i * APART + 512); }

static void work(long turns)
{
    for (long i = 0; i < turns; i++)
        __asm__ volatile("");
}

static void *store(void *unused)
{
    goes = 1;
    for (int i = 0; i < TURNS; i++) {
        work(300 + i % 37 * 11);
        *line(1) = (unsigned long)i;
    }
    return unused;
}

static unsigned long cycles(void)
{
    unsigned long now;
    __asm__ volatile("rdcycle %0" : "=r"(now)::"memory");
    return now;
}

int main(void)
{
    pthread_t other;
    unsigned long sum = 0;
    for (int i = 0; i < LINES; i++)
        *line(i) = (unsigned long)i;
    if (pthread_create(&other, NULL, store, NULL))
        return 1;
    while (!goes) {}
    unsigned long begin = cycles();
    for (int i = 0; i < TURNS; i++) {
        sum += *line(2) + *line(1) + *line(3) + *line(4);
        work(400);
        sum += *line(5);
        __atomic_fetch_add(&own, 1, __ATOMIC_SEQ_CST);
        work(400);
        sum += *line(2);
    }
    unsigned long end = cycles();
    pthread_join(other, NULL);
    printf("%lu cycles, %d\n", end - begin, sum > 0);
    return 0;
}
