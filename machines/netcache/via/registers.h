/* Generated from machines/netcache/src/via/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_VIA_REGISTERS_H
#define CHASQUI_VIA_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_VIA_INTERFACE 0xb1bce4f4u /* Names all that is defined here and in chasqui/abi.h. */

#define CHASQUI_VIA_DEVICE 0x4ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_VIA_REGION_DOORBELLS 0x0ull /* Region: doorbells, uncached, all that a process sees of the NIC. */
#define CHASQUI_VIA_DOORBELL_BYTES 0x10ull /* Bytes from one VI's doorbells to the next one's. */
#define CHASQUI_VIA_DOORBELL_SEND 0x0ull /* Doorbell, stored: `doorbell` of a descriptor on the send queue. */
#define CHASQUI_VIA_DOORBELL_RECEIVE 0x8ull /* Doorbell, stored: the same on the receive queue. */
#define CHASQUI_VIA_DOORBELL_HANDLE_SHIFT 0x20ull /* A doorbell's value: the descriptor's memory handle in the high half, its virtual address without the last 6 bits. */
#define CHASQUI_VIA_DESCRIPTOR_SHIFT 0x6ull /* Descriptors are aligned to so many bits. */
#define CHASQUI_VIA_CAUSE 0x100000ull /* Register of the driver's, loaded: why the interrupt line is asserted, `CAUSE_*`; stored: these are no more. */
#define CHASQUI_VIA_CAUSE_COMPLETION 0x1ull /* Cause: a completion queue that waited for an entry has one. */
#define CHASQUI_VIA_CAUSE_ERROR 0x2ull /* Cause: a VI is in error. */
#define CHASQUI_VIA_QUEUES 0x110000ull /* Registers of completion queues, of the driver's: those of all processes, as are VIs and entries of the table below. */
#define CHASQUI_VIA_QUEUE_BYTES 0x20ull /* Bytes from one queue's registers to the next one's. */
#define CHASQUI_VIA_QUEUE_ADDRESS 0x0ull /* Stored: virtual address of its first entry. */
#define CHASQUI_VIA_QUEUE_MEMORY 0x8ull /* Stored: its memory handle; in the high half its entries, a power of two; 0: no queue. */
#define CHASQUI_VIA_QUEUE_TAG 0x10ull /* Stored: its protection tag. */
#define CHASQUI_VIA_QUEUE_ARM 0x18ull /* Stored: interrupt once there are more entries than so many. */
#define CHASQUI_VIA_NO_QUEUE 0xffffffffull /* Number of no queue. */
#define CHASQUI_VIA_VIS 0x200000ull /* Registers of VIs, of the driver's. */
#define CHASQUI_VIA_VI_BYTES 0x40ull /* Bytes from one VI's registers to the next one's. */
#define CHASQUI_VIA_VI_STATE 0x0ull /* Stored: `VI_IDLE` or `VI_CONNECTED`; loaded: these or `VI_ERROR`. */
#define CHASQUI_VIA_VI_TAG 0x8ull /* Stored: its protection tag. */
#define CHASQUI_VIA_VI_REMOTE 0x10ull /* Stored: the node that it is connected to; in the high half the VI there. */
#define CHASQUI_VIA_VI_QUEUES 0x18ull /* Stored: number of the completion queue of its send queue; in the high half of its receive queue. */
#define CHASQUI_VIA_VI_IDLE 0x0ull /* State: not connected; all is as after reset. */
#define CHASQUI_VIA_VI_CONNECTED 0x1ull /* State: connected. */
#define CHASQUI_VIA_VI_ERROR 0x2ull /* State: an error has ended the connection. */
#define CHASQUI_VIA_TABLE 0x400000ull /* Entries of the translation and protection table, of the driver's. */
#define CHASQUI_VIA_TABLE_BYTES 0x10ull /* Bytes of an entry. */
#define CHASQUI_VIA_TABLE_PAGE 0x0ull /* First word of an entry: the page's physical address, and `TABLE_*`. */
#define CHASQUI_VIA_TABLE_TAG 0x8ull /* Second word: protection tag; in the high half the number of the virtual page. */
#define CHASQUI_VIA_TABLE_VALID 0x1ull /* The entry is valid. */
#define CHASQUI_VIA_TABLE_WRITE 0x2ull /* The NIC may write the page. */
#define CHASQUI_VIA_TABLE_RDMA_WRITE 0x4ull /* Others may, by RDMA writes. */
#define CHASQUI_VIA_CONTROL_OPERATION 0x3ull /* Control: what a descriptor asks for. */
#define CHASQUI_VIA_CONTROL_SEND_RECEIVE 0x0ull /* Operation: send, or receive. */
#define CHASQUI_VIA_CONTROL_RDMA_WRITE 0x1ull /* Operation: RDMA write. */
#define CHASQUI_VIA_CONTROL_IMMEDIATE 0x4ull /* Control: immediate data go along. */
#define CHASQUI_VIA_STATUS_DONE 0x1ull /* Status: complete. */
#define CHASQUI_VIA_STATUS_FORMAT_ERROR 0x2ull /* Status: the descriptor's form is wrong. */
#define CHASQUI_VIA_STATUS_PROTECTION_ERROR 0x4ull /* Status: a memory handle is not right for an address, its bytes or the protection tag. */
#define CHASQUI_VIA_STATUS_LENGTH_ERROR 0x8ull /* Status: the message is longer than what its descriptor has room for, or than the NIC sends. */
#define CHASQUI_VIA_STATUS_FLUSHED 0x20ull /* Status: not dealt with, because the connection has ended. */
#define CHASQUI_VIA_STATUS_TRANSPORT_ERROR 0x40ull /* Status: the other side was not ready too many times. */
#define CHASQUI_VIA_STATUS_RDMA_PROTECTION_ERROR 0x80ull /* Status: an RDMA write to memory that the other side did not allow. */
#define CHASQUI_VIA_STATUS_REMOTE_ERROR 0x100ull /* Status: the other side's descriptor was in error. */
#define CHASQUI_VIA_STATUS_ERRORS 0x1feull /* Status: all errors. */
#define CHASQUI_VIA_STATUS_OPERATION 0xff0000ull /* Status: of what operation it is. */
#define CHASQUI_VIA_STATUS_SEND 0x0ull /* Operation: a send. */
#define CHASQUI_VIA_STATUS_RECEIVE 0x10000ull /* Operation: a receive. */
#define CHASQUI_VIA_STATUS_RDMA_WRITE 0x20000ull /* Operation: an RDMA write. */
#define CHASQUI_VIA_STATUS_IMMEDIATE 0x1000000ull /* Status: immediate data have come. */
#define CHASQUI_VIA_ENTRY_RECEIVE 0x80000000ull /* Flag in an entry of a completion queue: it is of the VI's receive queue. */
#define CHASQUI_VIA_SETTING_EAGER 0x0ull /* Setting: longest message that goes without rendezvous [bytes]. */
#define CHASQUI_VIA_SETTING_SLOTS 0x1ull /* Setting: buffers for sending. */
#define CHASQUI_VIA_SETTING_RECEIVES 0x2ull /* Setting: receive descriptors that wait at each VI. */
#define CHASQUI_VIA_SETTING_ZERO_COPY 0x3ull /* Setting: payloads go to the program's buffer by DMA. */
#define CHASQUI_VIA_SETTING_BLOCKS 0x4ull /* Setting: a process that waits sleeps in the kernel. */
#define CHASQUI_VIA_SETTING_VIS 0x5ull /* Setting: VIs. */
#define CHASQUI_VIA_SETTING_PAGES 0x6ull /* Setting: entries of the translation and protection table. */
#define CHASQUI_VIA_SETTING_DEPTH 0x7ull /* Setting: descriptors that a queue takes. */
#define CHASQUI_VIA_SETTING_QUEUES 0x9ull /* Setting: completion queues. */
#define CHASQUI_VIA_SETTING_TRANSFER 0x8ull /* Setting: longest message [bytes]. */
#define CHASQUI_VIA_SETTING_SPARE 0xaull /* Setting: buffers of the MPI device beside those that its receive descriptors have. */
#define CHASQUI_VIA_SETTING_WINDOW 0xbull /* Setting: the kernel is the NIC, over an Ethernet controller, and doorbells are traps. Packets of a VI that may be under */
#define CHASQUI_VIA_SETTING_TIMES 0xcull /* Setting, with that: after a refusal the time until it is sent again [ns]; in the high half after silence. */
#define CHASQUI_VIA_TRAP 0x700ull /* Number of the system call that is a doorbell, if the kernel is the NIC: in a0 twice the VI's number, and 1 more for its */
#define CHASQUI_VIA_CONTROL_OPEN 0x7100ull /* `ioctl`: opens the NIC; `ViaOpen`. */
#define CHASQUI_VIA_CONTROL_REGISTER 0x7101ull /* `ioctl`: registers memory; `ViaMemory`. */
#define CHASQUI_VIA_CONTROL_DEREGISTER 0x7102ull /* `ioctl`: ends that; `ViaMemory`. */
#define CHASQUI_VIA_CONTROL_CREATE_QUEUE 0x7103ull /* `ioctl`: makes a completion queue; `ViaQueue`. */
#define CHASQUI_VIA_CONTROL_DESTROY_QUEUE 0x7104ull /* `ioctl`: ends the completion queue of that number. */
#define CHASQUI_VIA_CONTROL_CREATE_VI 0x7105ull /* `ioctl`: makes a VI; `ViaEndpoint`. */
#define CHASQUI_VIA_CONTROL_DESTROY_VI 0x7106ull /* `ioctl`: ends the VI of that number. */
#define CHASQUI_VIA_CONTROL_CONNECT 0x7107ull /* `ioctl`: connects a VI; `ViaConnection`. */
#define CHASQUI_VIA_CONTROL_WAIT 0x7108ull /* `ioctl`: sleeps until a completion queue has an entry; `ViaWait`. */

