/* Shared memory of the host's test device. */
#ifndef CHASQUI_NATIVE_H
#define CHASQUI_NATIVE_H

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

static inline size_t native_memory_bytes(size_t ranks) { return ranks * ranks * sizeof(struct native_ring); }

long native_setting(const char *name, long otherwise);

#endif
