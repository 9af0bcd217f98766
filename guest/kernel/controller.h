/* The node's interrupt controller, for drivers (chasqui/interrupts.h, a subset of RISC-V's PLIC).
 *
 * Left alone it gives the first hart's supervisor level all lines as one, and driver->interrupt() is called while one is
 * asserted. A driver whose device has several lines asks there which: interrupt_claim(), until it is 0, deals with each, and
 * interrupt_complete(). Sources are numbered from 1 on: the device's line n is source n + 1. */
#ifndef CONTROLLER_H
#define CONTROLLER_H

#include <chasqui/interrupts.h>

#include "kernel.h"

static inline volatile uint32_t *controller_register(uint64_t address)
{
    return (volatile uint32_t *)(CHASQUI_KERNEL_CONTROLLER + address);
}

/* Of supervisor level of a hart. */
static inline uint64_t interrupt_context(uint64_t hart) { return 2 * hart; }

/* 0 to 7; 0: it never interrupts. */
static inline void interrupt_set_priority(uint32_t source, uint32_t priority)
{
    *controller_register(CHASQUI_INTERRUPTS_PRIORITY + 4 * source) = priority;
}

/* Whether it interrupts the hart. */
static inline void interrupt_enable(uint32_t source, uint64_t hart, bool enabled)
{
    uint64_t address = CHASQUI_INTERRUPTS_ENABLE + interrupt_context(hart) * CHASQUI_INTERRUPTS_ENABLE_STRIDE;
    volatile uint32_t *bits = controller_register(address + source / 32 * 4);
    uint32_t bit = 1u << source % 32;
    *bits = enabled ? *bits | bit : *bits & ~bit;
}

/* Sources of at most this priority do not interrupt the hart. */
static inline void interrupt_set_threshold(uint64_t hart, uint32_t priority)
{
    *controller_register(CHASQUI_INTERRUPTS_THRESHOLD + interrupt_context(hart) * CHASQUI_INTERRUPTS_CONTEXT_STRIDE) =
        priority;
}

/* Of those that interrupt the hart the source of the highest priority, which is no longer pending; 0: there is none. */
static inline uint32_t interrupt_claim(uint64_t hart)
{
    return *controller_register(CHASQUI_INTERRUPTS_CLAIM + interrupt_context(hart) * CHASQUI_INTERRUPTS_CONTEXT_STRIDE);
}

/* It has been dealt with, and may interrupt again. */
static inline void interrupt_complete(uint64_t hart, uint32_t source)
{
    *controller_register(CHASQUI_INTERRUPTS_CLAIM + interrupt_context(hart) * CHASQUI_INTERRUPTS_CONTEXT_STRIDE) =
        source;
}

#endif
