/* What Express messages of the MPI device say, and what is tagged on to them. */
#ifndef CHASQUI_VOYAGER_EXPRESS_H
#define CHASQUI_VOYAGER_EXPRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/device.h"
#include "registers.h"

enum { EXTRA_MASK = (1 << CHASQUI_VOYAGER_EXPRESS_EXTRA_BITS) - 1 };

/* Another process. A power of two in size: it is found by a shift. */
struct peer {
    /* As a receiver. */
    uint32_t shape_sent;   /* Context and tag of the last message that went to it by Express alone. */
    uint32_t last;         /* Its last message: if `behind` in slots composed, else in Express messages stored. */
    uint16_t express_sent; /* MPI messages that went to it by Express or Tag-On. */
    uint16_t basic_sent;   /* Likewise by Basic. */
    bool behind;           /* The last one went by Basic. */
    /* As a sender. */
    uint8_t begun;          /* Length of the message of which the first half, `word`, has come; 0: none. */
    uint16_t express_taken; /* MPI messages that have come by Express or Tag-On. */
    uint16_t basic_taken;   /* Likewise by Basic. */
    uint32_t word;
    uint64_t shape; /* Context and tag of its messages by Express alone: an envelope's first and third half-words. */
};

_Static_assert(sizeof(struct peer) == 32, "peer");

/* An Express message's five bits. */
static inline uint32_t extra_of(uint64_t message) { return message >> 32 & EXTRA_MASK; }

static inline bool is_express(uint64_t message)
{
    return message != CHASQUI_VOYAGER_EXPRESS_EMPTY && !(message & 3ull << CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT);
}

static inline uint32_t source_of(uint64_t message)
{
    return message >> CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT & ((1u << CHASQUI_VOYAGER_EXPRESS_SOURCE_BITS) - 1);
}

/* Something was tagged on. */
static inline bool is_tagged(uint64_t message)
{
    const uint64_t others = 0xf & ~CHASQUI_VOYAGER_CAME_ALONE;
    return message & others << CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT;
}

/* Context and tag as an Express message tells them; they fit if shape_fits. */
static inline uint32_t shape_of(const struct chasqui_envelope *envelope)
{
    return (uint32_t)envelope->context << CHASQUI_VOYAGER_MPI_TAG_BITS | (uint32_t)envelope->tag;
}

static inline bool shape_fits(const struct chasqui_envelope *envelope)
{
    return envelope->kind == CHASQUI_PACKET_EAGER && (uint32_t)envelope->tag >> CHASQUI_VOYAGER_MPI_TAG_BITS == 0 &&
           envelope->context >> (32 - CHASQUI_VOYAGER_MPI_TAG_BITS) == 0;
}

/* What an Express message tells of context and tag, as `peer` keeps it. */
static inline uint64_t shape_of_word(uint32_t word)
{
    uint64_t context = word >> CHASQUI_VOYAGER_MPI_TAG_BITS;
    return context << 48 | (word & ((1u << CHASQUI_VOYAGER_MPI_TAG_BITS) - 1));
}

/* What goes before the payload where data are tagged on. */
static inline void put_head(uint64_t *data, const struct chasqui_envelope *envelope, size_t head)
{
    __builtin_memcpy(data, envelope, CHASQUI_VOYAGER_MPI_TAGGED_HEAD);
    if (head == sizeof *envelope)
        __builtin_memcpy(data + 2, &envelope->bytes, sizeof *envelope - CHASQUI_VOYAGER_MPI_TAGGED_HEAD);
}

#endif
