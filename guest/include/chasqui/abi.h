/* Generated from crates/abi/src/lib.rs; change that and run `make headers`. */
#ifndef CHASQUI_ABI_H
#define CHASQUI_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_NI_MAGIC 0x3149555153414843ull /* `magic` of a valid identification page: "CHASQUI1" in little-endian ASCII. */
#define CHASQUI_ABI_VERSION 0x4ull /* Version of the layouts in this crate; the guest library refuses another. */
#define CHASQUI_NI_REGIONS 0x9ull /* Regions of the NI that a process may map (the identification page is not counted). */
#define CHASQUI_NI_REGION_STRIDE 0x100000000ull /* Spacing [bytes] of the regions' `mmap` offsets in `/dev/ni0`: region `i` is at `(i + 1) * NI_REGION_STRIDE`; */
#define CHASQUI_NI_PLACEMENT 0xf00ull /* Where in the page of the identification [bytes] the [`NiPlacement`] is. */
#define CHASQUI_NI_REGION_UNCACHED 0x1ull /* Region flag: processor accesses are uncached single-beat bus transactions. */
#define CHASQUI_ENVELOPE_NUMBERED_HERE 0x1ull /* Envelope flag: `sequence` is a number of the receiving process's own, which it tells by `TAKEN`: the device */

#define CHASQUI_PACKET_EAGER 0x1ull /* A message with its data. */
#define CHASQUI_PACKET_SYNCHRONOUS 0x2ull /* The same; the sender waits for `MATCHED`. */
#define CHASQUI_PACKET_READY_TO_SEND 0x3ull /* A message whose data wait for `CLEAR_TO_SEND`. */
#define CHASQUI_PACKET_LAST_MESSAGE 0x3ull /* Those up to this one begin a message. What is above has sequence 0, except where it carries a message's data. */
#define CHASQUI_PACKET_CLEAR_TO_SEND 0x4ull /* `bytes` are wanted for `receiver`; payload: their address. */
#define CHASQUI_PACKET_MATCHED 0x5ull /* `sender`'s message met its receive. */
#define CHASQUI_PACKET_FINISHED 0x6ull /* A put has filled `receiver`'s buffer. Carries the message's number. */
#define CHASQUI_PACKET_SEGMENT 0x7ull /* The next `bytes` bytes for `receiver`. Carries the message's number. */
#define CHASQUI_PACKET_CANCEL 0x8ull /* `sender`'s message is not wanted any more, if it has met no receive. */
#define CHASQUI_PACKET_CANCELLED 0x9ull /* The answer to `CANCEL`: `sender`'s message is gone. */
#define CHASQUI_PACKET_KINDS 0x20ull /* Kinds are below it. The library asks no more of one than a function that takes what arrives. */

#define CHASQUI_CONTEXT_EACH 0x4ull /* Contexts of a communicator. */
#define CHASQUI_CONTEXT_NONBLOCKING 0x2ull /* Of its messages: those of nonblocking and persistent collectives, of which each operation has tags of its own. */
#define CHASQUI_CONTEXT_CREATION 0x3ull /* Those by which the members of a new communicator agree on it. */

