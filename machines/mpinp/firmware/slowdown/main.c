/* Firmware of experiments/np_slowdown.py: how long a piece of code takes while engines move blocks. It has nothing to do with
 * messages: a program tells it by its window which engines are to be busy (slowdown.h).
 *
 * On node 0 each round starts the engines that are wanted, a block each that is longer than the code takes, and executes the
 * code: instructions of which some load a word. Of the engines' own pace a round without code tells. Node 1 takes what node 0
 * sends, and sends what it receives.
 */
#include "card.h"
#include "slowdown.h"

#define BLOCK SLOWDOWN_BLOCK_BYTES

enum { TO_THE_HOST, TO_THE_WIRE, FROM_THE_WIRE, AREAS };
static char areas[AREAS][BLOCK];
static struct slowdown_results results;
static uint64_t host; /* physical address of the process's memory there */
static uint32_t word; /* what the code loads */

static uint32_t now(void) { return (uint32_t)np_load(CHASQUI_NP_TIME); }

/* Four instructions at a time, of which the first load. */
#define CODE(four)                                                                           \
    __asm__ volatile(".option push\n.option norvc\nli t1, %1\n0:\n.rept %2\n" four           \
                     ".endr\naddi t1, t1, -1\nbnez t1, 0b\n"                                 \
                     ".option pop"                                                           \
                     :                                                                       \
                     : "r"(&word), "i"(SLOWDOWN_PASSES), "i"(SLOWDOWN_PASS_INSTRUCTIONS / 4) \
                     : "t0", "t1", "t2")
#define LOADS "lw t0, 0(%0)\n"
#define ADDS "addi t2, t2, 1\n"

static void execute(unsigned loads)
{
    switch (loads) {
    case 0: CODE(ADDS ADDS ADDS ADDS); break;
    case 1: CODE(LOADS ADDS ADDS ADDS); break;
    case 2: CODE(LOADS ADDS LOADS ADDS); break;
    case 3: CODE(LOADS LOADS LOADS ADDS); break;
    default: CODE(LOADS LOADS LOADS LOADS); break;
    }
}

static void start_host(bool to_host)
{
    np_store(CHASQUI_NP_HOST_ADDRESS, host + SLOWDOWN_HOST_BLOCK);
    np_store(CHASQUI_NP_HOST_LOCAL, local(areas[TO_THE_HOST]));
    np_store(CHASQUI_NP_HOST_START, BLOCK | (to_host ? CHASQUI_NP_HOST_TO_HOST : 0));
}

static void start_sender(void)
{
    np_store(CHASQUI_NP_SEND_TO, 1 - np_load(CHASQUI_NP_SETTING_NODE));
    np_store(CHASQUI_NP_SEND_LOCAL, local(areas[TO_THE_WIRE]));
    np_store(CHASQUI_NP_SEND_START, BLOCK | CHASQUI_NP_SEND_LAST);
}

static void start_receiver(void)
{
    np_store(CHASQUI_NP_RECEIVE_LOCAL, local(areas[FROM_THE_WIRE]));
    np_store(CHASQUI_NP_RECEIVE_START, BLOCK);
}

/* Until all of `events` have happened; `ends` gets when each of SLOWDOWN_ENGINES did. */
static void await(uint64_t events, uint32_t began, uint32_t *ends)
{
    while (events) {
        uint64_t event = np_load(CHASQUI_NP_EVENT) & events;
        uint32_t time = now() - began;
        for (unsigned engine = 0; engine < SLOWDOWN_ENGINES; engine++)
            if (event >> engine & 1)
                ends[engine] = time;
        events &= ~event;
    }
}
_Static_assert(CHASQUI_NP_EVENT_HOST == 1 && CHASQUI_NP_EVENT_SENT == 2 && CHASQUI_NP_EVENT_RECEIVED == 4 &&
                   CHASQUI_NP_BUSY_HOST == 1 && CHASQUI_NP_BUSY_SEND == 2 && CHASQUI_NP_BUSY_RECEIVE == 4,
               "an engine's bits");

/* The engines' events, of which a blocked sender has none. */
static uint64_t start_engines(uint32_t wanted)
{
    uint64_t events = 0;
    if (wanted & SLOWDOWN_RECEIVER) {
        start_receiver();
        events |= CHASQUI_NP_EVENT_RECEIVED;
    }
    if (wanted & SLOWDOWN_SENDER) {
        start_sender();
        events |= CHASQUI_NP_EVENT_SENT;
    }
    if (wanted & (SLOWDOWN_TO_HOST | SLOWDOWN_FROM_HOST)) {
        start_host(wanted & SLOWDOWN_TO_HOST);
        events |= CHASQUI_NP_EVENT_HOST;
    }
    return events;
}

/* The code begins some clocks later each time, when engines are at work. */
static void wait(unsigned time)
{
    for (volatile unsigned i = 0; i < 20 + time; i++)
        ;
}

static void round(uint32_t wanted, unsigned loads, unsigned time)
{
    uint32_t began = now();
    uint64_t events = start_engines(wanted);
    uint32_t start = now() - began;
    if (start > results.start)
        results.start = start;
    wait(time);
    uint32_t before = now();
    execute(loads);
    results.clocks[loads][time] = now() - before;
    results.idle |= (uint32_t)(events & ~np_load(CHASQUI_NP_BUSY));
    uint32_t ends[SLOWDOWN_ENGINES];
    await(events, before, ends);
}

static void measure(uint32_t wanted)
{
    if (wanted & SLOWDOWN_BLOCKED)
        start_sender();
    for (unsigned loads = 0; loads <= SLOWDOWN_LOADS_MAX; loads++)
        for (unsigned time = 0; time < SLOWDOWN_TIMES; time++)
            round(wanted, loads, time);
    uint32_t began = now();
    await(start_engines(wanted), began, results.ends);
    results.is_there = 1;
    np_store(CHASQUI_NP_HOST_ADDRESS, host);
    np_store(CHASQUI_NP_HOST_LOCAL, local(&results));
    np_store(CHASQUI_NP_HOST_START, sizeof results | CHASQUI_NP_HOST_TO_HOST);
}

/* The other node: as many blocks as there are rounds. */
static void serve(uint32_t wanted)
{
    uint32_t ends[SLOWDOWN_ENGINES];
    uint32_t mine =
        (wanted & SLOWDOWN_SENDER ? SLOWDOWN_RECEIVER : 0) | (wanted & SLOWDOWN_RECEIVER ? SLOWDOWN_SENDER : 0);
    for (unsigned i = 0; i <= (SLOWDOWN_LOADS_MAX + 1) * SLOWDOWN_TIMES; i++)
        await(start_engines(mine), 0, ends);
}

void _start(void)
{
    volatile uint32_t *window = at(np_load(CHASQUI_NP_SETTING_WINDOWS));
    host = np_load(CHASQUI_NP_SETTING_HOST_MEMORY);
    while (!(np_load(CHASQUI_NP_EVENT) & CHASQUI_NP_EVENT_DOORBELL))
        ;
    if (np_load(CHASQUI_NP_SETTING_NODE) == 0)
        measure(*window);
    else
        serve(*window);
    for (;;)
        np_load(CHASQUI_NP_EVENT);
}
