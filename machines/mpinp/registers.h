/* Generated from machines/mpinp/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_MPINP_REGISTERS_H
#define CHASQUI_MPINP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_MPINP_INTERFACE 0x7c587ca0u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_MPINP_DEVICE 0x6ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_MPINP_TAGS_DEVICE 0x8ull /* Number by which MPI_Init picks the device of a card with a list of tags. */
#define CHASQUI_MPINP_REGION_WINDOW 0x0ull /* Region: the process's window of the card's memory, uncached. */
#define CHASQUI_MPINP_REGION_HOST 0x1ull /* Region: the process's memory on the host that the card writes. */
#define CHASQUI_MPINP_DOORBELL 0xff8ull /* Offset in the window of its doorbell: a store to it, of whatever, is an event of the network processor's. */
#define CHASQUI_MPINP_SETTING_WINDOW_BYTES 0x0ull /* Setting: bytes of the window. */
#define CHASQUI_MPINP_SETTING_HOST_BYTES 0x1ull /* Setting: bytes of the memory on the host. */
#define CHASQUI_MPINP_SETTING_CREDIT 0x2ull /* Setting: messages that each process may have under way to each other one, until that says that it has done with them. */
#define CHASQUI_MPINP_SETTING_FRAGMENT 0x3ull /* Setting: longest fragment of a long message [bytes]. */
#define CHASQUI_MPINP_SETTING_OVERHEAD 0x8ull /* Setting: what the card could move in the time that it takes for a fragment besides [bytes]. */
#define CHASQUI_MPINP_FRAGMENT_MIN 0x200ull /* Least length of a fragment that is not the rest of a page or of a message [bytes]. */
#define CHASQUI_MPINP_SETTING_TAGS 0xdull /* Setting: entries of the list of tags that the process may have. */
#define CHASQUI_MPINP_SLOT_BYTES 0x400ull /* Bytes from one slot of a window to the next, and of the rings on the host. The first page of both is for control. */
#define CHASQUI_MPINP_SLOT_DATA_BYTES 0x3c0ull /* Longest data of a message in a slot [bytes]. */
#define CHASQUI_MPINP_HOST_SENT 0x0ull /* Offset in the memory on the host of the count of slots of the window that have been sent, 32 bits. What comes has a */
#define CHASQUI_MPINP_SLOT_POSTS 0x10ull /* Of `counts` of a slot's head: the data are MpinpPost, a receive of a long message of the other process's, which the card is to */
#define CHASQUI_MPINP_SLOT_PUTS 0x20ull /* ... The data are MpinpLong, a long message's, in pages of the process. They go to the receive of it that the other process has */
#define CHASQUI_MPINP_SLOT_PART 0x40ull /* ... Of SLOT_PUTS: more of the message follows. Else the data are the next ones of a long message's that goes in slots, or, with an */
#define CHASQUI_MPINP_SLOT_FRAGMENT 0x80ull /* Of `counts` of a worm's head: it is a fragment of a long message. */
#define CHASQUI_MPINP_SLOT_NAME_SHIFT 0x10ull /* ... Place of the name of the receive to which it goes. */
#define CHASQUI_MPINP_LONG 0x10ull /* Long messages of a process that may be sent at a time, and as many that may be received. Names of their pages are from 0 on, */
#define CHASQUI_MPINP_HOST_PUTS 0x8ull /* Offset in the memory on the host of a bit for each long message that is sent, by name: it changes when the data have left. */
#define CHASQUI_MPINP_TAG_DOORBELL 0xffcull /* Offset in the window of the count of requests to the list of tags, 32 bits, a part of the doorbell: they are a ring at the */
#define CHASQUI_MPINP_TAG_REQUESTS 0x40ull /* Requests that it holds. */
#define CHASQUI_MPINP_HOST_TAGS_TAKEN 0x4ull /* Offset in the memory on the host of the count of requests that have been taken, 32 bits. */
#define CHASQUI_MPINP_TAG_APPEND 0x1ull /* Kind of a request: append an entry. */
#define CHASQUI_MPINP_TAG_REMOVE 0x2ull /* Kind of a request: remove an entry; the answer is a slot of the ring on the host. */
#define CHASQUI_MPINP_ARRIVED_MESSAGE 0x1ull /* With a list of tags, of `counts` of what has come: it is a message. */
#define CHASQUI_MPINP_ARRIVED_DELIVERED 0x2ull /* ... Its data are where its receive wants them. */
#define CHASQUI_MPINP_ARRIVED_REMOVED 0x4ull /* ... The answer to a removal; it has no message. */
#define CHASQUI_MPINP_ARRIVED_LOOKED 0x8ull /* ... The list was asked for it. If it names no entry (`to`), it is unexpected. */
#define CHASQUI_MPINP_ARRIVED_REQUESTS_SHIFT 0x8ull /* ... Place of the count of requests that had been taken before, 24 bits. */