#define CHASQUI_MARK_CALL 0x1ull /* An MPI call is entered; `imm[11:5]` = call number (`guest/mpi/runtime/calls.h`); `rs1` = x0. */
#define CHASQUI_MARK_RETURN 0x2ull /* The MPI call returns; `imm[11:5]` = call number; `rs1` = x0. */
#define CHASQUI_MARK_SEND 0x3ull /* A message begins; `rs1` = address of its [`super::Envelope`]. */
#define CHASQUI_MARK_READY 0x4ull /* The message was handed to the NI; `rs1` = address of its envelope. */
#define CHASQUI_MARK_POST 0x5ull /* A receive is posted; `rs1` = the request's address, a name until it is matched. */
#define CHASQUI_MARK_MATCH 0x6ull /* The request named by the latest `MATCH_REQUEST` met the message; `rs1` = address of its envelope. */
#define CHASQUI_MARK_MATCH_REQUEST 0x7ull /* Names the request of the `MATCH` that follows; `rs1` = the request's address. */
#define CHASQUI_MARK_DELIVER 0x8ull /* The message's data is where the program asked; `rs1` = the request's address. */
#define CHASQUI_MARK_DONE 0x9ull /* The program learns that its receive is complete (as the current call returns); `rs1` = the request's address. */
#define CHASQUI_MARK_BLOCKED 0xaull /* The process can go on only when this request completes; `rs1` = the request's address, x0: it waits no more. */
#define CHASQUI_MARK_PROTOCOL 0xbull /* How the message travels, for the record; `rs1` = a number that the device documents. */
#define CHASQUI_MARK_PROTOCOL_MEMORY 0xffull /* Such a number: by memory that its two processes share. */
#define CHASQUI_MARK_WAITING 0xcull /* What a blocked process waits for, in words: `rs1` = address of a NUL-terminated text, x0: nothing. */
#define CHASQUI_MARK_ABORT 0xdull /* The whole job must end (MPI_Abort); `rs1` = its exit status. */
#define CHASQUI_MARK_REGION 0xeull /* The part of interest begins, or ends if `rs1` = 0: what `--fast-forward` waits for (`chasqui/region.h`). */
#define CHASQUI_MARK_CARRY 0xfull /* The next store into the NI carries (a part of) the message, unnamed; `rs1` = address of its envelope. */
#define CHASQUI_MARK_TAKEN 0x10ull /* What the latest load from the NI took is the message of the envelope at `rs1`, numbered here. */
#define CHASQUI_MARK_REQUEST_BUFFER 0x50ull /* Where in the request of a `DELIVER` [bytes] its data's address is. */
#define CHASQUI_MARK_REQUEST_TYPE 0x60ull /* Where a word is that is 0 if the data lie there one after the other. */
#define CHASQUI_MARK_REQUEST_GOT 0x88ull /* Where their length [bytes] is. */
#define CHASQUI_MARK_DATA 0x11ull /* Where the data of the message are whose `SEND` follows, for recordings; `rs1` = their address. */
#define CHASQUI_MARK_QUEUED 0x12ull /* A message that no posted receive takes joins those that wait; `rs1` = address of its envelope. */
#define CHASQUI_MARK_COPIED 0x13ull /* The data of such a message are copied aside until its receive comes; `rs1` = address of its envelope. */
#define CHASQUI_MARK_YIELDED 0x14ull /* The process has polled in vain and given its hart up, and begins to count its polls anew. */

#define CHASQUI_REQUEST_KEY 0x0ull /* Where [bytes] a posted receive has what it matches: from the lowest bit on tag (32), context (16), sender (16). */
#define CHASQUI_REQUEST_ANY_SOURCE 0xffffull /* The sender of a receive from any. */
#define CHASQUI_REQUEST_COMPLETE 0x28ull /* Where a byte is that says whether the request is complete, and behind it what it is. */
#define CHASQUI_REQUEST_SEND 0x1ull /* That is a send. */
#define CHASQUI_REQUEST_RECEIVE 0x2ull /* A receive. */
#define CHASQUI_REQUEST_COMMUNICATOR 0x78ull /* Where the address of its communicator is. */
#define CHASQUI_REQUEST_ENVELOPE 0xa0ull /* Where a send has its message's envelope. */