#define CHASQUI_VIA_PACKET_SEND 0x1ull /* Kind of a packet: a message for a receive descriptor. */
#define CHASQUI_VIA_PACKET_WRITE 0x2ull /* Kind: a piece of an RDMA write. */
#define CHASQUI_VIA_PACKET_REPLY 0x3ull /* Kind: a reply. */
#define CHASQUI_VIA_PACKET_ASKS 0x1ull /* Flag: the sender wants a reply. */
#define CHASQUI_VIA_PACKET_HAS_IMMEDIATE 0x2ull /* Flag: there are immediate data. */
#define CHASQUI_VIA_PACKET_ACCEPTED 0x0ull /* Reply: all packets before the one that is awaited have come. */
#define CHASQUI_VIA_PACKET_NOT_READY 0x1ull /* Reply: the same, and the one that is awaited came and found no descriptor. */

struct chasqui_via_segment {
    uint64_t address; /* Virtual address: here, or at the other side. */
    uint32_t handle; /* Its memory handle. */
    uint32_t bytes; /* Length [bytes]; of an address segment nothing. */
};
_Static_assert(sizeof(struct chasqui_via_segment) == 16, "chasqui_via_segment");
_Static_assert(offsetof(struct chasqui_via_segment, address) == 0, "chasqui_via_segment.address");
_Static_assert(offsetof(struct chasqui_via_segment, handle) == 8, "chasqui_via_segment.handle");
_Static_assert(offsetof(struct chasqui_via_segment, bytes) == 12, "chasqui_via_segment.bytes");

