/* Generated from machines/mpinp/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_MPINP_REGISTERS_H
#define CHASQUI_MPINP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_MPINP_INTERFACE 0x8c650034u /* Names all that is defined here and in chasqui/abi.h. */

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

#define CHASQUI_MPINP_MCP_DEVICE 0x7ull /* Number by which MPI_Init picks the device of the firmware that matches. */
#define CHASQUI_MPINP_SETTING_PIO_BYTES 0x3ull /* Setting: longest data that are stored to the window [bytes]. */
#define CHASQUI_MPINP_REQUESTS 0x40ull /* Requests that the ring at the window's begin holds. The doorbell counts them. */
#define CHASQUI_MPINP_WINDOW_DATA 0x1000ull /* Offset in the window of data that the process sends from there. */
#define CHASQUI_MPINP_NAMES 0x80ull /* Names that a process has for its requests, from 0 on; one is free again with its last event. */
#define CHASQUI_MPINP_RECEIVES 0x78ull /* Names that receives may have at a time. */
#define CHASQUI_MPINP_PLACES 0x100ull /* Places in expected lists that they may have: one each, of any source one for each rank. */
#define CHASQUI_MPINP_ANY_SOURCE 0xffffull /* A rank: of any source. */
#define CHASQUI_MPINP_ANY_TAG 0x80000000ull /* A tag: any. */
#define CHASQUI_MPINP_ENTRY_BYTES 0x2000ull /* Longest part of a message that an entry of its table is for [bytes]. */
#define CHASQUI_MPINP_SEND 0x1ull /* Kind of a request: a message. */
#define CHASQUI_MPINP_RECEIVE 0x2ull /* Kind of a request: a receive. */
#define CHASQUI_MPINP_PROBE 0x3ull /* Kind of a request: is there a message that such a receive would get? PROBED follows. Without one, UNCLAIMED follows when */
#define CHASQUI_MPINP_CLAIM 0x4ull /* Kind of a request: the same, and the message is `name`'s from now on. CLAIMED follows. */
#define CHASQUI_MPINP_FETCH 0x5ull /* Kind of a request: the message that `name` has claimed is received. */
#define CHASQUI_MPINP_CANCEL 0x6ull /* Kind of a request: `name` is not wanted any more. Its event says what came of that. */
#define CHASQUI_MPINP_ENTRY 0x7ull /* Kind of a request: an entry of `name`'s table is valid again. */
#define CHASQUI_MPINP_LISTEN 0x8ull /* Kind of a request: UNCLAIMED is wanted; with flag 1, also if messages are there that no receive has got. */
#define CHASQUI_MPINP_DRAIN 0x9ull /* Kind of a request: CLAIM of the first message from `rank` that no receive has got, whatever its context and tag. */
#define CHASQUI_MPINP_PRESS 0xaull /* Kind of a request: what was sent to `rank` up to now holds room that other sends need. Its receiver is told that it is */
#define CHASQUI_MPINP_NOTE 0xbull /* Kind of a request: a note for `rank`, `flags` says which, about message `sequence`. A process has one note to each other */
#define CHASQUI_MPINP_FORGET 0xcull /* Kind of a request: the message that PROBED has shown may be cancelled again, as after any other request but CLAIM. */
#define CHASQUI_MPINP_SYNCHRONOUS 0x1ull /* Flag of a send: it completes when it has met its receive. */
#define CHASQUI_MPINP_READY 0x2ull /* Flag of a send: its receive is posted. */
#define CHASQUI_MPINP_IN_WINDOW 0x4ull /* Flag of a send: its data are in the window. */
#define CHASQUI_MPINP_DRAINED 0x1ull /* Flag of FETCH: the message's send awaits its receive, which has not come. SENT says so to the sender, and NOTE_MET follows */
#define CHASQUI_MPINP_NOTE_ANSWER 0x0ull /* A note: the answer to the last. */
#define CHASQUI_MPINP_NOTE_MET 0x1ull /* A note: the message that was drained has met its receive. */
#define CHASQUI_MPINP_NOTE_CANCEL 0x2ull /* A note: the message that was drained is to be cancelled. NOTE_GONE follows, or NOTE_MET. */
#define CHASQUI_MPINP_NOTE_GONE 0x3ull /* A note: it is. */
#define CHASQUI_MPINP_SENT 0x1ull /* Kind of an event: a send is over. */
#define CHASQUI_MPINP_RECEIVED 0x2ull /* Kind of an event: a receive is. */
#define CHASQUI_MPINP_ENTRY_DONE 0x3ull /* Kind of an event: entry `entry` of the table of `name` has been taken, or filled. */
#define CHASQUI_MPINP_PROBED 0x4ull /* Kind of an event: the answer to PROBE. */
#define CHASQUI_MPINP_CLAIMED 0x5ull /* Kind of an event: the answer to CLAIM. */
#define CHASQUI_MPINP_UNCLAIMED 0x6ull /* Kind of an event: a message has come that no receive has got. */
#define CHASQUI_MPINP_CROWDED 0x7ull /* Kind of an event: many messages from `rank` have come that no receive has got. The next follows when one is drained. */
#define CHASQUI_MPINP_NOTED 0x8ull /* Kind of an event: a note from `rank`, which `result` names. */
#define CHASQUI_MPINP_COMPLETE 0x0ull /* Result: of SENT and RECEIVED, all is well; of PROBED and CLAIMED, there is one. */
#define CHASQUI_MPINP_TRUNCATED 0x1ull /* Result: the message was longer than the receive. */
#define CHASQUI_MPINP_CANCELLED 0x2ull /* Result: it was taken back. */
#define CHASQUI_MPINP_NOTHING 0x3ull /* Result: there is none. */
#define CHASQUI_MPINP_HOST_TAKEN 0x0ull /* Offset in the memory on the host of the count of requests that were taken. */
#define CHASQUI_MPINP_HOST_EVENTS 0x1000ull /* Offset in the memory on the host of the ring of events. */
#define CHASQUI_MPINP_EVENTS 0x200ull /* Events that it holds. */
#define CHASQUI_MPINP_HOST_DATA 0x5000ull /* Offset in the memory on the host of what entries name. */

