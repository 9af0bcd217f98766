/* Generated from machines/netcache/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_NETCACHE_REGISTERS_H
#define CHASQUI_NETCACHE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_NETCACHE_INTERFACE 0x77fad428u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_NETCACHE_DEVICE 0x3ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_NETCACHE_REGION_REGISTERS 0x0ull /* Region: registers, uncached. */
#define CHASQUI_NETCACHE_REGION_NETWORK 0x1ull /* Region: network memory, for nload and nstore. */
#define CHASQUI_NETCACHE_REGION_WINDOW 0x2ull /* Region: the same memory by uncached accesses. */
#define CHASQUI_NETCACHE_TRANSMIT_BASE 0x0ull /* Register, stored: virtual address of the transmit ring. */
#define CHASQUI_NETCACHE_ARRIVAL_BASE 0x8ull /* Register, stored: virtual address of the ring of arrivals. */
#define CHASQUI_NETCACHE_BUFFER_BASE 0x10ull /* Register, stored: virtual address of the buffers of payload (policy `POLICY_BUFFER`); an arrival has the one of its */
#define CHASQUI_NETCACHE_TRANSMIT_PRODUCER 0x18ull /* Register, stored: slots composed in the transmit ring. */
#define CHASQUI_NETCACHE_TRANSMIT_CONSUMER 0x20ull /* Register, loaded: slots that the NIC is done with. */
#define CHASQUI_NETCACHE_ARRIVAL_CONSUMER 0x28ull /* Register, stored: arrivals that the processor is done with. */
#define CHASQUI_NETCACHE_BUFFER 0x30ull /* Register, stored: the buffer, by its number in the low half, that the place among the arrivals has from now on whose */
#define CHASQUI_NETCACHE_RELEASE 0x38ull /* Register, stored: the buffer at this offset in network memory is free. */
#define CHASQUI_NETCACHE_DELIVER_TO 0x40ull /* Register, stored: virtual address to which the next delivery goes. */
#define CHASQUI_NETCACHE_DELIVER_BYTES 0x48ull /* Register, stored: its length [bytes]. */
#define CHASQUI_NETCACHE_LISTEN 0x50ull /* Register, stored: 1: messages that only their names lead to are entered among the arrivals from now on, those that */
#define CHASQUI_NETCACHE_DELIVER_FROM 0x58ull /* Register, stored: the offset in network memory from which it comes; it begins, and frees the buffer at its end. */
#define CHASQUI_NETCACHE_DELIVERED 0x60ull /* Register, loaded: deliveries that are over. */
#define CHASQUI_NETCACHE_SLOT_BYTES 0x800ull /* Bytes of a slot of the transmit ring: a header and the data of a message that isn't long. */
#define CHASQUI_NETCACHE_SLOT_DATA_BYTES 0x7b0ull /* Longest such data [bytes]. */
#define CHASQUI_NETCACHE_ELEMENT_BYTES 0x10ull /* Granularity of network memory, and a line of the network cache [bytes]. */
#define CHASQUI_NETCACHE_FLAG_PUT 0x1ull /* Flag of a slot: a block, `bytes` from address `from` to address `to` at the destination; the envelope follows it. */
#define CHASQUI_NETCACHE_FLAG_NAMED 0x2ull /* Flag of a slot: the envelope's source and sequence name the message and no other. */
#define CHASQUI_NETCACHE_FLAG_BUFFER 0x4ull /* Flag of an arrival: its payload is in a buffer of network memory. */
#define CHASQUI_NETCACHE_FLAG_CACHED 0x8ull /* Flag of an arrival: and was put into the network cache, by its source and sequence (`remap`) and by its envelope and */
#define CHASQUI_NETCACHE_ORDINAL_ENTERED 0x80000000ull /* In an ordinal: no receive asks for the message by its name, and it is entered among the arrivals at once. */
#define CHASQUI_NETCACHE_ORDINAL_COUNT 0x7fffffffull /* Those bits of an ordinal that count. */
#define CHASQUI_NETCACHE_SETTING_POLICY 0x0ull /* Setting: how messages are received, `POLICY_*`. */
#define CHASQUI_NETCACHE_SETTING_EAGER 0x1ull /* Setting: longest message that goes without rendezvous [bytes]. */
#define CHASQUI_NETCACHE_SETTING_SLOTS 0x2ull /* Setting: slots of the transmit ring, a power of two. */
#define CHASQUI_NETCACHE_SETTING_ARRIVALS 0x3ull /* Setting: arrivals that their ring holds, a power of two. */
#define CHASQUI_NETCACHE_SETTING_HELD 0x4ull /* Setting: bytes of network memory that messages may hold which wait for their receive. */
#define CHASQUI_NETCACHE_SETTING_NAMED 0x5ull /* Setting: receives that may wait for their messages by name at a time. */
#define CHASQUI_NETCACHE_SETTING_SPARE 0x6ull /* Setting: buffers beside one for each arrival. */
#define CHASQUI_NETCACHE_SETTING_LONGEST 0x7ull /* Setting: longest message that goes to the network cache, and may be found by its name [bytes]. */
#define CHASQUI_NETCACHE_POLICY_PROCESSOR 0x0ull /* The processor copies from the NIC's memory. */
#define CHASQUI_NETCACHE_POLICY_BUFFER 0x1ull /* The NIC writes to buffers in main memory, from which the processor copies. */
#define CHASQUI_NETCACHE_POLICY_DIRECT 0x2ull /* The NIC writes to where the program wants it, once that is known. */
#define CHASQUI_NETCACHE_POLICY_CACHE 0x3ull /* Short messages go through the network cache, the others as by `POLICY_DIRECT`. */

