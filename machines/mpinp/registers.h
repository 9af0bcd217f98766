/* Generated from machines/mpinp/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_MPINP_REGISTERS_H
#define CHASQUI_MPINP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_MPINP_INTERFACE 0x24d85776u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_MPINP_DEVICE 0x6ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_MPINP_REGION_WINDOW 0x0ull /* Region: the process's window of the card's memory, uncached. */
#define CHASQUI_MPINP_REGION_HOST 0x1ull /* Region: the process's memory on the host that the card writes. */
#define CHASQUI_MPINP_DOORBELL 0xff8ull /* Offset in the window of its doorbell: a store to it, of whatever, is an event of the network processor's. */
#define CHASQUI_MPINP_SETTING_WINDOW_BYTES 0x0ull /* Setting: bytes of the window. */
#define CHASQUI_MPINP_SETTING_HOST_BYTES 0x1ull /* Setting: bytes of the memory on the host. */
#define CHASQUI_MPINP_SLOT_BYTES 0x400ull /* Bytes from one slot of a window to the next, and of the rings on the host. The first page of both is for control. */
#define CHASQUI_MPINP_SLOT_DATA_BYTES 0x3b8ull /* Longest data of a message in a slot [bytes]. */
#define CHASQUI_MPINP_HOST_SENT 0x0ull /* Offset in the memory on the host of the count of slots of the window that have been sent. */

struct chasqui_mpinp_slot {
    uint32_t node; /* Node that the message goes to. */
    uint32_t bytes; /* Bytes that follow, those of the message with its end. */
};
_Static_assert(sizeof(struct chasqui_mpinp_slot) == 8, "chasqui_mpinp_slot");
_Static_assert(offsetof(struct chasqui_mpinp_slot, node) == 0, "chasqui_mpinp_slot.node");
_Static_assert(offsetof(struct chasqui_mpinp_slot, bytes) == 4, "chasqui_mpinp_slot.bytes");

struct chasqui_mpinp_end {
    struct chasqui_envelope envelope; /* The envelope. */
    uint32_t bytes; /* Length of the data [bytes]. */
    uint16_t process; /* Process, of its node, that the message goes to. */
    uint16_t source; /* Rank that sends it. */
    uint32_t credit; /* Messages of the receiver that the sender has done with, of all. */
    uint32_t counts; /* 1: it brings an envelope; 0: credit alone. */
    uint64_t number; /* Number of the message among all that have come to the process, from 1 on: the network processor's. */
};
_Static_assert(sizeof(struct chasqui_mpinp_end) == 64, "chasqui_mpinp_end");
_Static_assert(offsetof(struct chasqui_mpinp_end, envelope) == 0, "chasqui_mpinp_end.envelope");
_Static_assert(offsetof(struct chasqui_mpinp_end, bytes) == 40, "chasqui_mpinp_end.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_end, process) == 44, "chasqui_mpinp_end.process");
_Static_assert(offsetof(struct chasqui_mpinp_end, source) == 46, "chasqui_mpinp_end.source");
_Static_assert(offsetof(struct chasqui_mpinp_end, credit) == 48, "chasqui_mpinp_end.credit");
_Static_assert(offsetof(struct chasqui_mpinp_end, counts) == 52, "chasqui_mpinp_end.counts");
_Static_assert(offsetof(struct chasqui_mpinp_end, number) == 56, "chasqui_mpinp_end.number");

#endif
