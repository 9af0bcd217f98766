/* Where the part of a program begins and ends that is to be simulated in detail: everything before
 * it is only executed, if the run is started with `chasqui run --fast-forward`. Otherwise, and on a
 * real machine, these do nothing. MPI_Pcontrol(1) and MPI_Pcontrol(0) are the same. */
#ifndef CHASQUI_REGION_H
#define CHASQUI_REGION_H

#include "chasqui/abi.h"

/* A level of 0 ends the part of interest, any other begins it. */
static inline void chasqui_region(long level)
{
#if defined(__riscv)
    __asm__ volatile("slti x0, %0, %1" : : "r"(level), "i"((int)CHASQUI_MARK_REGION) : "memory");
#else
    (void)level;
#endif
}

static inline void chasqui_region_begin(void) { chasqui_region(1); }

static inline void chasqui_region_end(void) { chasqui_region(0); }

#endif
