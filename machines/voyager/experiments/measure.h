/* What the experiments' programs share: the clock, tokens between ranks, a lock, samples, and the measurements
 * that programs make of every message.
 *
 * Times are cycles of the hart's clock, by rdcycle: one cycle, no memory access, and no wait for stores
 * under way. On this machine all harts' counters began at the same moment and run alike, so that a time
 * read on one rank may be subtracted from one of another rank. Counters are read before and after what is
 * measured, never in a loop that waits, and nothing is printed while anything is measured.
 *
 * A program prints lines `NAME KEY NUMBERS…` (chasqui.experiment.Output.samples).
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <chasqui/nes.h>
#include <stdio.h>
#include <stdlib.h>

/* Express queue of what is measured, and of tokens between the ranks. */
enum { WORK, TOKENS };
/* Samples of a kind; turns of `delay` until queues are idle and what was sent has come. */
enum { COUNT_MAX = 128, SETTLE = 2000 };

#define ALWAYS_INLINE static inline __attribute__((always_inline))

/* At the beginning of a line, whatever else a program has: else it would lie in one more. */
static _Alignas(64) struct nes nes;
static unsigned trips, stream; /* there and back; messages of a stream */

static inline uint64_t now(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

/* Two cycles a turn, and no memory access. */
static inline void delay(uint64_t turns) { __asm__ volatile("1: addi %0, %0, -1\n bgtz %0, 1b" : "+r"(turns)); }

/* Cycles, a power of two: many turns of the loop that polls. */
#ifndef PHASES
#define PHASES 256
#endif

/* Differently long each time, by up to PHASES, so that messages come at all moments of a loop that polls, and of the
 * bus clock. Multiples of the golden ratio: any run of them is spread evenly. */
static inline void vary(unsigned i) { delay(100 + (((i * 2654435769u) >> 16) * (PHASES / 2) >> 16)); }

/* Until the clock is at a multiple of PHASES, but for a cycle or two; `more` of these later. */
static inline void align(unsigned more) { delay((PHASES - now() % PHASES + (uint64_t)more * PHASES) / 2); }

static inline void fail(const char *what)
{
    printf("rank %u: %s\n", nes.rank, what);
    exit(1);
}

static inline void open_nes(void)
{
    if (!nes_open(&nes)) {
        fputs("there is no NES here\n", stderr);
        exit(2);
    }
    if (nes.ranks < 2)
        fail("there must be 2 ranks");
}

/* An argument that says how many samples to take. */
static inline unsigned read_count(int argc, char **argv, int at)
{
    int count = argc > at ? atoi(argv[at]) : 0;
    if (count < 4 || count > COUNT_MAX)
        fail("TRIPS and STREAM must be 4 to 128");
    return (unsigned)count;
}

/* --- tokens, between what is measured ---------------------------------------------------------------- */

/* What was stored before is in memory before the other rank sends its data. */
static inline void tell(uint32_t rank)
{
    nes_fence();
    while (!nes_express_send(&nes, TOKENS, rank, 0, 0))
        nes_pause();
}

static inline void await_token(void)
{
    while (nes_express_receive(&nes, TOKENS) == NES_EMPTY)
        nes_pause();
}

/* Ranks 0 and 1 have both come here. */
static inline void meet(void)
{
    tell(1 - nes.rank);
    await_token();
}

/* --- a lock: load-reserved and store-conditional, as on the 604 --------------------------------------- */

static inline bool try_lock(volatile uint32_t *lock)
{
    uint32_t old, failed = 1;
    __asm__ volatile("lr.w.aq %0, (%2)\n bnez %0, 1f\n sc.w %1, %3, (%2)\n1:"
                     : "=&r"(old), "+&r"(failed)
                     : "r"(lock), "r"(1)
                     : "memory");
    return !failed;
}

static inline void lock(volatile uint32_t *lock)
{
    while (!try_lock(lock))
        while (*lock)
            nes_pause();
}

/* The holder's stores to the NES come first: else the next holder's might overtake them. */
static inline void unlock(volatile uint32_t *lock)
{
    __asm__ volatile("fence orw, w" : : : "memory");
    *lock = 0;
}

/* --- Basic messages, aligned by 8, of which both sides know the length --------------------------------- */

ALWAYS_INLINE bool post_basic(uint32_t destination, const void *data, size_t bytes)
{
    void *place = nes_basic_place(&nes);
    if (!place)
        return false;
    nes_copy(place, data, bytes);
    nes_basic_post(&nes, destination, bytes);
    return true;
}

ALWAYS_INLINE bool take_basic(void *data, size_t bytes)
{
    const struct chasqui_voyager_slot *slot = nes_basic_oldest(&nes);
    if (!slot)
        return false;
    nes_copy(data, nes_slot_data(slot), bytes);
    nes_basic_release(&nes, bytes);
    return true;
}

/* --- samples ------------------------------------------------------------------------------------------ */

static __attribute__((noinline)) uint64_t clock_cycles(void)
{
    uint64_t from = now();
    return now() - from;
}

/* What one rdcycle adds to the time between two, once its code is in the cache. */
static inline void print_clock(void)
{
    clock_cycles();
    printf("clock 0 %llu\n", (unsigned long long)clock_cycles());
}

/* Under the name OF/WHAT. */
static inline void print_samples(const char *of, const char *what, uint32_t key, const uint64_t *samples,
                                 uint32_t count)
{
    printf("%s/%s %u", of, what, key);
    for (uint32_t i = 0; i < count; i++)
        printf(" %llu", (unsigned long long)samples[i]);
    putchar('\n');
}

/* --- messages of ranks 0 and 1 -------------------------------------------------------------------------- */

/* How a program's messages go; `by` is its own number of a mechanism. Either the compiler knows all of it where a
 * measurement is called, or between two readings of the clock stands the call of a function that knows it. */
struct transport {
    void (*send)(int by, size_t bytes, uint32_t word); /* `word`: different each time */
    void (*receive)(int by, size_t bytes);             /* waits for one by wait_turn */
};

static _Thread_local bool waited;

static inline void wait_turn(void)
{
    waited = true;
    nes_pause();
}

/* What was measured last [cycles]: durations, and moments. */
static struct {
    uint64_t overhead[COUNT_MAX], left[COUNT_MAX], came[COUNT_MAX], streamed[COUNT_MAX];
} measured;

/* Rank 0 sends into queues that are idle; rank 1 takes what has been there for a while. */
ALWAYS_INLINE void overheads(struct transport transport, int by, size_t bytes)
{
    for (unsigned i = 0; i < trips; i++) {
        if (nes.rank == 0) {
            await_token();
            delay(SETTLE);
            vary(i);
            uint64_t from = now();
            transport.send(by, bytes, i);
            measured.overhead[i] = now() - from;
        } else {
            tell(0);
            delay(3 * SETTLE + 8 * bytes);
            vary(i);
            waited = false;
            uint64_t from = now();
            transport.receive(by, bytes);
            measured.overhead[i] = now() - from;
            if (waited)
                fail("a message had not come when its reception was timed");
        }
    }
}

/* To and fro. The receiver begins to poll at a multiple of PHASES, the sender sends so much behind one as `vary` says,
 * whenever what came before did: so every moment of the loop that polls has the same weight. */
ALWAYS_INLINE void ping_pong(struct transport transport, int by, size_t bytes)
{
    for (unsigned i = 0; i < 2 * trips; i++) {
        if (i % 2 == nes.rank) {
            align(1);
            vary(i / 2);
            uint64_t from = now();
            transport.send(by, bytes, i);
            measured.left[i / 2] = from; /* not before: the line may be missing, and would hold up what is sent */
        } else {
            align(0);
            transport.receive(by, bytes);
            measured.came[i / 2] = now();
        }
    }
}

ALWAYS_INLINE void streaming(struct transport transport, int by, size_t bytes)
{
    if (nes.rank == 1)
        tell(0);
    else
        await_token();
    for (unsigned i = 0; i < stream; i++) {
        if (nes.rank == 0)
            transport.send(by, bytes, i);
        else
            transport.receive(by, bytes);
        measured.streamed[i] = now();
    }
}

static inline void print_measured(const char *of, uint32_t key)
{
    print_samples(of, "overhead", key, measured.overhead, trips);
    print_samples(of, "left", key, measured.left, trips);
    print_samples(of, "came", key, measured.came, trips);
    print_samples(of, "stream", key, measured.streamed, stream);
}

#endif
