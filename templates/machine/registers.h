/* Generated from templates/machine/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_TEMPLATE_REGISTERS_H
#define CHASQUI_TEMPLATE_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_TEMPLATE_INTERFACE 0x4533e5a2u /* Names all that is defined here and in chasqui/abi.h. */

#include "chasqui/abi.h"

#define CHASQUI_TEMPLATE_DEVICE 0x0ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_TEMPLATE_DATA 0x0ull /* Register, stored: the next eight bytes of a message, its envelope first, then its data. */
#define CHASQUI_TEMPLATE_SEND 0x8ull /* Register, stored: the message is complete; its data have so many bytes. */
#define CHASQUI_TEMPLATE_RING 0x10ull /* Register, stored: virtual address of the ring of arrivals, a multiple of a slot. */
#define CHASQUI_TEMPLATE_LEFT 0x18ull /* Register, loaded: messages that have left the FIFO. */
#define CHASQUI_TEMPLATE_RELEASED 0x20ull /* Register, stored: arrivals that the processor is done with. */
#define CHASQUI_TEMPLATE_SETTING_FIFO 0x0ull /* Setting: messages that the FIFO holds. */
#define CHASQUI_TEMPLATE_SETTING_SLOTS 0x1ull /* Setting: slots of the ring of arrivals, a power of two. */
#define CHASQUI_TEMPLATE_SLOT_BYTES 0x100ull /* Bytes of a slot of the ring. */
#define CHASQUI_TEMPLATE_DATA_BYTES 0xd0ull /* Longest data of a message [bytes]. */

struct chasqui_template_slot {
    uint64_t data[26]; /* Its data. */
    struct chasqui_envelope envelope; /* Its envelope. */
    uint32_t bytes; /* Length of its data [bytes]. */
    uint32_t number; /* Number of the arrival, from 1 on: the arrival is here. Written last. */
};
_Static_assert(sizeof(struct chasqui_template_slot) == 256, "chasqui_template_slot");
_Static_assert(offsetof(struct chasqui_template_slot, data) == 0, "chasqui_template_slot.data");
_Static_assert(offsetof(struct chasqui_template_slot, envelope) == 208, "chasqui_template_slot.envelope");
_Static_assert(offsetof(struct chasqui_template_slot, bytes) == 248, "chasqui_template_slot.bytes");
_Static_assert(offsetof(struct chasqui_template_slot, number) == 252, "chasqui_template_slot.number");

#endif
