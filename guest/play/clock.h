/* Computation: the hart is busy for as long as the trace says, by its counter of cycles.
 *
 * What a rank computes lasts from the end of its last call of MPI, or of what it computed before, so that the time between
 * two calls is the trace's: what the player itself needs between them is part of it, unless that is longer. */
#ifndef CHASQUI_PLAY_CLOCK_H
#define CHASQUI_PLAY_CLOCK_H

#include <stdint.h>

/* `hz`: the hart's frequency. */
void clock_begin(uint64_t hz);

static inline uint64_t clock_cycles(void)
{
    uint64_t cycles;
    __asm__ volatile("rdcycle %0" : "=r"(cycles) : : "memory");
    return cycles;
}

/* Cycles that so many picoseconds are; what is lost of one is added to the next. */
uint64_t clock_cycles_of(uint64_t ps);

/* Is busy until then. */
void clock_wait_until(uint64_t cycle);

#endif
