/* The card as the network processor sees it. */
#ifndef CARD_H
#define CARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "np.h"
#include "registers.h"

#define DEVICE 0x40000000u /* FIRMWARE_DEVICE of crates/ni */
#define MEMORY 0x80000000u /* FIRMWARE_MEMORY: the card's memory from address 0 on */

static inline uint64_t np_load(uint64_t address) { return *(volatile uint64_t *)(DEVICE + address); }
static inline void np_store(uint64_t address, uint64_t value) { *(volatile uint64_t *)(DEVICE + address) = value; }

/* Address in the card's memory, as engines have it. */
static inline uint64_t local(const volatile void *pointer) { return (uintptr_t)pointer - MEMORY; }
static inline void *at(uint64_t local) { return (void *)(uintptr_t)(MEMORY + local); }

/* Names the message that the engine started next carries, for the records: by its envelope. */
static inline void carry(const volatile void *envelope)
{
    __asm__ volatile("slti x0, %0, %1" : : "r"(envelope), "i"((int)CHASQUI_MARK_CARRY));
}

/* For the records: a request has been taken, or a message has met its receive. */
#define MARK_TAKEN(envelope) \
    __asm__ volatile("slti x0, %0, %1" : : "r"(envelope), "i"((int)CHASQUI_MARK_TAKEN) : "memory")
#define MARK_MATCHED(envelope) \
    __asm__ volatile("slti x0, %0, %1" : : "r"(envelope), "i"((int)CHASQUI_MARK_MATCH) : "memory")

/* ... and something has happened that is counted: a collective of that kind has begun, or NP_COUNT_. */
#define MARK_COUNT(what) __asm__ volatile("slti x0, %0, %1" : : "r"((uint64_t)(what)), "i"((int)CHASQUI_MARK_PROTOCOL))

/* Stops the simulation with a message that names this place. */
static inline void check(bool right)
{
    if (!right)
        __builtin_trap();
}

#endif
