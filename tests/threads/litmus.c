/* Litmus tests of the memory model (RISC-V unprivileged ISA, chapter "RVWMO"): what harts see of each
 * other's stores.
 *
 *   litmus ROUNDS SEED
 *
 * Each round of a test has two words of its own, a line each. Threads meet, bring the lines into their caches
 * in some way, meet again, and do their part at random times close to each other. Prints, for each test, how often
 * each outcome came: its digits are what the test observes, in the order of its comment. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE = 128, THREADS = 4, DIGITS = 4 };

struct cell {
    _Alignas(LINE) uint64_t x;
    uint64_t beside_x;
    _Alignas(LINE) uint64_t y;
    uint64_t beside_y;
    _Alignas(LINE) uint64_t seen[DIGITS];
};

#define STORE(word, value) __asm__ volatile("sd %1, %0" : "=m"(word) : "r"((uint64_t)(value)) : "memory")
#define LOAD(result, word) __asm__ volatile("ld %0, %1" : "=r"(result) : "m"(word) : "memory")
#define FENCE(before, after) __asm__ volatile("fence " #before ", " #after::: "memory")
#define NO_FENCE __asm__ volatile("" ::: "memory")

/* A part that stores to one word and then to another. */
#define STORE_STORE(name, a, value_a, b, value_b, fence) \
    static void name(struct cell *c)                     \
    {                                                    \
        STORE(c->a, value_a);                            \
        fence;                                           \
        STORE(c->b, value_b);                            \
    }

/* One that stores and then loads, into `seen[digit]`. */
#define STORE_LOAD(name, a, b, digit, fence) \
    static void name(struct cell *c)         \
    {                                        \
        uint64_t r;                          \
        STORE(c->a, 1);                      \
        fence;                               \
        LOAD(r, c->b);                       \
        c->seen[digit] = r;                  \
    }

#define LOAD_LOAD(name, a, b, digit, fence) \
    static void name(struct cell *c)        \
    {                                       \
        uint64_t r, s;                      \
        LOAD(r, c->a);                      \
        fence;                              \
        LOAD(s, c->b);                      \
        c->seen[digit] = r;                 \
        c->seen[digit + 1] = s;             \
    }

#define LOAD_STORE(name, a, b, digit, fence) \
    static void name(struct cell *c)         \
    {                                        \
        uint64_t r;                          \
        LOAD(r, c->a);                       \
        fence;                               \
        STORE(c->b, 1);                      \
        c->seen[digit] = r;                  \
    }

/* Message passing: y, x as the second thread sees them. */
STORE_STORE(mp_put, x, 1, y, 1, NO_FENCE)
LOAD_LOAD(mp_get, y, x, 0, NO_FENCE)
STORE_STORE(mp_put_fence, x, 1, y, 1, FENCE(w, w))
LOAD_LOAD(mp_get_fence, y, x, 0, FENCE(r, r))
/* Store buffering: y as the first sees it, x as the second does. */
STORE_LOAD(sb_first, x, y, 0, NO_FENCE)
STORE_LOAD(sb_second, y, x, 1, NO_FENCE)
STORE_LOAD(sb_first_fence, x, y, 0, FENCE(w, r))
STORE_LOAD(sb_second_fence, y, x, 1, FENCE(w, r))
/* Load buffering: x as the first sees it, y as the second does. */
LOAD_STORE(lb_first, x, y, 0, NO_FENCE)
LOAD_STORE(lb_second, y, x, 1, NO_FENCE)
LOAD_STORE(lb_first_fence, x, y, 0, FENCE(r, w))
LOAD_STORE(lb_second_fence, y, x, 1, FENCE(r, w))
/* Independent reads of independent writes: x, y of one reader, y, x of the other. */
static void write_x(struct cell *c) { STORE(c->x, 1); }
static void write_y(struct cell *c) { STORE(c->y, 1); }
LOAD_LOAD(iriw_xy, x, y, 0, FENCE(r, r))
LOAD_LOAD(iriw_yx, y, x, 2, FENCE(r, r))
/* Coherence of reads: x twice. */
LOAD_LOAD(corr, x, x, 0, NO_FENCE)
/* Two writers of two words: x, y in the end. */
STORE_STORE(ww_first, x, 1, y, 2, NO_FENCE)
STORE_STORE(ww_second, y, 1, x, 2, NO_FENCE)
STORE_STORE(ww_first_fence, x, 1, y, 2, FENCE(w, w))
STORE_STORE(ww_second_fence, y, 1, x, 2, FENCE(w, w))

