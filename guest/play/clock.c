#include "clock.h"

enum { DIVISIONS = 16 };

static uint64_t factor;    /* cycles in a picosecond, times 2^64 */
static uint64_t left;      /* of a cycle, times 2^64: what was not yet counted */
static uint64_t divisions; /* cycles that `divide` takes */

/* Passes time in few instructions: the simulator's host has the less to do. In registers alone. */
static void divide(void)
{
    uint64_t value = 1;
    for (int i = 0; i < DIVISIONS; i++)
        __asm__ volatile("divu %0, %0, %0" : "+r"(value));
}

void clock_begin(uint64_t hz)
{
    factor = (uint64_t)(((unsigned __int128)hz << 64) / 1000000000000u);
    for (int i = 0; i < 2; i++) { /* the second time its code is in the cache */
        uint64_t begin = clock_cycles();
        divide();
        divisions = clock_cycles() - begin;
    }
}

uint64_t clock_cycles_of(uint64_t ps)
{
    unsigned __int128 cycles = (unsigned __int128)ps * factor + left;
    left = (uint64_t)cycles;
    return (uint64_t)(cycles >> 64);
}

void clock_wait_until(uint64_t cycle)
{
    while ((int64_t)(cycle - clock_cycles()) > (int64_t)(2 * divisions))
        divide();
    while ((int64_t)(cycle - clock_cycles()) > 0)
        ;
}
