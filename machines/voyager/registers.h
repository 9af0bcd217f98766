/* Generated from machines/voyager/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_VOYAGER_REGISTERS_H
#define CHASQUI_VOYAGER_REGISTERS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_VOYAGER_DEVICE 0x2ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_VOYAGER_REGION_POINTERS 0x0ull /* Region: uncached pointers of the process's Basic queue pair. */
#define CHASQUI_VOYAGER_REGION_TRANSMIT 0x1ull /* Region: the Basic transmit ring, cacheable. */
#define CHASQUI_VOYAGER_REGION_RECEIVE 0x2ull /* Region: the Basic receive ring, cacheable. */
#define CHASQUI_VOYAGER_REGION_DMA 0x3ull /* Region: the ring of DMA requests, cacheable. */
#define CHASQUI_VOYAGER_TRANSMIT_PRODUCER 0x0ull /* Pointer, stored by the processor: slots composed in the transmit ring. */
#define CHASQUI_VOYAGER_TRANSMIT_CONSUMER 0x8ull /* Pointer, loaded: slots of the transmit ring that the NES is done with. */
#define CHASQUI_VOYAGER_RECEIVE_PRODUCER 0x10ull /* Pointer, loaded: slots that the NES has filled in the receive ring. */
#define CHASQUI_VOYAGER_RECEIVE_CONSUMER 0x18ull /* Pointer, stored: slots of the receive ring that the processor is done with. */
#define CHASQUI_VOYAGER_DMA_PRODUCER 0x20ull /* Pointer, stored: requests composed in the DMA ring. */
#define CHASQUI_VOYAGER_DMA_CONSUMER 0x28ull /* Pointer, loaded: requests whose data have been read. */
#define CHASQUI_VOYAGER_SLOT_BYTES 0x60ull /* Bytes of a slot: header and data, three lines. */
#define CHASQUI_VOYAGER_SLOT_DATA_BYTES 0x58ull /* Bytes of data in a slot, at most. */
#define CHASQUI_VOYAGER_FLAG_ENVELOPE 0x1ull /* Slot flag: the data begin with an MPI envelope, or its beginning. */
#define CHASQUI_VOYAGER_FLAG_WHOLE 0x2ull /* Slot flag: the envelope is whole; else its `sender` and `receiver` are zero and left out. */
#define CHASQUI_VOYAGER_FLAG_MORE 0x4ull /* Slot flag: further data of the message that the last slot from this source began. */
#define CHASQUI_VOYAGER_FLAG_BEGINS 0x8ull /* Slot flag: such slots follow, until the envelope's `bytes` are complete. */
#define CHASQUI_VOYAGER_SETTING_VARIANT 0x0ull /* Setting: 0 flush, 1 reclaim. */
#define CHASQUI_VOYAGER_SETTING_SLOTS 0x1ull /* Setting: slots of each Basic ring, a power of two. */
#define CHASQUI_VOYAGER_SETTING_REQUESTS 0x2ull /* Setting: requests of the DMA ring, a power of two. */
#define CHASQUI_VOYAGER_SETTING_EAGER_BYTES 0x3ull /* Setting: longest MPI message [bytes] sent through Basic; longer ones by rendezvous and DMA. */

struct chasqui_voyager_slot {
    uint16_t node; /* Logical destination; on receipt the source id. */
    uint16_t bytes; /* Bytes of data that follow. */
    uint32_t flags; /* Flags. */
};
_Static_assert(sizeof(struct chasqui_voyager_slot) == 8, "chasqui_voyager_slot");
_Static_assert(offsetof(struct chasqui_voyager_slot, node) == 0, "chasqui_voyager_slot.node");
_Static_assert(offsetof(struct chasqui_voyager_slot, bytes) == 2, "chasqui_voyager_slot.bytes");
_Static_assert(offsetof(struct chasqui_voyager_slot, flags) == 4, "chasqui_voyager_slot.flags");

struct chasqui_voyager_dma {
    uint16_t node; /* Logical destination. */
    uint16_t reserved; /* Zero. */
    uint32_t flags; /* Flags of the notice. */
    uint64_t from; /* Virtual address here. */
    uint64_t to; /* Virtual address there. */
    uint64_t bytes; /* Length [bytes], at most 2^48. */
    uint64_t notice[3]; /* Data of the notice: an envelope without its two addresses, which are added by `sender` and `receiver`. */
    uint64_t receiver; /* Of the notice. */
};
_Static_assert(sizeof(struct chasqui_voyager_dma) == 64, "chasqui_voyager_dma");
_Static_assert(offsetof(struct chasqui_voyager_dma, node) == 0, "chasqui_voyager_dma.node");
_Static_assert(offsetof(struct chasqui_voyager_dma, reserved) == 2, "chasqui_voyager_dma.reserved");
_Static_assert(offsetof(struct chasqui_voyager_dma, flags) == 4, "chasqui_voyager_dma.flags");
_Static_assert(offsetof(struct chasqui_voyager_dma, from) == 8, "chasqui_voyager_dma.from");
_Static_assert(offsetof(struct chasqui_voyager_dma, to) == 16, "chasqui_voyager_dma.to");
_Static_assert(offsetof(struct chasqui_voyager_dma, bytes) == 24, "chasqui_voyager_dma.bytes");
_Static_assert(offsetof(struct chasqui_voyager_dma, notice) == 32, "chasqui_voyager_dma.notice");
_Static_assert(offsetof(struct chasqui_voyager_dma, receiver) == 56, "chasqui_voyager_dma.receiver");

#endif
