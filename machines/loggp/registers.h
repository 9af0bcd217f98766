/* Generated from machines/loggp/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_LOGGP_REGISTERS_H
#define CHASQUI_LOGGP_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_LOGGP_INTERFACE 0xa111f6eu /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_LOGGP_DEVICE 0x1ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_LOGGP_SEND 0x0ull /* Store: send the message that the [`Send`] at this address describes. */
#define CHASQUI_LOGGP_ARRIVED 0x8ull /* Load: 1 if a message has arrived and not been released, else 0. If so the oldest is described where */
#define CHASQUI_LOGGP_DESCRIBE 0x10ull /* Store: address of the [`Arrival`] to which descriptions of messages are written. */
#define CHASQUI_LOGGP_TAKE 0x18ull /* Store: write its payload to this address, `TAKE_BYTES` of it. */
#define CHASQUI_LOGGP_RELEASE 0x20ull /* Store, any value: it has been dealt with. */
#define CHASQUI_LOGGP_TAKE_BYTES 0x28ull /* Store: how much of payloads to take [bytes]; a receive may have room for less than came. */
#define CHASQUI_LOGGP_SHORT_BYTES 0x40ull /* A payload up to this length [bytes] comes with its description and need not be taken. */

struct chasqui_loggp_send {
    struct chasqui_envelope envelope; /* Its envelope. */
    uint64_t payload; /* Virtual address of the payload. */
    uint64_t payload_bytes; /* Length of the payload [bytes]. */
};
_Static_assert(sizeof(struct chasqui_loggp_send) == 56, "chasqui_loggp_send");
_Static_assert(offsetof(struct chasqui_loggp_send, envelope) == 0, "chasqui_loggp_send.envelope");
_Static_assert(offsetof(struct chasqui_loggp_send, payload) == 40, "chasqui_loggp_send.payload");
_Static_assert(offsetof(struct chasqui_loggp_send, payload_bytes) == 48, "chasqui_loggp_send.payload_bytes");

struct chasqui_loggp_arrival {
    struct chasqui_envelope envelope; /* Its envelope. */
    uint64_t payload_bytes; /* Length of its payload [bytes]. */
    uint64_t payload[8]; /* The payload, if it is short. */
};
_Static_assert(sizeof(struct chasqui_loggp_arrival) == 112, "chasqui_loggp_arrival");
_Static_assert(offsetof(struct chasqui_loggp_arrival, envelope) == 0, "chasqui_loggp_arrival.envelope");
_Static_assert(offsetof(struct chasqui_loggp_arrival, payload_bytes) == 40, "chasqui_loggp_arrival.payload_bytes");
_Static_assert(offsetof(struct chasqui_loggp_arrival, payload) == 48, "chasqui_loggp_arrival.payload");

#endif