struct chasqui_via_descriptor {
    uint64_t next; /* The library's: the next descriptor of the queue. */
    uint32_t next_handle; /* The library's: its memory handle. */
    uint16_t segments; /* Segments, the address segment among them. */
    uint16_t control; /* `CONTROL_*`. */
    uint32_t reserved; /* Zero. */
    uint32_t immediate; /* Immediate data, 4 bytes that go along. */
    uint32_t length; /* Length of all data segments; of what has come, once complete [bytes]. */
    uint32_t status; /* `STATUS_*`, written last. */
    struct chasqui_via_segment segment[2]; /* The segments. */
};
_Static_assert(sizeof(struct chasqui_via_descriptor) == 64, "chasqui_via_descriptor");
_Static_assert(offsetof(struct chasqui_via_descriptor, next) == 0, "chasqui_via_descriptor.next");
_Static_assert(offsetof(struct chasqui_via_descriptor, next_handle) == 8, "chasqui_via_descriptor.next_handle");
_Static_assert(offsetof(struct chasqui_via_descriptor, segments) == 12, "chasqui_via_descriptor.segments");
_Static_assert(offsetof(struct chasqui_via_descriptor, control) == 14, "chasqui_via_descriptor.control");
_Static_assert(offsetof(struct chasqui_via_descriptor, reserved) == 16, "chasqui_via_descriptor.reserved");
_Static_assert(offsetof(struct chasqui_via_descriptor, immediate) == 20, "chasqui_via_descriptor.immediate");
_Static_assert(offsetof(struct chasqui_via_descriptor, length) == 24, "chasqui_via_descriptor.length");
_Static_assert(offsetof(struct chasqui_via_descriptor, status) == 28, "chasqui_via_descriptor.status");
_Static_assert(offsetof(struct chasqui_via_descriptor, segment) == 32, "chasqui_via_descriptor.segment");