#define CHASQUI_COMMUNICATOR_SIZE 0x4ull /* Where [bytes] its size is. */
#define CHASQUI_COMMUNICATOR_WORLD 0x18ull /* Where the address of its processes' world ranks is, 16 bits each; 0: they are the ranks. */
#define CHASQUI_COMMUNICATOR_CONTEXT 0x20ull /* Where its context is. */
#define CHASQUI_COMMUNICATOR_NAME 0x60ull /* Where the address of its name is, 0: it has none. */
#define CHASQUI_COMMUNICATOR_NAME_BYTES 0x80ull /* Length of a name, at most. */
#define CHASQUI_COMMUNICATOR_HANDLE_WORLD 0x101ull /* Handle of MPI_COMM_WORLD. */
#define CHASQUI_COMMUNICATOR_HANDLE_SELF 0x102ull /* Handle of MPI_COMM_SELF. */

struct chasqui_ni_region {
    uint64_t bytes; /* Length [bytes], a multiple of the page; 0: no such region. */
    uint32_t flags; /* `NI_REGION_*` flags. */
    uint32_t reserved; /* Zero. */
};
_Static_assert(sizeof(struct chasqui_ni_region) == 16, "chasqui_ni_region");
_Static_assert(offsetof(struct chasqui_ni_region, bytes) == 0, "chasqui_ni_region.bytes");
_Static_assert(offsetof(struct chasqui_ni_region, flags) == 8, "chasqui_ni_region.flags");
_Static_assert(offsetof(struct chasqui_ni_region, reserved) == 12, "chasqui_ni_region.reserved");

struct chasqui_ni_identification {
    uint64_t magic; /* [`NI_MAGIC`]. */
    uint32_t version; /* [`ABI_VERSION`]. */
    uint32_t device; /* Which MPI device drives this NI (each machine has its own number). */
    uint32_t rank; /* This process's rank in the job. */
    uint32_t ranks; /* Ranks in the job. */
    uint32_t line_bytes; /* Line size [bytes] of the node's data cache. */
    uint32_t timebase_hz; /* Frequency [Hz] of the `time` CSR. */
    struct chasqui_ni_region regions[9]; /* The mappable regions. */
    uint64_t settings[16]; /* Settings peculiar to the device (each machine documents its own). */
    uint32_t mpi_settings; /* Where in this page [bytes] settings of the MPI library are (collectives, `crates/machine`); 0: none. */
    uint32_t interface; /* Names the device's definitions and these ([`header::DeviceHeader::interface`]); a device with another is not */
};
_Static_assert(sizeof(struct chasqui_ni_identification) == 312, "chasqui_ni_identification");
_Static_assert(offsetof(struct chasqui_ni_identification, magic) == 0, "chasqui_ni_identification.magic");
_Static_assert(offsetof(struct chasqui_ni_identification, version) == 8, "chasqui_ni_identification.version");
_Static_assert(offsetof(struct chasqui_ni_identification, device) == 12, "chasqui_ni_identification.device");
_Static_assert(offsetof(struct chasqui_ni_identification, rank) == 16, "chasqui_ni_identification.rank");
_Static_assert(offsetof(struct chasqui_ni_identification, ranks) == 20, "chasqui_ni_identification.ranks");
_Static_assert(offsetof(struct chasqui_ni_identification, line_bytes) == 24, "chasqui_ni_identification.line_bytes");
_Static_assert(offsetof(struct chasqui_ni_identification, timebase_hz) == 28, "chasqui_ni_identification.timebase_hz");
_Static_assert(offsetof(struct chasqui_ni_identification, regions) == 32, "chasqui_ni_identification.regions");
_Static_assert(offsetof(struct chasqui_ni_identification, settings) == 176, "chasqui_ni_identification.settings");
_Static_assert(offsetof(struct chasqui_ni_identification, mpi_settings) == 304, "chasqui_ni_identification.mpi_settings");
_Static_assert(offsetof(struct chasqui_ni_identification, interface) == 308, "chasqui_ni_identification.interface");