struct chasqui_mpinp_request {
    uint8_t kind; /* What is wanted. */
    uint8_t flags; /* Flags of a send. */
    uint16_t rank; /* World rank of the other side, or ANY_SOURCE. */
    uint16_t name; /* What events call it by. */
    uint16_t valid; /* Entries of its table that are valid: part i of the message is where entry i modulo two says. */
    uint32_t context; /* Context of the communicator. */
    int32_t tag; /* Tag, or ANY_TAG. */
    uint32_t bytes; /* Length of the message, or room for it [bytes]. */
    uint32_t sequence; /* Number of the message among all that the process has sent. */
    uint32_t address[2]; /* The table: offsets in the memory on the host, or the first in the window. */
};
_Static_assert(sizeof(struct chasqui_mpinp_request) == 32, "chasqui_mpinp_request");
_Static_assert(offsetof(struct chasqui_mpinp_request, kind) == 0, "chasqui_mpinp_request.kind");
_Static_assert(offsetof(struct chasqui_mpinp_request, flags) == 1, "chasqui_mpinp_request.flags");
_Static_assert(offsetof(struct chasqui_mpinp_request, rank) == 2, "chasqui_mpinp_request.rank");
_Static_assert(offsetof(struct chasqui_mpinp_request, name) == 4, "chasqui_mpinp_request.name");
_Static_assert(offsetof(struct chasqui_mpinp_request, valid) == 6, "chasqui_mpinp_request.valid");
_Static_assert(offsetof(struct chasqui_mpinp_request, context) == 8, "chasqui_mpinp_request.context");
_Static_assert(offsetof(struct chasqui_mpinp_request, tag) == 12, "chasqui_mpinp_request.tag");
_Static_assert(offsetof(struct chasqui_mpinp_request, bytes) == 16, "chasqui_mpinp_request.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_request, sequence) == 20, "chasqui_mpinp_request.sequence");
_Static_assert(offsetof(struct chasqui_mpinp_request, address) == 24, "chasqui_mpinp_request.address");

struct chasqui_mpinp_event {
    uint8_t kind; /* What has happened. */
    uint8_t result; /* What came of it. */
    uint16_t name; /* Which request it is about. */
    uint16_t rank; /* World rank of the message's source; of NOTED, of the other process. */
    uint16_t context; /* Context of the communicator, of CLAIMED. */
    int32_t tag; /* Tag of the message. */
    uint32_t sequence; /* Number of the message among all that its source has sent; 0: of none. */
    uint32_t bytes; /* Length of the message [bytes]; of NOTED, the number of the message. */
    uint32_t entry; /* Of ENTRY_DONE: which. Of CLAIMED: 1, if the message's send awaits its receive. Of SENT: 1, if it was drained and does. */
    uint32_t taken; /* Requests that have been taken, of all. */
    uint32_t number; /* Number of the event, from 1 on: it is there. */
};
_Static_assert(sizeof(struct chasqui_mpinp_event) == 32, "chasqui_mpinp_event");
_Static_assert(offsetof(struct chasqui_mpinp_event, kind) == 0, "chasqui_mpinp_event.kind");
_Static_assert(offsetof(struct chasqui_mpinp_event, result) == 1, "chasqui_mpinp_event.result");
_Static_assert(offsetof(struct chasqui_mpinp_event, name) == 2, "chasqui_mpinp_event.name");
_Static_assert(offsetof(struct chasqui_mpinp_event, rank) == 4, "chasqui_mpinp_event.rank");
_Static_assert(offsetof(struct chasqui_mpinp_event, context) == 6, "chasqui_mpinp_event.context");
_Static_assert(offsetof(struct chasqui_mpinp_event, tag) == 8, "chasqui_mpinp_event.tag");
_Static_assert(offsetof(struct chasqui_mpinp_event, sequence) == 12, "chasqui_mpinp_event.sequence");
_Static_assert(offsetof(struct chasqui_mpinp_event, bytes) == 16, "chasqui_mpinp_event.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_event, entry) == 20, "chasqui_mpinp_event.entry");
_Static_assert(offsetof(struct chasqui_mpinp_event, taken) == 24, "chasqui_mpinp_event.taken");
_Static_assert(offsetof(struct chasqui_mpinp_event, number) == 28, "chasqui_mpinp_event.number");

#endif