struct chasqui_via_entry {
    uint32_t vi; /* The VI, and `ENTRY_RECEIVE`. */
    uint32_t number; /* Number of the entry, from 1 on: it is here. */
};
_Static_assert(sizeof(struct chasqui_via_entry) == 8, "chasqui_via_entry");
_Static_assert(offsetof(struct chasqui_via_entry, vi) == 0, "chasqui_via_entry.vi");
_Static_assert(offsetof(struct chasqui_via_entry, number) == 4, "chasqui_via_entry.number");

struct chasqui_via_open {
    uint32_t tag; /* Protection tag of the process. */
    uint32_t reserved; /* Zero. */
    uint64_t invalidations; /* Where the driver counts the registrations that it ends because memory is unmapped: 8 bytes that stay where they are; 0: nowhere. */
};
_Static_assert(sizeof(struct chasqui_via_open) == 16, "chasqui_via_open");
_Static_assert(offsetof(struct chasqui_via_open, tag) == 0, "chasqui_via_open.tag");
_Static_assert(offsetof(struct chasqui_via_open, reserved) == 4, "chasqui_via_open.reserved");
_Static_assert(offsetof(struct chasqui_via_open, invalidations) == 8, "chasqui_via_open.invalidations");

struct chasqui_via_memory {
    uint64_t address; /* Virtual address. */
    uint64_t bytes; /* Length [bytes]. */
    uint32_t tag; /* Protection tag. */
    uint32_t access; /* What may be done with it: `TABLE_RDMA_WRITE` or 0. */
    uint32_t handle; /* Its handle, the driver's answer. */
    uint32_t reserved; /* Zero. */
};
_Static_assert(sizeof(struct chasqui_via_memory) == 32, "chasqui_via_memory");
_Static_assert(offsetof(struct chasqui_via_memory, address) == 0, "chasqui_via_memory.address");
_Static_assert(offsetof(struct chasqui_via_memory, bytes) == 8, "chasqui_via_memory.bytes");
_Static_assert(offsetof(struct chasqui_via_memory, tag) == 16, "chasqui_via_memory.tag");
_Static_assert(offsetof(struct chasqui_via_memory, access) == 20, "chasqui_via_memory.access");
_Static_assert(offsetof(struct chasqui_via_memory, handle) == 24, "chasqui_via_memory.handle");
_Static_assert(offsetof(struct chasqui_via_memory, reserved) == 28, "chasqui_via_memory.reserved");

struct chasqui_via_queue {
    uint64_t address; /* Virtual address of its entries. */
    uint32_t handle; /* Their memory handle. */
    uint32_t entries; /* How many they are, a power of two. */
    uint32_t tag; /* Protection tag. */
    uint32_t number; /* Its number, the driver's answer. */
};
_Static_assert(sizeof(struct chasqui_via_queue) == 24, "chasqui_via_queue");
_Static_assert(offsetof(struct chasqui_via_queue, address) == 0, "chasqui_via_queue.address");
_Static_assert(offsetof(struct chasqui_via_queue, handle) == 8, "chasqui_via_queue.handle");
_Static_assert(offsetof(struct chasqui_via_queue, entries) == 12, "chasqui_via_queue.entries");
_Static_assert(offsetof(struct chasqui_via_queue, tag) == 16, "chasqui_via_queue.tag");
_Static_assert(offsetof(struct chasqui_via_queue, number) == 20, "chasqui_via_queue.number");

