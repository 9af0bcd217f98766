/* What flash's programs share: a thread a processor, memory at a node, barriers, and where the time goes. They also run on a
 * host, where memory has no places: their results are the same bits there.
 *
 * A program's parallel section lies between section_begin and section_end. In it a thread says what it does (`enter`), and its
 * clocks say what that takes: a processor of one cycle an instruction waits for memory in all other cycles. */
#ifndef FLASH_PARALLEL_H
#define FLASH_PARALLEL_H

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { STACK = 256 * 1024, PAGE = 4096, LINE = 128, THREADS_MAX = 64, ROUNDS_MAX = 6, MEETINGS_MAX = 8192 };

/* What a thread does: with data of its own, or with those of others. */
enum phase { COMPUTE, COMMUNICATE, PHASES };

struct flag {
    _Alignas(LINE) atomic_uint meeting;
};

/* At its own node. */
struct thread {
    struct flag flags[ROUNDS_MAX]; /* a round's partner writes them */
    struct flag end; /* thread 0 does */
    _Alignas(LINE) unsigned me;
    unsigned threads;
    unsigned meeting; /* how many there were */
    unsigned counted; /* in the section */
    struct thread *others[THREADS_MAX];
    enum phase phase;
    uint64_t cycles_before, instructions_before;
    uint64_t cycles[PHASES], instructions[PHASES], waited_cycles;
    uint64_t begun, ended; /* ticks */
    uint64_t arrived[MEETINGS_MAX], left[MEETINGS_MAX]; /* ticks */
};

/* The same bits everywhere: no multiplication is joined with an addition. (GNU's compilers do so only where a processor can.) */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#endif

static struct thread *everyone[THREADS_MAX];
static void (*thread_body)(struct thread *);

static void fail(const char *what)
{
    fprintf(stderr, "%s\n", what);
    exit(1);
}

#if defined(__riscv)
#define READ(name, counter)                                         \
    static inline uint64_t name(void)                               \
    {                                                               \
        uint64_t now;                                               \
        __asm__ volatile("rd" counter " %0" : "=r"(now)::"memory"); \
        return now;                                                 \
    }
READ(ticks, "time")
READ(cycle, "cycle")
READ(instret, "instret")
#undef READ
static inline void pause_a_little(void) { __asm__ volatile(".insn i 0x0F, 0, x0, x0, 0x010" ::: "memory"); }
#else
static inline uint64_t cycle(void) { return 0; }
static inline uint64_t instret(void) { return 0; }
static inline void pause_a_little(void) { sched_yield(); }
static inline uint64_t ticks(void) { return 0; }
#endif

/* Zeroed memory at a node, from a page's begin on. */
static void *place(size_t bytes, unsigned node)
{
    bytes = (bytes + PAGE - 1) / PAGE * PAGE;
    void *area = mmap(0, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        fail("no memory");
#if defined(__riscv)
    enum { MPOL_BIND = 2 };
    uint64_t mask = 1ull << node;
    if (syscall(SYS_mbind, area, bytes, MPOL_BIND, &mask, 65, 0))
        fail("mbind");
#else
    (void)node;
#endif
    return area;
}

/* The i-th of an order in which each thread begins elsewhere. */
static inline unsigned in_turn(const struct thread *own, unsigned i) { return (own->me + i) % own->threads; }

/* Translations of an area are known, and its pages are there. */
static void touch(const void *area, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PAGE)
        (void)*((const volatile char *)area + at);
}

/* --- time ---------------------------------------------------------------------------------- */

static inline void count_on(struct thread *own)
{
    own->cycles_before = cycle();
    own->instructions_before = instret();
}

static inline void count_up(struct thread *own)
{
    /* Read within the cycles, so that there are not more of them. */
    own->instructions[own->phase] += instret() - own->instructions_before;
    own->cycles[own->phase] += cycle() - own->cycles_before;
}

static inline void enter(struct thread *own, enum phase phase)
{
    if (own->phase != phase) {
        count_up(own);
        own->phase = phase;
        count_on(own);
    }
}

/* --- barriers ------------------------------------------------------------------------------ */

/* All threads are here: rounds in which each tells the one that is 1, 2, 4, … further (dissemination). */
static void gather(struct thread *own)
{
    unsigned meeting = ++own->meeting;
    for (unsigned round = 0; 1u << round < own->threads; round++) {
        struct thread *next = own->others[(own->me + (1u << round)) % own->threads];
        atomic_store_explicit(&next->flags[round].meeting, meeting, memory_order_release);
        while (atomic_load_explicit(&own->flags[round].meeting, memory_order_acquire) < meeting)
            pause_a_little();
    }
}

/* The same, in the section: who came when is known afterwards. */
static void meet(struct thread *own)
{
    if (own->counted == MEETINGS_MAX)
        fail("too many barriers");
    count_up(own);
    uint64_t before = cycle();
    own->arrived[own->counted] = ticks();
    gather(own);
    own->left[own->counted++] = ticks();
    own->waited_cycles += cycle() - before;
    count_on(own);
}