static const struct test {
    const char *name;
    int digits;
    /* The digits are x and y in the end. */
    int final;
    void (*part[THREADS])(struct cell *);
} tests[] = {
    {"MP", 2, 0, {mp_put, mp_get}},
    {"MP+fences", 2, 0, {mp_put_fence, mp_get_fence}},
    {"SB", 2, 0, {sb_first, sb_second}},
    {"SB+fences", 2, 0, {sb_first_fence, sb_second_fence}},
    {"LB", 2, 0, {lb_first, lb_second}},
    {"LB+fences", 2, 0, {lb_first_fence, lb_second_fence}},
    {"IRIW+fences", 4, 0, {write_x, write_y, iriw_xy, iriw_yx}},
    {"CoRR", 2, 0, {write_x, corr}},
    {"2+2W", 2, 1, {ww_first, ww_second}},
    {"2+2W+fences", 2, 1, {ww_first_fence, ww_second_fence}},
};
enum { TESTS = sizeof tests / sizeof tests[0] };

static int rounds;
static uint64_t seed;
static struct cell *cells;

/* A barrier of all threads that turns over with each use. */
static _Alignas(LINE) uint32_t arrived;
static _Alignas(LINE) uint32_t turn;
/* Cycle from which on parts begin, when all have seen the end of the last meeting; the harts' counters agree. */
static uint64_t begin;
enum { SEEN = 1500 };

static uint64_t cycle(void)
{
    uint64_t now;
    __asm__ volatile("rdcycle %0" : "=r"(now));
    return now;
}

static void meet(uint32_t *mine)
{
    uint32_t next = *mine + 1;
    if (__atomic_add_fetch(&arrived, 1, __ATOMIC_ACQ_REL) == THREADS) {
        __atomic_store_n(&arrived, 0, __ATOMIC_RELAXED);
        begin = cycle() + SEEN;
        __atomic_store_n(&turn, next, __ATOMIC_RELEASE);
    }
    while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != next)
        __asm__ volatile(".word 0x0100000f"); /* pause */
    *mine = next;
}

static uint64_t random_bits(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* Brings the lines in, shared, or one of them to write. */
static void warm(struct cell *c, unsigned how)
{
    uint64_t r;
    if (how & 1)
        LOAD(r, c->x);
    if (how & 2)
        LOAD(r, c->y);
    if (how == 4)
        STORE(c->beside_x, 1);
    if (how == 5)
        STORE(c->beside_y, 1);
    FENCE(rw, rw);
}

static void *thread(void *argument)
{
    int me = (int)(intptr_t)argument;
    uint64_t state = seed * 1000003 + (uint64_t)me + 1;
    uint32_t mine = 0;
    for (int t = 0; t < TESTS; t++)
        for (int round = 0; round < rounds; round++) {
            struct cell *c = &cells[t * rounds + round];
            meet(&mine);
            warm(c, random_bits(&state) % 6);
            meet(&mine);
            uint64_t start = begin + random_bits(&state) % 16;
            while (cycle() < start)
                ;
            if (tests[t].part[me])
                tests[t].part[me](c);
        }
    return NULL;
}

static void report(int t)
{
    const struct test *test = &tests[t];
    char outcome[DIGITS + 1] = "";
    enum { OUTCOMES = 81 };
    int count[OUTCOMES] = {0};
    for (int round = 0; round < rounds; round++) {
        struct cell *c = &cells[t * rounds + round];
        const uint64_t *digit = c->seen;
        uint64_t last[2] = {c->x, c->y};
        if (test->final)
            digit = last;
        int number = 0;
        for (int i = 0; i < test->digits; i++)
            number = 3 * number + (int)digit[i];
        count[number]++;
    }
    printf("%s", test->name);
    for (int number = 0; number < OUTCOMES; number++) {
        int rest = number;
        for (int i = test->digits - 1; i >= 0; i--, rest /= 3)
            outcome[i] = (char)('0' + rest % 3);
        if (count[number])
            printf(" %s=%d", outcome, count[number]);
    }
    printf("\n");
}

int main(int argc, char **argv)
{
    pthread_t other[THREADS];
    if (argc != 3)
        return 2;
    rounds = atoi(argv[1]);
    seed = strtoull(argv[2], NULL, 0);
    cells = aligned_alloc(LINE, sizeof *cells * TESTS * (size_t)rounds);
    memset(cells, 0, sizeof *cells * TESTS * (size_t)rounds);
    for (intptr_t i = 1; i < THREADS; i++)
        if (pthread_create(&other[i], NULL, thread, (void *)i) != 0)
            return 3;
    thread(NULL);
    for (int i = 1; i < THREADS; i++)
        pthread_join(other[i], NULL);
    for (int t = 0; t < TESTS; t++)
        report(t);
    return 0;
}