struct chasqui_via_endpoint {
    uint32_t number; /* Its number, which is free. */
    uint32_t tag; /* Protection tag. */
    uint32_t send_queue; /* Completion queue of its send queue, or `NO_QUEUE`. */
    uint32_t receive_queue; /* Completion queue of its receive queue, or `NO_QUEUE`. */
};
_Static_assert(sizeof(struct chasqui_via_endpoint) == 16, "chasqui_via_endpoint");
_Static_assert(offsetof(struct chasqui_via_endpoint, number) == 0, "chasqui_via_endpoint.number");
_Static_assert(offsetof(struct chasqui_via_endpoint, tag) == 4, "chasqui_via_endpoint.tag");
_Static_assert(offsetof(struct chasqui_via_endpoint, send_queue) == 8, "chasqui_via_endpoint.send_queue");
_Static_assert(offsetof(struct chasqui_via_endpoint, receive_queue) == 12, "chasqui_via_endpoint.receive_queue");

struct chasqui_via_connection {
    uint32_t number; /* The one here. */
    uint32_t rank; /* The other's rank. */
    uint32_t remote; /* Its number there, among that process's. */
    uint32_t reserved; /* Zero. */
};
_Static_assert(sizeof(struct chasqui_via_connection) == 16, "chasqui_via_connection");
_Static_assert(offsetof(struct chasqui_via_connection, number) == 0, "chasqui_via_connection.number");
_Static_assert(offsetof(struct chasqui_via_connection, rank) == 4, "chasqui_via_connection.rank");
_Static_assert(offsetof(struct chasqui_via_connection, remote) == 8, "chasqui_via_connection.remote");
_Static_assert(offsetof(struct chasqui_via_connection, reserved) == 12, "chasqui_via_connection.reserved");

struct chasqui_via_wait {
    uint32_t queue; /* The completion queue. */
    uint32_t consumed; /* Entries that have been dealt with. */
};
_Static_assert(sizeof(struct chasqui_via_wait) == 8, "chasqui_via_wait");
_Static_assert(offsetof(struct chasqui_via_wait, queue) == 0, "chasqui_via_wait.queue");
_Static_assert(offsetof(struct chasqui_via_wait, consumed) == 4, "chasqui_via_wait.consumed");

struct chasqui_via_header {
    uint16_t kind; /* `SEND`, `WRITE` or `REPLY`. */
    uint16_t flags; /* `ASKS`, `HAS_IMMEDIATE`. */
    uint32_t to; /* The VI that it is for. */
    uint32_t from; /* The VI that it is from. */
    uint32_t sequence; /* Its number among the packets of the connection; of a reply the number of the packet that is awaited. */
    uint32_t value; /* Immediate data; of a reply `ACCEPTED`, `NOT_READY` or the status of an error. */
    uint32_t handle; /* Memory handle of a piece. */
    uint64_t address; /* Where a piece goes; of a message in several frames the offset of the frame's data. */
};
_Static_assert(sizeof(struct chasqui_via_header) == 32, "chasqui_via_header");
_Static_assert(offsetof(struct chasqui_via_header, kind) == 0, "chasqui_via_header.kind");
_Static_assert(offsetof(struct chasqui_via_header, flags) == 2, "chasqui_via_header.flags");
_Static_assert(offsetof(struct chasqui_via_header, to) == 4, "chasqui_via_header.to");
_Static_assert(offsetof(struct chasqui_via_header, from) == 8, "chasqui_via_header.from");
_Static_assert(offsetof(struct chasqui_via_header, sequence) == 12, "chasqui_via_header.sequence");
_Static_assert(offsetof(struct chasqui_via_header, value) == 16, "chasqui_via_header.value");
_Static_assert(offsetof(struct chasqui_via_header, handle) == 20, "chasqui_via_header.handle");
_Static_assert(offsetof(struct chasqui_via_header, address) == 24, "chasqui_via_header.address");

struct chasqui_via_frame {
    struct chasqui_via_header header; /* The packet's. */
    uint32_t bytes; /* Data of this frame [bytes]. */
    uint32_t left; /* Data of the message in frames behind it [bytes]. */
};
_Static_assert(sizeof(struct chasqui_via_frame) == 40, "chasqui_via_frame");
_Static_assert(offsetof(struct chasqui_via_frame, header) == 0, "chasqui_via_frame.header");
_Static_assert(offsetof(struct chasqui_via_frame, bytes) == 32, "chasqui_via_frame.bytes");
_Static_assert(offsetof(struct chasqui_via_frame, left) == 36, "chasqui_via_frame.left");

#endif