static void section_begin(struct thread *own)
{
    gather(own);
    own->begun = ticks();
    own->phase = COMPUTE;
    count_on(own);
}

static void section_end(struct thread *own)
{
    meet(own);
    own->ended = own->left[own->counted - 1];
}

/* --- threads ------------------------------------------------------------------------------- */

static void *run_thread(void *own)
{
    gather(own);
    thread_body(own);
    return 0;
}

/* Ends when it is told to: the library has a lock for that. */
static void *run_other(void *own)
{
    run_thread(own);
    gather(own);
    while (!atomic_load(&((struct thread *)own)->end.meeting))
        pause_a_little();
    return 0;
}

/* A thread with its stack at its node. */
static void begin_thread(pthread_t *thread, struct thread *own)
{
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (pthread_attr_setstack(&attributes, place(STACK, own->me), STACK) ||
        pthread_create(thread, &attributes, run_other, own))
        fail("pthread_create: more threads than processors?");
    pthread_attr_destroy(&attributes);
}

/* `body` by each thread, thread 0 is the caller. */
static void run_threads(unsigned threads, void (*body)(struct thread *))
{
    if (threads < 1 || threads > THREADS_MAX)
        fail("1 to 64 threads are possible");
    thread_body = body;
    for (unsigned i = 0; i < threads; i++) {
        everyone[i] = place(sizeof *everyone[i], i);
        everyone[i]->me = i;
        everyone[i]->threads = threads;
    }
    for (unsigned i = 0; i < threads; i++)
        memcpy(everyone[i]->others, everyone, sizeof everyone);
    pthread_t all[THREADS_MAX];
    for (unsigned i = 1; i < threads; i++)
        begin_thread(&all[i], everyone[i]);
    run_thread(everyone[0]);
    gather(everyone[0]);
    for (unsigned i = 1; i < threads; i++) {
        atomic_store(&everyone[i]->end.meeting, 1);
        pthread_join(all[i], 0);
    }
}

/* --- results ------------------------------------------------------------------------------- */

/* A line for the experiment: `NAME THREADS NUMBERS…`.
 * times: the section's ticks; of all threads together: cycles in it, cycles in which they executed nothing in either phase,
 * cycles in barriers, ticks in barriers, and of these the ticks until the last had come. */
static void print_times(unsigned threads)
{
    uint64_t cycles = 0, idle = 0, waited = 0, waited_cycles = 0, stalls[PHASES] = {0}, ended = 0;
    for (unsigned i = 0; i < threads; i++) {
        struct thread *each = everyone[i];
        waited_cycles += each->waited_cycles;
        for (int phase = 0; phase < PHASES; phase++) {
            cycles += each->cycles[phase];
            stalls[phase] += each->cycles[phase] - each->instructions[phase];
        }
        ended = each->ended > ended ? each->ended : ended;
        for (unsigned m = 0; m < each->counted; m++)
            waited += each->left[m] - each->arrived[m];
    }
    for (unsigned m = 0; m < everyone[0]->counted; m++) {
        uint64_t last = 0;
        for (unsigned i = 0; i < threads; i++)
            last = everyone[i]->arrived[m] > last ? everyone[i]->arrived[m] : last;
        for (unsigned i = 0; i < threads; i++)
            idle += last - everyone[i]->arrived[m];
    }
    printf("times %u %lu %lu %lu %lu %lu %lu %lu\n", threads, (unsigned long)(ended - everyone[0]->begun),
           (unsigned long)(cycles + waited_cycles), (unsigned long)stalls[COMPUTE], (unsigned long)stalls[COMMUNICATE],
           (unsigned long)waited_cycles, (unsigned long)waited, (unsigned long)idle);
}

static inline uint64_t mixed(uint64_t value)
{
    value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9u;
    value = (value ^ value >> 27) * 0x94d049bb133111ebu;
    return value ^ value >> 31;
}

/* A value's part of a checksum, which is a sum: any thread may add it. */
static inline uint64_t summand(uint64_t place, uint64_t bits) { return mixed(bits + mixed(place + 1)); }

static inline uint64_t bits_of(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double distance(double a, double b) { return a < b ? b - a : a - b; }

/* If either is none, that is the larger. */
static inline double larger(double a, double b) { return b > a || b != b ? b : a; }

/* -1 to 1, by a number. */
static inline double random_of(uint64_t number) { return (double)(int64_t)mixed(number + 1) * 0x1p-63; }

/* The word that asks for all of the program; or for the rest without its section, so that one knows what the section adds to
 * counters. The rest checks a result that is not there, by the same accesses, and says nothing. Until the section both do the
 * same, to the cycle: so words that are given instead of each other are of one length, for they lie on the stack. */
static int is_whole(const char *word)
{
    if (strcmp(word, "whole") && strcmp(word, "rest."))
        fail("whole or rest.?");
    return word[0] == 'w';
}

#endif
