/* Generated from machines/netcache/src/ethernet/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_ETHERNET_REGISTERS_H
#define CHASQUI_ETHERNET_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_ETHERNET_INTERFACE 0x691c931bu /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_ETHERNET_DEVICE 0x5ull /* Number by which MPI_Init picks the device over sockets, and the kernel the driver. */
#define CHASQUI_ETHERNET_CAUSE 0x0ull /* Register, loaded: what has happened, `CAUSE_*`; loading clears it, and with it the interrupt line (ICR). */
#define CHASQUI_ETHERNET_MASK_SET 0x8ull /* Register, stored: these causes assert the interrupt line (IMS). */
#define CHASQUI_ETHERNET_MASK_CLEAR 0x10ull /* Register, stored: these don't (IMC). */
#define CHASQUI_ETHERNET_RECEIVE_BASE 0x18ull /* Register, stored: physical address of the ring of receive descriptors (RDBA). */
#define CHASQUI_ETHERNET_RECEIVE_TAIL 0x20ull /* Register, stored: the first of its descriptors that is not the controller's (RDT). */
#define CHASQUI_ETHERNET_RECEIVE_HEAD 0x28ull /* Register, loaded: the next that the controller fills (RDH). */
#define CHASQUI_ETHERNET_TRANSMIT_BASE 0x30ull /* Register, stored: physical address of the ring of transmit descriptors (TDBA). */
#define CHASQUI_ETHERNET_TRANSMIT_TAIL 0x38ull /* Register, stored: the first of its descriptors that is not the controller's (TDT). */
#define CHASQUI_ETHERNET_TRANSMIT_HEAD 0x40ull /* Register, loaded: the next that the controller is done with (TDH). */
#define CHASQUI_ETHERNET_CAUSE_TRANSMITTED 0x1ull /* Cause: a transmit descriptor that asked for it was written back (TXDW). */
#define CHASQUI_ETHERNET_CAUSE_OVERRUN 0x40ull /* Cause: frames were lost for want of a descriptor or of room (RXO). */
#define CHASQUI_ETHERNET_CAUSE_RECEIVED 0x80ull /* Cause: a frame is in memory (RXT0). */
#define CHASQUI_ETHERNET_COMMAND_END 0x1ull /* Command of a transmit descriptor: the frame ends with it. All do. */
#define CHASQUI_ETHERNET_COMMAND_REPORT 0x8ull /* Command of a transmit descriptor: its status is to be written back (RS). */
#define CHASQUI_ETHERNET_STATUS_DONE 0x1ull /* Status: the controller is done with the descriptor (DD). */
#define CHASQUI_ETHERNET_STATUS_END 0x2ull /* Status of a receive descriptor: the frame ends with it. All do. */
#define CHASQUI_ETHERNET_HEADER_BYTES 0xeull /* Bytes of a frame before its packet: destination, source, type (IEEE 802.3, 3.1.1). */
#define CHASQUI_ETHERNET_BUFFER_BYTES 0x7e0ull /* Room of a receive buffer [bytes]. */
#define CHASQUI_ETHERNET_TYPE_IP 0x800ull /* Type of a frame with an IP packet (RFC 894). */
#define CHASQUI_ETHERNET_TYPE_VIA 0x88b5ull /* Type of a frame of VIA's: Local Experimental EtherType 1 (IEEE 802). */
#define CHASQUI_ETHERNET_SETTING_EAGER 0x0ull /* Setting of MPI over sockets: longest message that goes without rendezvous [bytes]. */
#define CHASQUI_ETHERNET_SETTING_POLLS 0x1ull /* Setting of MPI over sockets: 1: a process that waits in MPI polls, and never sleeps. */
#define CHASQUI_ETHERNET_SETTING_MTU 0xdull /* Setting: longest packet of a frame [bytes]. This one and those behind it stand beside VIA's. */
#define CHASQUI_ETHERNET_SETTING_TRANSMIT_SLOTS 0xeull /* Setting: descriptors of the transmit ring, a power of two. */
#define CHASQUI_ETHERNET_SETTING_RECEIVE_SLOTS 0xfull /* Setting: descriptors of the receive ring, a power of two. */
#define CHASQUI_ETHERNET_MPI_PORT 0xfa0ull /* Port on which each rank's MPI library listens. */

struct chasqui_ethernet_receive {
    uint64_t address; /* Physical address of its buffer. */
    uint16_t bytes; /* Bytes of the frame, without its check. */
    uint16_t checksum; /* Its checksum: 0, the controller makes none. */
    uint8_t status; /* `STATUS_*`. */
    uint8_t errors; /* Zero. */
    uint16_t special; /* Zero. */
};
_Static_assert(sizeof(struct chasqui_ethernet_receive) == 16, "chasqui_ethernet_receive");
_Static_assert(offsetof(struct chasqui_ethernet_receive, address) == 0, "chasqui_ethernet_receive.address");
_Static_assert(offsetof(struct chasqui_ethernet_receive, bytes) == 8, "chasqui_ethernet_receive.bytes");
_Static_assert(offsetof(struct chasqui_ethernet_receive, checksum) == 10, "chasqui_ethernet_receive.checksum");
_Static_assert(offsetof(struct chasqui_ethernet_receive, status) == 12, "chasqui_ethernet_receive.status");
_Static_assert(offsetof(struct chasqui_ethernet_receive, errors) == 13, "chasqui_ethernet_receive.errors");
_Static_assert(offsetof(struct chasqui_ethernet_receive, special) == 14, "chasqui_ethernet_receive.special");

struct chasqui_ethernet_transmit {
    uint64_t address; /* Physical address of the frame. */
    uint16_t bytes; /* Its bytes, without its check. */
    uint8_t checksum_offset; /* Zero: the controller makes no checksums. */
    uint8_t command; /* `COMMAND_*`. */
    uint8_t status; /* `STATUS_*`. */
    uint8_t checksum_start; /* Zero. */
    uint16_t special; /* Zero. */
};
_Static_assert(sizeof(struct chasqui_ethernet_transmit) == 16, "chasqui_ethernet_transmit");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, address) == 0, "chasqui_ethernet_transmit.address");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, bytes) == 8, "chasqui_ethernet_transmit.bytes");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, checksum_offset) == 10, "chasqui_ethernet_transmit.checksum_offset");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, command) == 11, "chasqui_ethernet_transmit.command");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, status) == 12, "chasqui_ethernet_transmit.status");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, checksum_start) == 13, "chasqui_ethernet_transmit.checksum_start");
_Static_assert(offsetof(struct chasqui_ethernet_transmit, special) == 14, "chasqui_ethernet_transmit.special");

struct chasqui_stream_header {
    struct chasqui_envelope envelope; /* Its envelope. */
    uint64_t bytes; /* Bytes of payload that follow. */
    uint64_t to; /* Where they go in the receiver's memory; 0: to where its receive says. */
};
_Static_assert(sizeof(struct chasqui_stream_header) == 56, "chasqui_stream_header");
_Static_assert(offsetof(struct chasqui_stream_header, envelope) == 0, "chasqui_stream_header.envelope");
_Static_assert(offsetof(struct chasqui_stream_header, bytes) == 40, "chasqui_stream_header.bytes");
_Static_assert(offsetof(struct chasqui_stream_header, to) == 48, "chasqui_stream_header.to");

#endif