struct chasqui_ni_placement {
    uint32_t node; /* The process's node. */
    uint32_t process; /* Its number among its job's processes there. */
    uint32_t ranks_per_node; /* Processes of the job on a node, at most. */
    uint32_t nodes; /* Nodes that the job is on. */
    uint32_t by_node; /* 0: rank r is on node r / `ranks_per_node`; 1: on node r % `nodes`. */
    uint32_t reserved; /* 0. */
    uint64_t shared_bytes; /* Length [bytes] of the memory that the job's processes of the node share, 0 at first: the mapping behind the */
};
_Static_assert(sizeof(struct chasqui_ni_placement) == 32, "chasqui_ni_placement");
_Static_assert(offsetof(struct chasqui_ni_placement, node) == 0, "chasqui_ni_placement.node");
_Static_assert(offsetof(struct chasqui_ni_placement, process) == 4, "chasqui_ni_placement.process");
_Static_assert(offsetof(struct chasqui_ni_placement, ranks_per_node) == 8, "chasqui_ni_placement.ranks_per_node");
_Static_assert(offsetof(struct chasqui_ni_placement, nodes) == 12, "chasqui_ni_placement.nodes");
_Static_assert(offsetof(struct chasqui_ni_placement, by_node) == 16, "chasqui_ni_placement.by_node");
_Static_assert(offsetof(struct chasqui_ni_placement, reserved) == 20, "chasqui_ni_placement.reserved");
_Static_assert(offsetof(struct chasqui_ni_placement, shared_bytes) == 24, "chasqui_ni_placement.shared_bytes");

struct chasqui_envelope {
    uint8_t kind; /* What this packet is to the MPI library ([`packet`]). */
    uint8_t flags; /* `ENVELOPE_*` flags. */
    uint16_t context; /* Context id of the communicator. */
    uint16_t source; /* World rank of the message's sender. */
    uint16_t destination; /* World rank of the message's receiver. */
    int32_t tag; /* Tag. */
    uint32_t sequence; /* Number of the message among all that `source` has sent. */
    uint64_t bytes; /* Length of the message's data [bytes]. */
    uint64_t sender; /* Names the send request at the sender, where a reply is wanted. */
    uint64_t receiver; /* Names the receive request, or an address, at the receiver. */
};
_Static_assert(sizeof(struct chasqui_envelope) == 40, "chasqui_envelope");
_Static_assert(offsetof(struct chasqui_envelope, kind) == 0, "chasqui_envelope.kind");
_Static_assert(offsetof(struct chasqui_envelope, flags) == 1, "chasqui_envelope.flags");
_Static_assert(offsetof(struct chasqui_envelope, context) == 2, "chasqui_envelope.context");
_Static_assert(offsetof(struct chasqui_envelope, source) == 4, "chasqui_envelope.source");
_Static_assert(offsetof(struct chasqui_envelope, destination) == 6, "chasqui_envelope.destination");
_Static_assert(offsetof(struct chasqui_envelope, tag) == 8, "chasqui_envelope.tag");
_Static_assert(offsetof(struct chasqui_envelope, sequence) == 12, "chasqui_envelope.sequence");
_Static_assert(offsetof(struct chasqui_envelope, bytes) == 16, "chasqui_envelope.bytes");
_Static_assert(offsetof(struct chasqui_envelope, sender) == 24, "chasqui_envelope.sender");
_Static_assert(offsetof(struct chasqui_envelope, receiver) == 32, "chasqui_envelope.receiver");

/* What a receive matches messages by, as a number: their source (a world rank), context and tag. */
static inline uint64_t chasqui_match_key(uint32_t source, uint32_t context, uint32_t tag)
{
    return (uint64_t)(source) << 48 | (uint64_t)(context) << 32 | (uint64_t)(tag);
}

/* Whether messages of a context may be counted by key: keys of nonblocking collectives would be too many. */
static inline bool chasqui_context_is_lasting(uint64_t context)
{
    return context % (uint64_t)(CHASQUI_CONTEXT_EACH) != (uint64_t)(CHASQUI_CONTEXT_NONBLOCKING);
}

#endif
