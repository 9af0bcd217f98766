/* Generated from machines/mpinp/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_MPINP_REGISTERS_H
#define CHASQUI_MPINP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_MPINP_INTERFACE 0xdf9b88e4u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_MPINP_DEVICE 0x6ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_MPINP_REGION_WINDOW 0x0ull /* Region: the process's window of the card's memory, uncached. */
#define CHASQUI_MPINP_REGION_HOST 0x1ull /* Region: the process's memory on the host that the card writes. */
#define CHASQUI_MPINP_DOORBELL 0xff8ull /* Offset in the window of its doorbell: a store to it, of whatever, is an event of the network processor's. */
#define CHASQUI_MPINP_SETTING_WINDOW_BYTES 0x0ull /* Setting: bytes of the window. */
#define CHASQUI_MPINP_SETTING_HOST_BYTES 0x1ull /* Setting: bytes of the memory on the host. */
#define CHASQUI_MPINP_SETTING_CREDIT 0x2ull /* Setting: messages that each process may have under way to each other one, until that says that it has done with them. */
#define CHASQUI_MPINP_SLOT_BYTES 0x400ull /* Bytes from one slot of a window to the next, and of the rings on the host. The first page of both is for control. */
#define CHASQUI_MPINP_SLOT_DATA_BYTES 0x3c0ull /* Longest data of a message in a slot [bytes]. */
#define CHASQUI_MPINP_HOST_SENT 0x0ull /* Offset in the memory on the host of the count of slots of the window that have been sent, 32 bits. What comes has a */

struct chasqui_mpinp_head {
    uint16_t node; /* The other node: to which it goes, or from which it comes. */
    uint16_t process; /* The other process, of its node. */
    uint16_t bytes; /* Length of the data [bytes]; what follows them is aligned to 8 bytes. */
    uint16_t to; /* The process of this node to which it comes. */
    uint32_t credit; /* Messages of the other process that the sender has done with, of all. */
    uint32_t counts; /* 1: a message; 0: credit alone, half of it at least. */
};
_Static_assert(sizeof(struct chasqui_mpinp_head) == 16, "chasqui_mpinp_head");
_Static_assert(offsetof(struct chasqui_mpinp_head, node) == 0, "chasqui_mpinp_head.node");
_Static_assert(offsetof(struct chasqui_mpinp_head, process) == 2, "chasqui_mpinp_head.process");
_Static_assert(offsetof(struct chasqui_mpinp_head, bytes) == 4, "chasqui_mpinp_head.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_head, to) == 6, "chasqui_mpinp_head.to");
_Static_assert(offsetof(struct chasqui_mpinp_head, credit) == 8, "chasqui_mpinp_head.credit");
_Static_assert(offsetof(struct chasqui_mpinp_head, counts) == 12, "chasqui_mpinp_head.counts");

struct chasqui_mpinp_end {
    struct chasqui_envelope envelope; /* The envelope. */
    struct chasqui_mpinp_head head; /* What the network processor says of it. */
    uint32_t number; /* Number of the message among all that have come to the process, from 1 on. */
    uint32_t sent; /* Slots of the process's window that have been sent until then. */
};
_Static_assert(sizeof(struct chasqui_mpinp_end) == 64, "chasqui_mpinp_end");
_Static_assert(offsetof(struct chasqui_mpinp_end, envelope) == 0, "chasqui_mpinp_end.envelope");
_Static_assert(offsetof(struct chasqui_mpinp_end, head) == 40, "chasqui_mpinp_end.head");
_Static_assert(offsetof(struct chasqui_mpinp_end, number) == 56, "chasqui_mpinp_end.number");
_Static_assert(offsetof(struct chasqui_mpinp_end, sent) == 60, "chasqui_mpinp_end.sent");

#endif