struct chasqui_mpinp_head {
    uint16_t node; /* The other node: to which it goes, or from which it comes. */
    uint16_t process; /* The other process, of its node. */
    uint16_t bytes; /* Length of the data [bytes]; what follows them is aligned to 8 bytes. */
    uint16_t to; /* The process of this node to which it comes; on the host, of the entry of the list of tags that it met, the number and 1. */
    uint32_t credit; /* Messages of the other process that the sender has done with, of all. */
    uint32_t counts; /* 1: a message, with SLOT_ bits; 0: credit alone, half of it at least. */
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

struct chasqui_mpinp_long {
    uint32_t entry; /* Number of the first entry of the page table. */
    uint32_t offset; /* Offset of the data in the first page. */
    uint32_t bytes; /* Their length [bytes]. */
    uint16_t name; /* Name of the pages. */
    uint16_t to; /* Name of those to which they go. */
    uint16_t fragment; /* Length of a fragment [bytes]. */
    uint16_t is_in_page; /* 1: all lies in one page, of which the kernel has told the card by `name`. */
    uint32_t reserved; /* Not used. */
};
_Static_assert(sizeof(struct chasqui_mpinp_long) == 24, "chasqui_mpinp_long");
_Static_assert(offsetof(struct chasqui_mpinp_long, entry) == 0, "chasqui_mpinp_long.entry");
_Static_assert(offsetof(struct chasqui_mpinp_long, offset) == 4, "chasqui_mpinp_long.offset");
_Static_assert(offsetof(struct chasqui_mpinp_long, bytes) == 8, "chasqui_mpinp_long.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_long, name) == 12, "chasqui_mpinp_long.name");
_Static_assert(offsetof(struct chasqui_mpinp_long, to) == 14, "chasqui_mpinp_long.to");
_Static_assert(offsetof(struct chasqui_mpinp_long, fragment) == 16, "chasqui_mpinp_long.fragment");
_Static_assert(offsetof(struct chasqui_mpinp_long, is_in_page) == 18, "chasqui_mpinp_long.is_in_page");
_Static_assert(offsetof(struct chasqui_mpinp_long, reserved) == 20, "chasqui_mpinp_long.reserved");

struct chasqui_mpinp_post {
    uint64_t number; /* Which of all from this process to the other one it is, and in the low byte the name of its pages and 1; 0: none yet; 255: data */
    struct chasqui_mpinp_long room; /* Room for the data. */
};
_Static_assert(sizeof(struct chasqui_mpinp_post) == 32, "chasqui_mpinp_post");
_Static_assert(offsetof(struct chasqui_mpinp_post, number) == 0, "chasqui_mpinp_post.number");
_Static_assert(offsetof(struct chasqui_mpinp_post, room) == 8, "chasqui_mpinp_post.room");

struct chasqui_mpinp_tag {
    uint64_t key; /* What is matched (chasqui_match_key). */
    uint64_t address; /* Virtual address of the receive's buffer. */
    uint32_t bytes; /* Its length [bytes]. */
    uint32_t unexpected; /* Unexpected messages that the process has dealt with. */
    uint16_t entry; /* Number of the entry, the process's choice. */
    uint16_t kind; /* TAG_APPEND or TAG_REMOVE. */
    uint32_t reserved; /* Not used. */
};
_Static_assert(sizeof(struct chasqui_mpinp_tag) == 32, "chasqui_mpinp_tag");
_Static_assert(offsetof(struct chasqui_mpinp_tag, key) == 0, "chasqui_mpinp_tag.key");
_Static_assert(offsetof(struct chasqui_mpinp_tag, address) == 8, "chasqui_mpinp_tag.address");
_Static_assert(offsetof(struct chasqui_mpinp_tag, bytes) == 16, "chasqui_mpinp_tag.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_tag, unexpected) == 20, "chasqui_mpinp_tag.unexpected");
_Static_assert(offsetof(struct chasqui_mpinp_tag, entry) == 24, "chasqui_mpinp_tag.entry");
_Static_assert(offsetof(struct chasqui_mpinp_tag, kind) == 26, "chasqui_mpinp_tag.kind");
_Static_assert(offsetof(struct chasqui_mpinp_tag, reserved) == 28, "chasqui_mpinp_tag.reserved");

#define CHASQUI_MPINP_MCP_DEVICE 0x7ull /* Number by which MPI_Init picks the device of the firmware that matches. */
#define CHASQUI_MPINP_WAKE_DEVICE 0xaull /* ... and whose host waits by interrupt. */
#define CHASQUI_MPINP_SETTING_PIO_BYTES 0x3ull /* Setting: longest data that are stored to the window [bytes]. */
#define CHASQUI_MPINP_SETTING_PAGE_TABLE 0x4ull /* Setting, the kernel's: physical address of the node's page table, whose entries are numbered through all processes. */
#define CHASQUI_MPINP_SETTING_ENTRIES 0x5ull /* Setting, the kernel's: entries that each process has of it. */
#define CHASQUI_MPINP_SETTING_ENTRY_PAGES 0x6ull /* Setting, the kernel's: pages that an entry names. */
#define CHASQUI_MPINP_SETTING_PINNED 0x7ull /* Setting, the kernel's: address in the card's memory of what lies in one page: of each process a word for each name. */
#define CHASQUI_MPINP_SETTING_COLLECTIVES 0x8ull /* Setting: 1, if the card does collectives. */
#define CHASQUI_MPINP_SETTING_KEPT 0x9ull /* Setting: of the entries that each process has, so many, the first, name pages that stay pinned after transfers. */
#define CHASQUI_MPINP_SETTING_TLB 0xaull /* Setting, the kernel's: slots of the card's TLB, a power of two; 0: it has none. */
#define CHASQUI_MPINP_SETTING_STAMPS 0xbull /* Setting, the kernel's: address in the card's memory of a word for each slot of the TLB, its stamp: what the card holds in */
#define CHASQUI_MPINP_SETTING_COUNT 0xcull /* Setting, the kernel's: address in the card's memory of a word for the records. A store to it counts a call of */
#define CHASQUI_MPINP_SETTING_INTERRUPT 0xeull /* Setting, the kernel's: address in the card's memory of its interrupt's words, INTERRUPT_. */
#define CHASQUI_MPINP_SETTING_POLLS 0xfull /* Setting: times that a process polls in vain before it sleeps. */
#define CHASQUI_MPINP_INTERRUPT_CAUSE 0x0ull /* Offset of the interrupt's register: loaded, it has a bit for each process for which the card interrupts, and none from then */
#define CHASQUI_MPINP_INTERRUPT_ASKED 0x8ull /* Offset of a word for each process, 32 bits: a process waits, INTERRUPT_ROOM and above it the wait's number, other than the */
#define CHASQUI_MPINP_INTERRUPT_ROOM 0x1ull /* Of such a word: the process waits for room for requests, too. */
#define CHASQUI_MPINP_PAGED 0x8ull /* Offset, in place of INTERRUPT_ASKED where a thread of the kernel makes progress, of a word for each name of each process, of */
#define CHASQUI_MPINP_PAGED_REFUSED 0xffffffffull /* Of the upper half: its entries can name no more; the process is to be told (ENTRY_DONE). */
#define CHASQUI_MPINP_REQUESTS 0x40ull /* Requests that the ring at the window's begin holds. The doorbell counts them. */
#define CHASQUI_MPINP_WINDOW_REASON 0x800ull /* Offset in the window of a word for the records: a store to it counts a collective that the library does and why, REASON_. */
#define CHASQUI_MPINP_WINDOW_DATA 0x1000ull /* Offset in the window of data that the process sends from there. */
#define CHASQUI_MPINP_NAMES 0x80ull /* Names that a process has for its requests, from 0 on; one is free again with its last event. */
#define CHASQUI_MPINP_RECEIVES 0x78ull /* Names that receives may have at a time. */
#define CHASQUI_MPINP_PLACES 0x100ull /* Places in expected lists that they may have: one each, of any source one for each rank. */
#define CHASQUI_MPINP_ANY_SOURCE 0xffffull /* A rank: of any source. */
#define CHASQUI_MPINP_ANY_TAG 0x80000000ull /* A tag: any. */
#define CHASQUI_MPINP_PART_BYTES 0x2000ull /* Parts in which a message goes [bytes]. */
#define CHASQUI_MPINP_ENTRY_PAGES_MAX 0x4ull /* Pages that an entry names, at most. */
#define CHASQUI_MPINP_SEND 0x1ull /* Kind of a request: a message. */
#define CHASQUI_MPINP_RECEIVE 0x2ull /* Kind of a request: a receive. */
#define CHASQUI_MPINP_PROBE 0x3ull /* Kind of a request: is there a message that such a receive would get? PROBED follows. Without one, UNCLAIMED follows when */
#define CHASQUI_MPINP_CLAIM 0x4ull /* Kind of a request: the same, and the message is `name`'s from now on. CLAIMED follows. */
#define CHASQUI_MPINP_FETCH 0x5ull /* Kind of a request: the message that `name` has claimed is received. */
#define CHASQUI_MPINP_CANCEL 0x6ull /* Kind of a request: `name` is not wanted any more. Its event says what came of that. */
#define CHASQUI_MPINP_ENTRY 0x7ull /* Kind of a request, the answer to ENTRY_DONE: of `name`'s entries now so many have been valid, of all: `bytes`. */
#define CHASQUI_MPINP_LISTEN 0x8ull /* Kind of a request: UNCLAIMED is wanted; with flag 1, also if messages are there that no receive has got. */
#define CHASQUI_MPINP_DRAIN 0x9ull /* Kind of a request: CLAIM of the first message from `rank` that no receive has got, whatever its context and tag. */
#define CHASQUI_MPINP_PRESS 0xaull /* Kind of a request: what was sent to `rank` up to now holds room that other sends need. Its receiver is told that it is */
#define CHASQUI_MPINP_NOTE 0xbull /* Kind of a request: a note for `rank`, `flags` says which, about message `sequence`. A process has one note to each other */
#define CHASQUI_MPINP_FORGET 0xcull /* Kind of a request: the message that PROBED has shown may be cancelled again, as after any other request but CLAIM. */
#define CHASQUI_MPINP_COLLECTIVE 0xdull /* Kind of a request: a collective, `flags` says which, along a tree of processes: `sequence`, and `offset` behind it, have */
#define CHASQUI_MPINP_ROOTED 0xeull /* Kind of a request: one with a root, REDUCE, GATHER or SCATTER; otherwise as COLLECTIVE. The tree is a binomial one: of a */
#define CHASQUI_MPINP_BARRIER 0x0ull /* A collective: all have come. */
#define CHASQUI_MPINP_BCAST 0x1ull /* A collective: all get the data of the one that has some. */
#define CHASQUI_MPINP_ALLREDUCE 0x2ull /* A collective: all get what comes of the data of all. */
#define CHASQUI_MPINP_REDUCE 0x3ull /* A collective with a root: that gets what comes of the data of all. */
#define CHASQUI_MPINP_GATHER 0x4ull /* A collective with a root: that gets the blocks of all. */
#define CHASQUI_MPINP_SCATTER 0x5ull /* A collective with a root: each process gets its block of those that the root has. */
#define CHASQUI_MPINP_COLLECTIVE_BYTES 0x80ull /* Longest data of a collective, of a process [bytes]. */
#define CHASQUI_MPINP_BLOCKS_BYTES 0x2000ull /* Longest blocks of a gather or scatter, those of all processes [bytes]. */
#define CHASQUI_MPINP_COLLECTIVE_BELOW 0x7ull /* Processes below one, at most. */
#define CHASQUI_MPINP_NO_PROCESS 0xffull /* In place of a process's rank: there is none. */
#define CHASQUI_MPINP_COLLECTIVE_GIVES 0x1ull /* Of a collective: the process contributes data. */
#define CHASQUI_MPINP_COLLECTIVE_TAKES 0x2ull /* Of a collective: the process wants what comes of it. */
#define CHASQUI_MPINP_COLLECTIVE_REFUSES 0x4ull /* Of a collective: the process can't do it by the card. COLLECTED says so to all: NOTHING. */
#define CHASQUI_MPINP_COLLECTIVE_FETCHES 0x8ull /* Of a scatter, at its root: the blocks are at HOST_COLLECTED, not in the window. */
#define CHASQUI_MPINP_SUM 0x0ull /* An operator: a sum. Integers wrap. */
#define CHASQUI_MPINP_PRODUCT 0x1ull /* An operator, of integers: a product. */
#define CHASQUI_MPINP_MINIMUM 0x2ull /* An operator: the least. */
#define CHASQUI_MPINP_MAXIMUM 0x3ull /* An operator: the greatest. */
#define CHASQUI_MPINP_AND 0x4ull /* An operator, of integers: of each bit. */
#define CHASQUI_MPINP_OR 0x5ull /* An operator, likewise. */
#define CHASQUI_MPINP_XOR 0x6ull /* An operator, likewise. */
#define CHASQUI_MPINP_LOGICAL_AND 0x7ull /* An operator, of integers: 1 if neither is 0. */
#define CHASQUI_MPINP_LOGICAL_OR 0x8ull /* An operator, of integers: 1 if one is not 0. */
#define CHASQUI_MPINP_LOGICAL_XOR 0x9ull /* An operator, of integers: 1 if just one is not 0. */
#define CHASQUI_MPINP_INT32 0x0ull /* A type. */
#define CHASQUI_MPINP_UINT32 0x1ull /* A type. */
#define CHASQUI_MPINP_INT64 0x2ull /* A type. */
#define CHASQUI_MPINP_UINT64 0x3ull /* A type. */
#define CHASQUI_MPINP_FLOAT 0x4ull /* A type. */
#define CHASQUI_MPINP_DOUBLE 0x5ull /* A type. */
#define CHASQUI_MPINP_REASON_LONG 0x0ull /* Why the library does a collective: its data are too long. */
#define CHASQUI_MPINP_REASON_NONBLOCKING 0x1ull /* ... it is not blocking, or the library's own. */
#define CHASQUI_MPINP_REASON_OPERATION 0x2ull /* ... the card has no such operation on such data. */
#define CHASQUI_MPINP_REASON_UNLIKE 0x3ull /* ... the data of a process may have gaps, or lengths differ. */
#define CHASQUI_MPINP_SYNCHRONOUS 0x1ull /* Flag of a send: it completes when it has met its receive. */
#define CHASQUI_MPINP_READY 0x2ull /* Flag of a send: its receive is posted. */
#define CHASQUI_MPINP_IN_WINDOW 0x4ull /* Flag of a send: its data are in the window. */
#define CHASQUI_MPINP_IN_PAGE 0x8ull /* Flag of SEND, RECEIVE and FETCH: the data are in one page, of which the kernel has told the card by `name`. */
#define CHASQUI_MPINP_FOUND 0x10ull /* Flag of SEND, RECEIVE and FETCH, for the records: the pages were pinned already. */
#define CHASQUI_MPINP_DRAINED 0x1ull /* Flag of FETCH: the message's send awaits its receive, which has not come. SENT says so to the sender, and NOTE_MET follows */
#define CHASQUI_MPINP_NOTE_ANSWER 0x0ull /* A note: the answer to the last. */
#define CHASQUI_MPINP_NOTE_MET 0x1ull /* A note: the message that was drained has met its receive. */
#define CHASQUI_MPINP_NOTE_CANCEL 0x2ull /* A note: the message that was drained is to be cancelled. NOTE_GONE follows, or NOTE_MET. */
#define CHASQUI_MPINP_NOTE_GONE 0x3ull /* A note: it is. */
#define CHASQUI_MPINP_SENT 0x1ull /* Kind of an event: a send is over. */
#define CHASQUI_MPINP_RECEIVED 0x2ull /* Kind of an event: a receive is. */
#define CHASQUI_MPINP_ENTRY_DONE 0x3ull /* Kind of an event: of `name`, whose message is longer than its entries reach, the first `entry` entries are done with and */
#define CHASQUI_MPINP_PROBED 0x4ull /* Kind of an event: the answer to PROBE. */
#define CHASQUI_MPINP_CLAIMED 0x5ull /* Kind of an event: the answer to CLAIM. */
#define CHASQUI_MPINP_UNCLAIMED 0x6ull /* Kind of an event: a message has come that no receive has got. */
#define CHASQUI_MPINP_CROWDED 0x7ull /* Kind of an event: many messages from `rank` have come that no receive has got. The next follows when one is drained. */
#define CHASQUI_MPINP_NOTED 0x8ull /* Kind of an event: a note from `rank`, which `result` names. */
#define CHASQUI_MPINP_COLLECTED 0x9ull /* Kind of an event: a collective is over; what has come of it, `bytes` long, lies at HOST_COLLECTED. */
#define CHASQUI_MPINP_COMPLETE 0x0ull /* Result: of SENT and RECEIVED, all is well; of PROBED and CLAIMED, there is one. */
#define CHASQUI_MPINP_TRUNCATED 0x1ull /* Result: the message was longer than the receive. */
#define CHASQUI_MPINP_CANCELLED 0x2ull /* Result: it was taken back. */
#define CHASQUI_MPINP_NOTHING 0x3ull /* Result: there is none. */
#define CHASQUI_MPINP_HOST_TAKEN 0x0ull /* Offset in the memory on the host of the count of requests that were taken. */
#define CHASQUI_MPINP_HOST_EVENTS 0x1000ull /* Offset in the memory on the host of the ring of events. */
#define CHASQUI_MPINP_EVENTS 0x200ull /* Events that it holds. */
#define CHASQUI_MPINP_HOST_COLLECTED 0x5000ull /* Offset in the memory on the host of what a collective has come to, or of blocks that are scattered. */
#define CHASQUI_MPINP_HOST_BYTES 0x7000ull /* Bytes of it that are needed. */
#define CHASQUI_MPINP_CONTROL_PIN 0x7100ull /* `ioctl`: pins what a request names; `MpinpPin`. */
#define CHASQUI_MPINP_CONTROL_PIN_MORE 0x7101ull /* `ioctl`: of a name whose first entries are done with, these name further pages; `MpinpPin`. */
#define CHASQUI_MPINP_CONTROL_UNPIN 0x7102ull /* `ioctl`: what is pinned for the name that is the argument is so no more. */
#define CHASQUI_MPINP_CONTROL_KEEP_OPEN 0x7103ull /* `ioctl`, once, before CONTROL_KEEP: the argument is the address of a byte for each entry of SETTING_KEPT. The kernel stores */
#define CHASQUI_MPINP_CONTROL_KEEP 0x7104ull /* `ioctl`: entries name memory whose pages stay pinned; `MpinpKeep`. */
#define CHASQUI_MPINP_CONTROL_WAIT 0x7110ull /* `ioctl`: sleeps until the process has more events than the argument says. */
#define CHASQUI_MPINP_CONTROL_WAIT_ROOM 0x7111ull /* The same, with a number in the high half of the argument: or more requests than that have been taken, of all. */
#define CHASQUI_MPINP_PIN_WRITE 0x1ull /* Flag of a pin: the card writes. */
#define CHASQUI_MPINP_PINNED_WRITE 0x8000000000000000ull /* Of a page in the card's memory: the card may write it. The rest is the data's physical address; 0: none. */
#define CHASQUI_MPINP_ENTRY_WRITE 0x1ull /* Flag of an entry: the card may write its pages. */
#define CHASQUI_MPINP_ENTRY_KEPT 0x2ull /* Flag of an entry: the card may hold a copy of it; the kernel stores to its stamp when it changes. */

struct chasqui_mpinp_request {
    uint8_t kind; /* What is wanted. */
    uint8_t flags; /* Flags of a send. */
    uint16_t rank; /* World rank of the other side, or ANY_SOURCE. */
    uint16_t name; /* What events call it by. */
    uint16_t valid; /* Entries that its page table has, from `entry` on. */
    uint32_t context; /* Context of the communicator. */
    int32_t tag; /* Tag, or ANY_TAG. */
    uint32_t bytes; /* Length of the message, or room for it [bytes]. */
    uint32_t sequence; /* Number of the message among all that the process has sent. */
    uint32_t entry; /* Number of its first entry; of data in the window, their offset there. */
    uint32_t offset; /* Offset of the data in the first page. */
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
_Static_assert(offsetof(struct chasqui_mpinp_request, entry) == 24, "chasqui_mpinp_request.entry");
_Static_assert(offsetof(struct chasqui_mpinp_request, offset) == 28, "chasqui_mpinp_request.offset");

struct chasqui_mpinp_event {
    uint8_t kind; /* What has happened. */
    uint8_t result; /* What came of it. */
    uint16_t name; /* Which request it is about. */
    uint16_t rank; /* World rank of the message's source; of NOTED, of the other process. */
    uint16_t context; /* Context of the communicator, of CLAIMED. */
    int32_t tag; /* Tag of the message. */
    uint32_t sequence; /* Number of the message among all that its source has sent; 0: of none. */
    uint32_t bytes; /* Length of the message [bytes]; of NOTED, the number of the message. */
    uint32_t entry; /* Of ENTRY_DONE: how many. Of CLAIMED: 1, if the message's send awaits its receive. Of SENT: 1, if it was drained and does. */
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

struct chasqui_mpinp_entry {
    uint16_t owner; /* Number of the process of the node, from 1 on, that has it; 0: it names nothing. */
    uint16_t flags; /* Flags. */
    uint32_t next; /* Number of the entry that comes behind it; behind the last comes the first again. */
    uint32_t pages[4]; /* Numbers of the pages. */
    uint64_t reserved; /* A line has one entry. */
};
_Static_assert(sizeof(struct chasqui_mpinp_entry) == 32, "chasqui_mpinp_entry");
_Static_assert(offsetof(struct chasqui_mpinp_entry, owner) == 0, "chasqui_mpinp_entry.owner");
_Static_assert(offsetof(struct chasqui_mpinp_entry, flags) == 2, "chasqui_mpinp_entry.flags");
_Static_assert(offsetof(struct chasqui_mpinp_entry, next) == 4, "chasqui_mpinp_entry.next");
_Static_assert(offsetof(struct chasqui_mpinp_entry, pages) == 8, "chasqui_mpinp_entry.pages");
_Static_assert(offsetof(struct chasqui_mpinp_entry, reserved) == 24, "chasqui_mpinp_entry.reserved");

struct chasqui_mpinp_pin {
    uint64_t address; /* Where it begins. */
    uint64_t bytes; /* Length [bytes]. */
    uint32_t name; /* The request's name. */
    uint32_t flags; /* Flags. */
    uint32_t left; /* Entries that are left to others. Of CONTROL_PIN_MORE: those that are done with, of all. */
    uint32_t first; /* Answer: the first entry. All lies in one page: the card knows it by name, and `valid` is 0. */
    uint32_t valid; /* Answer: entries that name something, of all until now: what is longer is pinned up to there. */
    uint32_t reserved; /* Not used. */
};
_Static_assert(sizeof(struct chasqui_mpinp_pin) == 40, "chasqui_mpinp_pin");
_Static_assert(offsetof(struct chasqui_mpinp_pin, address) == 0, "chasqui_mpinp_pin.address");
_Static_assert(offsetof(struct chasqui_mpinp_pin, bytes) == 8, "chasqui_mpinp_pin.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_pin, name) == 16, "chasqui_mpinp_pin.name");
_Static_assert(offsetof(struct chasqui_mpinp_pin, flags) == 20, "chasqui_mpinp_pin.flags");
_Static_assert(offsetof(struct chasqui_mpinp_pin, left) == 24, "chasqui_mpinp_pin.left");
_Static_assert(offsetof(struct chasqui_mpinp_pin, first) == 28, "chasqui_mpinp_pin.first");
_Static_assert(offsetof(struct chasqui_mpinp_pin, valid) == 32, "chasqui_mpinp_pin.valid");
_Static_assert(offsetof(struct chasqui_mpinp_pin, reserved) == 36, "chasqui_mpinp_pin.reserved");

struct chasqui_mpinp_keep {
    uint64_t address; /* Where it begins. */
    uint64_t bytes; /* Length [bytes]. */
    uint64_t entries; /* Address of 32 bits for each block in which it lies: the number of the block's entry among the process's that stay */
    uint32_t flags; /* Flags, as of MpinpPin. */
    uint32_t reserved; /* Not used. */
};
_Static_assert(sizeof(struct chasqui_mpinp_keep) == 32, "chasqui_mpinp_keep");
_Static_assert(offsetof(struct chasqui_mpinp_keep, address) == 0, "chasqui_mpinp_keep.address");
_Static_assert(offsetof(struct chasqui_mpinp_keep, bytes) == 8, "chasqui_mpinp_keep.bytes");
_Static_assert(offsetof(struct chasqui_mpinp_keep, entries) == 16, "chasqui_mpinp_keep.entries");
_Static_assert(offsetof(struct chasqui_mpinp_keep, flags) == 24, "chasqui_mpinp_keep.flags");
_Static_assert(offsetof(struct chasqui_mpinp_keep, reserved) == 28, "chasqui_mpinp_keep.reserved");

#endif
