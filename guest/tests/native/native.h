/* Shared memory of the host's test device. */
#ifndef CHASQUI_NATIVE_H
#define CHASQUI_NATIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"

enum { NATIVE_DEVICE_ID = 9999, NATIVE_SLOTS_MAX = 64, NATIVE_PAYLOAD_MAX = 4096 };

/* One packet on its way. */
struct native_slot {
    struct chasqui_envelope envelope;
    uint64_t address; /* Of a piece of a put; 0: an arrival. */
    uint64_t bytes;
    uint8_t payload[NATIVE_PAYLOAD_MAX];
};

/* Packets from one process to one other. */
struct native_ring {
    uint64_t written __attribute__((aligned(64)));
    uint64_t read __attribute__((aligned(64)));
    struct native_slot slots[NATIVE_SLOTS_MAX];
};

/* Where the processes of a collective in hardware meet (collective.c). */
enum { NATIVE_UNITS = 512, NATIVE_UNIT_BYTES = 64 };
struct native_unit {
    uint32_t number; /* Of the operation among those of its name, from 1; 0: the unit is free. */
    uint32_t context, tag, first; /* The name. */
    uint32_t arrived, left, filled;
    uint8_t payload[NATIVE_UNIT_BYTES];
};
struct native_units {
    uint32_t locked;
    struct native_unit units[NATIVE_UNITS];
};

/* Rings for each pair of processes, then the units. */
static inline size_t native_rings_bytes(size_t ranks) { return ranks * ranks * sizeof(struct native_ring); }
static inline size_t native_memory_bytes(size_t ranks)
{
    return native_rings_bytes(ranks) + sizeof(struct native_units);
}

/* What the processes of a node share: rings of cells that hold less than most messages (local/local.c). */
enum { NATIVE_LOCAL_RING_BYTES = 2048 };
static inline size_t native_local_bytes(size_t ranks_per_node)
{
    return (ranks_per_node * ranks_per_node * NATIVE_LOCAL_RING_BYTES + 4095) / 4096 * 4096;
}
/* Behind what all share, of each node; a node has no more processes than there are ranks. */
static inline size_t native_local_at(size_t ranks, size_t node)
{
    return (native_memory_bytes(ranks) + 4095) / 4096 * 4096 + node * native_local_bytes(ranks);
}

struct mpi_collective;
struct request;
void native_collective_open(struct native_units *shared);
void native_collective_poll(void);
bool native_collective_is_under_way(void);
bool native_collective(const struct mpi_collective *what, struct request *request);

struct transport;
extern const struct transport native_linear; /* linear.c */

long native_setting(const char *name, long otherwise);

#endif
