/* What an Express message says, as the device reads it. */
#ifndef CHASQUI_VOYAGER_EXPRESS_H
#define CHASQUI_VOYAGER_EXPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "registers.h"

enum { EXTRA_MASK = (1 << CHASQUI_VOYAGER_EXPRESS_EXTRA_BITS) - 1 };

/* An Express message's five bits. */
static inline uint32_t extra_of(uint64_t message)
{
    return message >> 32 & EXTRA_MASK;
}

static inline bool is_express(uint64_t message)
{
    return message != CHASQUI_VOYAGER_EXPRESS_EMPTY && !(message & 7ull << CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT);
}

static inline uint32_t source_of(uint64_t message)
{
    return (uint16_t)(message >> CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT);
}

#endif