/* Whether packets of this kind and context are messages that sender and receiver count, by envelope. */
static inline bool chasqui_netcache_is_counted(uint64_t kind, uint64_t context)
{
    return kind <= (uint64_t)(CHASQUI_PACKET_LAST_MESSAGE) && chasqui_context_is_lasting(context);
}
/* The ordinal of the message of this kind that is number `count` of its envelope, from 1 on. */
static inline uint32_t chasqui_netcache_ordinal(uint64_t kind, uint32_t count)
{
    return (kind == (uint64_t)(CHASQUI_PACKET_EAGER)) ? (count & CHASQUI_NETCACHE_ORDINAL_COUNT) : ((count & CHASQUI_NETCACHE_ORDINAL_COUNT) | CHASQUI_NETCACHE_ORDINAL_ENTERED);
}

struct chasqui_netcache_slot {
    struct chasqui_envelope envelope; /* The message's envelope. */
    uint64_t from; /* Virtual address of a block. */
    uint64_t to; /* Where it goes, at the destination. */
    uint64_t bytes; /* Length of the data, or of the block [bytes]. */
    uint32_t flags; /* `FLAG_*`. */
    uint32_t ordinal; /* Its number among the messages from here to there with its context and tag, from 1 on, and `ORDINAL_ENTERED`. */
    uint32_t reserved[2]; /* Zero: the data begin at a multiple of 16. */
};
_Static_assert(sizeof(struct chasqui_netcache_slot) == 80, "chasqui_netcache_slot");
_Static_assert(offsetof(struct chasqui_netcache_slot, envelope) == 0, "chasqui_netcache_slot.envelope");
_Static_assert(offsetof(struct chasqui_netcache_slot, from) == 40, "chasqui_netcache_slot.from");
_Static_assert(offsetof(struct chasqui_netcache_slot, to) == 48, "chasqui_netcache_slot.to");
_Static_assert(offsetof(struct chasqui_netcache_slot, bytes) == 56, "chasqui_netcache_slot.bytes");
_Static_assert(offsetof(struct chasqui_netcache_slot, flags) == 64, "chasqui_netcache_slot.flags");
_Static_assert(offsetof(struct chasqui_netcache_slot, ordinal) == 68, "chasqui_netcache_slot.ordinal");
_Static_assert(offsetof(struct chasqui_netcache_slot, reserved) == 72, "chasqui_netcache_slot.reserved");

struct chasqui_netcache_arrival {
    struct chasqui_envelope envelope; /* Its envelope. */
    uint32_t buffer; /* Offset of its payload in network memory, if `FLAG_BUFFER` says so; by `POLICY_BUFFER` its buffer's number. */
    uint32_t bytes; /* Length of its payload [bytes]. */
    uint32_t ordinal; /* Its slot's. */
    uint32_t reserved; /* Zero. */
    uint32_t flags; /* `FLAG_*`. */
    uint32_t number; /* Number of the arrival, from 1 on: the arrival is here. Written last. */
};
_Static_assert(sizeof(struct chasqui_netcache_arrival) == 64, "chasqui_netcache_arrival");
_Static_assert(offsetof(struct chasqui_netcache_arrival, envelope) == 0, "chasqui_netcache_arrival.envelope");
_Static_assert(offsetof(struct chasqui_netcache_arrival, buffer) == 40, "chasqui_netcache_arrival.buffer");
_Static_assert(offsetof(struct chasqui_netcache_arrival, bytes) == 44, "chasqui_netcache_arrival.bytes");
_Static_assert(offsetof(struct chasqui_netcache_arrival, ordinal) == 48, "chasqui_netcache_arrival.ordinal");
_Static_assert(offsetof(struct chasqui_netcache_arrival, reserved) == 52, "chasqui_netcache_arrival.reserved");
_Static_assert(offsetof(struct chasqui_netcache_arrival, flags) == 56, "chasqui_netcache_arrival.flags");
_Static_assert(offsetof(struct chasqui_netcache_arrival, number) == 60, "chasqui_netcache_arrival.number");

#endif
