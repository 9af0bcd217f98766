/* Generated from machines/voyager/src/registers.rs; change that and run `make headers`. */
#ifndef CHASQUI_VOYAGER_REGISTERS_H
#define CHASQUI_VOYAGER_REGISTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

#define CHASQUI_VOYAGER_INTERFACE 0x9990501cu /* Names all that is defined here and in chasqui/abi.h. */

#define CHASQUI_VOYAGER_DEVICE 0x2ull /* Number by which MPI_Init picks this device. */
#define CHASQUI_VOYAGER_REGION_POINTERS 0x0ull /* Region: uncached pointers, a page for each Basic queue pair of the process. */
#define CHASQUI_VOYAGER_REGION_TRANSMIT 0x1ull /* Region: the Basic transmit rings, each rounded up to pages, cacheable. */
#define CHASQUI_VOYAGER_REGION_RECEIVE 0x2ull /* Region: the Basic receive rings, each rounded up to pages, cacheable. */
#define CHASQUI_VOYAGER_REGION_DMA 0x3ull /* Region: the ring of DMA requests, cacheable. */
#define CHASQUI_VOYAGER_REGION_EXPRESS 0x4ull /* Region: the window of stores that are Express messages, uncached. */
#define CHASQUI_VOYAGER_REGION_EXPRESS_RECEIVE 0x5ull /* Region: the page of loads that take Express messages, uncached. */
#define CHASQUI_VOYAGER_REGION_TAG 0x6ull /* Region: the window of stores that are Tag-On messages, uncached. */
#define CHASQUI_VOYAGER_REGION_TAG_DATA 0x7ull /* Region: places for data to be tagged on, rounded up to pages, then the slots of those that came, */
#define CHASQUI_VOYAGER_REGION_SYSTEM 0x8ull /* Region: registers of system software, uncached; empty unless `voyager.sp.system` opens them. */
#define CHASQUI_VOYAGER_QUEUES 0x200ull /* Queue pairs of a site at most (section 4.2). A queue has one name for both directions: the Express */
#define CHASQUI_VOYAGER_SP_QUEUE 0x200ull /* Name of the sP's own Express queue, beside those (section 3). Only system software leads a transmit queue to it; */
#define CHASQUI_VOYAGER_SP_READ_SHORT 0x1ull /* Five bits of a message to an sP: send what lies at the virtual address in the 32 bits, in the memory of the */
#define CHASQUI_VOYAGER_SP_READ_LONG 0x2ull /* Five bits of a message to an sP: the same, 80 bytes. */
#define CHASQUI_VOYAGER_SP_REFUSED 0x3ull /* Five bits of an sP's answer without data: there is nothing to read. */
#define CHASQUI_VOYAGER_TRANSMIT_PRODUCER 0x0ull /* Pointer, stored by the processor: slots composed in the transmit ring. */
#define CHASQUI_VOYAGER_TRANSMIT_CONSUMER 0x8ull /* Pointer, loaded: slots of the transmit ring that the NES is done with. */
#define CHASQUI_VOYAGER_RECEIVE_PRODUCER 0x10ull /* Pointer, loaded: slots that the NES has filled in the receive ring. */
#define CHASQUI_VOYAGER_RECEIVE_CONSUMER 0x18ull /* Pointer, stored: slots of the receive ring that the processor is done with. */
#define CHASQUI_VOYAGER_DMA_PRODUCER 0x20ull /* Pointer, stored: requests composed in the DMA ring. */
#define CHASQUI_VOYAGER_DMA_CONSUMER 0x28ull /* Pointer, loaded: requests whose data have been read. */
#define CHASQUI_VOYAGER_EXPRESS_SENT 0x30ull /* Pointer, loaded: messages that have left Express transmit queue 0; the next queue's is 8 further. */
#define CHASQUI_VOYAGER_TAG_RELEASE 0x40ull /* Stored: slots of tagged data that the processor is done with, a bit each; those from 32 w on at 4 w further. A */
#define CHASQUI_VOYAGER_SYSTEM_MIGRATE 0x0ull /* System, stored: moves the queue named in the low 16 bits, to a slot of the hardware with */
#define CHASQUI_VOYAGER_SYSTEM_DONE 0x8ull /* System, loaded: when all earlier requests are done, how many had an effect. */
#define CHASQUI_VOYAGER_SYSTEM_EMPTY 0x10ull /* System, stored by eight bytes: the process's Empty message, which its Express and phantom queues return while they */
#define CHASQUI_VOYAGER_SYSTEM_RESIDENT 0x10000ull /* Of a request to move a queue. */
#define CHASQUI_VOYAGER_SYSTEM_TABLE 0x1000ull /* System, stored: the destination table, 8 bytes an entry, `1 << SETTING_DESTINATION_BITS` of them a row, */
#define CHASQUI_VOYAGER_TABLE_VALID 0x8000000000000000ull /* Table entry: there is one; else zero. Its low 16 bits are the site. */
#define CHASQUI_VOYAGER_TABLE_QUEUE_SHIFT 0x10ull /* Table entry: first of the 16 bits of the receive queue there. */
#define CHASQUI_VOYAGER_TABLE_SOURCE_SHIFT 0x20ull /* Table entry: first of the 16 bits of the source id that the receiver sees. */
#define CHASQUI_VOYAGER_SLOT_BYTES 0x60ull /* Bytes of a slot: header and data. */
#define CHASQUI_VOYAGER_SLOT_DATA_BYTES 0x58ull /* Bytes of data in a slot, at most. */
#define CHASQUI_VOYAGER_FLAG_ENVELOPE 0x1ull /* Slot flag: the data begin with an MPI envelope, or its beginning. */
#define CHASQUI_VOYAGER_FLAG_WHOLE 0x2ull /* Slot flag: the envelope is whole; else its `sender` and `receiver` are zero and left out. */
#define CHASQUI_VOYAGER_FLAG_MORE 0x4ull /* Slot flag: further data of the message that the last slot from this source began. */
#define CHASQUI_VOYAGER_FLAG_BEGINS 0x8ull /* Slot flag: such slots follow, until the envelope's `bytes` are complete. */
#define CHASQUI_VOYAGER_FLAG_ORDERED 0x10ull /* Slot flag: instead of the destination, which the receiver knows, the envelope says how many MPI messages went */
#define CHASQUI_VOYAGER_EXPRESS_QUEUES 0x2ull /* Express queue pairs of a process: the smallest allocation (section 4.1). */
#define CHASQUI_VOYAGER_EXPRESS_BYTES 0x8ull /* Bytes of an Express message in SRAM. */
#define CHASQUI_VOYAGER_EXPRESS_EXTRA_SHIFT 0x2ull /* Address of a message: first of the bits of data. */
#define CHASQUI_VOYAGER_EXPRESS_EXTRA_BITS 0x5ull /* Address of a message: bits of data (section 5.1). */
#define CHASQUI_VOYAGER_EXPRESS_DESTINATION_SHIFT 0x7ull /* Address of a message: first bit of the logical destination. Above the destination are the queue */
#define CHASQUI_VOYAGER_TAG_LONG 0x2ull /* Above the destination, Tag-On: in the lowest bit the queue, then 80 bytes, 2.5 lines; else 48, 1.5 lines. */
#define CHASQUI_VOYAGER_TAG_RESIDENT 0x4ull /* Above the destination, Tag-On: the SRAM is up to date, the cache holds no newer lines. */
#define CHASQUI_VOYAGER_TAG_PLACE_SHIFT 0x3ull /* Above the destination, Tag-On: first bit of the place. */
#define CHASQUI_VOYAGER_TAG_SHORT_BYTES 0x30ull /* Bytes of 1.5 lines. */
#define CHASQUI_VOYAGER_TAG_LONG_BYTES 0x50ull /* Bytes of 2.5 lines. */
#define CHASQUI_VOYAGER_WIDE_WORDS 0x7ull /* Data of a 64-byte message, at most: words that follow its first. */
#define CHASQUI_VOYAGER_WIDE_COUNT_SHIFT 0x25ull /* First word of a 64-byte message: first of three bits that say how many words of data follow. Below are the */
#define CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT 0x25ull /* A message as it is read: first of 13 bits of the source id. Below are 37 bits of data. */
#define CHASQUI_VOYAGER_EXPRESS_SOURCE_BITS 0xdull /* A message as it is read: bits of the source id. */
#define CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT 0x32ull /* A message as it is read: first of two bits for the queue. `EXPRESS_QUEUES`: a Basic queue, of which OnePoll */
#define CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT 0x34ull /* A message as it is read: first of four bits that say what came with it, `CAME_…`. They are never 0. */
#define CHASQUI_VOYAGER_CAME_ALONE 0x1ull /* What came with a message: nothing. */
#define CHASQUI_VOYAGER_CAME_SHORT 0x2ull /* What came with a message: 48 bytes by Tag-On. */
#define CHASQUI_VOYAGER_CAME_LONG 0x3ull /* What came with a message: 80 bytes by Tag-On. */
#define CHASQUI_VOYAGER_CAME_WIDE 0x8ull /* What came with a message: so many words more of a 64-byte store. */
#define CHASQUI_VOYAGER_EXPRESS_SLOT_SHIFT 0x38ull /* A message as it is read: first of eight bits that name the slot of what came with it, of the process's. */
#define CHASQUI_VOYAGER_EXPRESS_EMPTY 0x0ull /* What an empty queue returns unless system software sets something else. No message is this. */
#define CHASQUI_VOYAGER_ONEPOLL 0x400ull /* Receive page, loaded: queue q at 8 q; from here on, OnePoll of phantom queue p at 8 p more. */
#define CHASQUI_VOYAGER_ONEPOLLS 0x4ull /* Phantom queues of a process. */
#define CHASQUI_VOYAGER_ONEPOLL_ORDER 0x800ull /* Receive page, stored by eight bytes: the order of phantom queue 0, names of 16 bits of the process's queues. The */
#define CHASQUI_VOYAGER_ONEPOLL_STRIDE 0x80ull /* From one phantom queue's order to the next one's [bytes]. */
#define CHASQUI_VOYAGER_ONEPOLL_QUEUES 0x40ull /* Queues of an order, at most. */
#define CHASQUI_VOYAGER_ONEPOLL_NONE 0xffffull /* In the place of a name: no queue. */
#define CHASQUI_VOYAGER_SETTING_VARIANT 0x0ull /* Setting: 0 flush, 1 reclaim. */
#define CHASQUI_VOYAGER_SETTING_SLOTS 0x1ull /* Setting: slots of each Basic ring, a power of two. */
#define CHASQUI_VOYAGER_SETTING_REQUESTS 0x2ull /* Setting: requests of the DMA ring, a power of two. */
#define CHASQUI_VOYAGER_SETTING_EXPRESS_END 0x3ull /* Setting: an MPI message shorter than this [bytes] goes by Express alone, where its envelope permits. */
#define CHASQUI_VOYAGER_SETTING_EXPRESS_SLOTS 0x4ull /* Setting: messages that an Express queue holds. */
#define CHASQUI_VOYAGER_SETTING_TAGS 0x5ull /* Setting: places for data to be tagged on, and slots of each Express queue for those that came, a power of two. */
#define CHASQUI_VOYAGER_SETTING_DESTINATION_BITS 0x6ull /* Setting: bits of a logical destination in the address of a message. */
#define CHASQUI_VOYAGER_SETTING_TAG_ON_END 0x7ull /* Setting: otherwise one shorter than this goes by Tag-On. */
#define CHASQUI_VOYAGER_SETTING_BASIC_END 0x8ull /* Setting: otherwise one shorter than this goes by Basic, and longer ones by rendezvous and DMA. 0: none do. */
#define CHASQUI_VOYAGER_MPI_BYTES_MAX 0x8ull /* Bits of data of an Express message that belongs to an MPI message: that many bytes of data, these four first, */
#define CHASQUI_VOYAGER_MPI_SHAPE 0xfull /* Bits of data: instead, context and tag of the messages that follow, `MPI_TAG_BITS` of tag below. */
#define CHASQUI_VOYAGER_MPI_TAG_BITS 0x14ull /* Bits of a tag that an Express message can tell; above it are those of the context. */
#define CHASQUI_VOYAGER_MPI_ORDER 0xeull /* Bits of data: instead, how many Basic messages of this pair come before the messages that follow, modulo 2^16. */
#define CHASQUI_VOYAGER_MPI_WHOLE 0x1ull /* Bits of data of a Tag-On message that is an MPI message: what is tagged on begins with a whole envelope, else */
#define CHASQUI_VOYAGER_MPI_TAGGED_HEAD 0x10ull /* Bytes. */
#define CHASQUI_VOYAGER_MPI_EXPRESS_MAX 0x4ull /* Express messages that an MPI message takes at most: order, context and tag, and two of data. */
#define CHASQUI_VOYAGER_TAGS_MAX 0x80ull /* Places for data to be tagged on, at most, and slots of an Express queue for those that came: eight bits name the */
#define CHASQUI_VOYAGER_SETTING_BASIC_QUEUES 0x9ull /* Setting: Basic queue pairs of the process. */
#define CHASQUI_VOYAGER_SETTING_STORE_64_END 0xbull /* Setting: an MPI message shorter than this goes by a 64-byte store, if it is too long for Express. 0: none do. */
#define CHASQUI_VOYAGER_SETTING_STRIDE 0xaull /* Setting: bytes from one slot, or place of tagged data, to the next: whole lines. */
#define CHASQUI_VOYAGER_SETTING_HIGH_EXPRESS 0xcull /* Setting: Express queues, the last ones, whose messages travel with high priority. */
#define CHASQUI_VOYAGER_SETTING_HIGH_BASIC 0xdull /* Setting: Basic queues, the last ones, whose messages travel with high priority. */

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
