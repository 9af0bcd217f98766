/* The NES of the machines `voyager` and `voyager-modern`, for programs that talk to it without MPI: Express, Tag-On, OnePoll,
 * Basic and DMA, from any process that `chasqui run --machine voyager` starts. It maps queues of its own
 * process only, so a program uses either this or MPI.
 *
 * A process is a logical destination by its rank. What is sent through one queue (each of
 * Express takes Tag-On, too) to one destination arrives in order; there is no order between queues. Messages for a
 * receive queue that is full wait at its site; others go on. Queues for which nes_is_high() send with high
 * priority (voyager.queues.high_express, high_basic): their messages pass those of the others wherever they meet,
 * and go on where those can't.
 *
 * Functions that send return false when their queue is full: nothing was sent. Loops that wait should call
 * nes_pause() once a turn: the simulator then skips idle turns, and finds deadlocks.
 */
#ifndef CHASQUI_NES_H
#define CHASQUI_NES_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../../machines/voyager/registers.h"
#include "chasqui/abi.h"
#include "chasqui/store64.h"

/* A ring of which one side is the program's. `count` is a power of two. */
struct nes_ring {
    char *slots;
    uint32_t count, produced, consumed;
    size_t stride; /* from one slot to the next */
};

struct nes {
    uint32_t rank, ranks;
    bool reclaim; /* The NES takes lines from the cache; else they are flushed here. */
    size_t line_bytes;
    volatile char *pointers, *express, *express_receive, *tag;
    volatile char *system; /* Registers of system software; null: this process is none. */
    unsigned basic_queues;
    unsigned high_express, high_basic; /* Queues of high priority, the last ones. */
    unsigned destination_bits;
    uint32_t express_slots;
    uint32_t posted[CHASQUI_VOYAGER_EXPRESS_QUEUES], sent[CHASQUI_VOYAGER_EXPRESS_QUEUES];
    struct nes_ring transmit, receive, dma;
    uint32_t tags; /* Places for data to be tagged on; slots of each Express queue for those that came. */
    size_t tag_stride; /* from one place, or slot, to the next */
    char *places, *tagged; /* places; slots */
};

/* What an empty queue returns. */
#define NES_EMPTY CHASQUI_VOYAGER_EXPRESS_EMPTY
/* A queue has one name for both directions: Express queue q is q, Basic queue b is NES_BASIC_NAME(b). */
#define NES_BASIC_NAME(index) (CHASQUI_VOYAGER_EXPRESS_QUEUES + (index))

static inline void nes_pause(void) { __asm__ volatile(".4byte 0x0100000f"); }

static inline volatile uint32_t *nes_pointer(const struct nes *nes, uint64_t offset)
{
    return (volatile uint32_t *)(nes->pointers + offset);
}

/* Stores and flushes before, messages and pointers after. */
static inline void nes_fence(void) { __asm__ volatile("fence rw, o" : : : "memory"); }

/* Drops lines from the cache, written back if modified (cbo.flush). */
static inline void nes_flush(const struct nes *nes, const void *from, size_t bytes)
{
    if (nes->reclaim)
        return;
    const size_t step = nes->line_bytes; /* which the flush might have changed, for all that the compiler knows */
    for (const char *line = from; line < (const char *)from + bytes; line += step)
        __asm__ volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(line) : "memory");
}

/* `index`, but only once `loaded` has been: loads through the result follow that load (RVWMO, address dependency),
 * without the cost of a fence. */
static inline uint64_t nes_after(uint64_t index, uint64_t loaded)
{
    uint64_t zero;
    __asm__ volatile("xor %0, %1, %1" : "=r"(zero) : "r"(loaded) : "memory");
    return index + zero;
}

/* Copies a message's data; both are aligned by 8. A length that the compiler knows it writes out: in two parts, since
 * it would call memcpy for more than 64 bytes. */
static inline void nes_copy(void *to, const void *from, size_t bytes)
{
    const size_t first = __builtin_constant_p(bytes) && bytes > 64 ? 64 : bytes;
    memcpy(__builtin_assume_aligned(to, 8), __builtin_assume_aligned(from, 8), first);
    if (bytes > first)
        memcpy(__builtin_assume_aligned((char *)to + first, 8), __builtin_assume_aligned((const char *)from + first, 8),
               bytes - first);
}

/* --- opening ------------------------------------------------------------------------------------- */

static inline char *nes_map(const struct chasqui_ni_identification *ni, int fd, unsigned region)
{
    void *at = mmap(NULL, ni->regions[region].bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                    (off_t)((region + 1) * CHASQUI_NI_REGION_STRIDE));
    return at == MAP_FAILED ? NULL : (char *)at;
}

/* Rounded up to whole pages. */
static inline size_t nes_pages(size_t bytes) { return (bytes + 4095) & ~(size_t)4095; }

static inline bool nes_map_all(struct nes *nes, const struct chasqui_ni_identification *ni, int fd)
{
    const uint64_t *settings = ni->settings;
    uint32_t slots = (uint32_t)settings[CHASQUI_VOYAGER_SETTING_SLOTS];
    uint32_t tags = (uint32_t)settings[CHASQUI_VOYAGER_SETTING_TAGS];
    size_t stride = settings[CHASQUI_VOYAGER_SETTING_STRIDE];
    *nes = (struct nes){
        .rank = ni->rank,
        .ranks = ni->ranks,
        .reclaim = settings[CHASQUI_VOYAGER_SETTING_VARIANT] != 0,
        .line_bytes = ni->line_bytes,
        .pointers = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_POINTERS),
        .express = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_EXPRESS),
        .express_receive = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_EXPRESS_RECEIVE),
        .tag = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_TAG),
        .destination_bits = (unsigned)settings[CHASQUI_VOYAGER_SETTING_DESTINATION_BITS],
        .express_slots = (uint32_t)settings[CHASQUI_VOYAGER_SETTING_EXPRESS_SLOTS],
        .transmit = {.slots = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_TRANSMIT), .count = slots, .stride = stride},
        .receive = {.slots = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_RECEIVE), .count = slots, .stride = stride},
        .dma = {.slots = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_DMA),
                .count = (uint32_t)settings[CHASQUI_VOYAGER_SETTING_REQUESTS]},
        .places = nes_map(ni, fd, CHASQUI_VOYAGER_REGION_TAG_DATA),
        .tags = tags,
        .tag_stride = stride,
        .basic_queues = (unsigned)settings[CHASQUI_VOYAGER_SETTING_BASIC_QUEUES],
        .high_express = (unsigned)settings[CHASQUI_VOYAGER_SETTING_HIGH_EXPRESS],
        .high_basic = (unsigned)settings[CHASQUI_VOYAGER_SETTING_HIGH_BASIC],
        .system =
            ni->regions[CHASQUI_VOYAGER_REGION_SYSTEM].bytes ? nes_map(ni, fd, CHASQUI_VOYAGER_REGION_SYSTEM) : NULL,
    };
    nes->tagged = nes->places + nes_pages(tags * stride);
    return nes->pointers && nes->express && nes->express_receive && nes->tag && nes->transmit.slots &&
           nes->receive.slots && nes->dma.slots && nes->places;
}

/* False: there is no NES here. */
static inline bool nes_open(struct nes *nes)
{
    int fd = open("/dev/ni0", O_RDWR);
    if (fd < 0)
        return false;
    void *page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
    const struct chasqui_ni_identification *ni = page;
    bool found = page != MAP_FAILED && ni->magic == CHASQUI_NI_MAGIC && ni->version == CHASQUI_ABI_VERSION &&
                 ni->device == CHASQUI_VOYAGER_DEVICE && ni->interface == CHASQUI_VOYAGER_INTERFACE &&
                 nes_map_all(nes, ni, fd);
    close(fd);
    return found;
}

/* Messages sent through the queue called `name` have high priority. */
static inline bool nes_is_high(const struct nes *nes, unsigned name)
{
    const unsigned express = CHASQUI_VOYAGER_EXPRESS_QUEUES;
    return name < express ? name + nes->high_express >= express
                          : name + nes->high_basic >= NES_BASIC_NAME(nes->basic_queues);
}

/* --- Express ------------------------------------------------------------------------------------- */

/* The queue has a place: counted here, and asked of the NES when the count says no. */
static inline bool nes_express_room(struct nes *nes, unsigned queue)
{
    if (nes->posted[queue] - nes->sent[queue] < nes->express_slots)
        return true;
    nes->sent[queue] = *nes_pointer(nes, CHASQUI_VOYAGER_EXPRESS_SENT + 8 * queue);
    return nes->posted[queue] - nes->sent[queue] < nes->express_slots;
}

/* Where in a window the stores of a message go. `above`: what the address says above the destination. */
static inline uint64_t nes_express_offset(const struct nes *nes, uint64_t above, uint32_t destination, unsigned extra)
{
    uint64_t offset = above << nes->destination_bits | destination;
    return offset << CHASQUI_VOYAGER_EXPRESS_DESTINATION_SHIFT | extra << CHASQUI_VOYAGER_EXPRESS_EXTRA_SHIFT;
}

static inline void nes_express_store(const struct nes *nes, volatile char *window, uint64_t above, uint32_t destination,
                                     unsigned extra, uint32_t value)
{
    *(volatile uint32_t *)(window + nes_express_offset(nes, above, destination, extra)) = value;
}

/* Sends 37 bits: `value`, and five bits `extra`. */
static inline bool nes_express_send(struct nes *nes, unsigned queue, uint32_t destination, unsigned extra,
                                    uint32_t value)
{
    if (!nes_express_room(nes, queue))
        return false;
    nes_express_store(nes, nes->express, queue, destination, extra, value);
    nes->posted[queue]++;
    return true;
}

/* Takes the oldest message of a queue; NES_EMPTY: none. */
static inline uint64_t nes_express_receive(const struct nes *nes, unsigned queue)
{
    return *(volatile uint64_t *)(nes->express_receive + 8 * queue);
}

/* A 64-bit load into a floating-point register, from there through the cache to two general ones. */
static inline void nes_load_through_cache(const volatile char *from, uint32_t *low, uint32_t *high)
{
    volatile union {
        double whole;
        uint32_t halves[2];
    } line;
    line.whole = *(const volatile double *)from;
    *low = line.halves[0];
    *high = line.halves[1];
}

/* The same as the memo has a 604 do it first of all (section 5.1, footnote 6): that has 64-bit loads into
 * floating-point registers only, and no move from these to the general ones. False: none. It is one access, so threads
 * may share the queue. */
static inline bool nes_express_receive_through_cache(const struct nes *nes, unsigned queue, uint32_t *low,
                                                     uint32_t *high)
{
    nes_load_through_cache(nes->express_receive + 8 * queue, low, high);
    return *high != (uint32_t)(NES_EMPTY >> 32);
}

/* The same as the memo has it alternatively: by two loads of four bytes, the lower half, which takes the message, then
 * the upper. False: none. Threads that share the queue can't receive like this: the halves are not one access. */
static inline bool nes_express_receive_halves(const struct nes *nes, unsigned queue, uint32_t *low, uint32_t *high)
{
    volatile uint32_t *halves = (volatile uint32_t *)(nes->express_receive + 8 * queue);
    *low = halves[0];
    *high = halves[1];
    return *high != (uint32_t)(NES_EMPTY >> 32);
}

/* A message of its halves. */
static inline uint64_t nes_message(uint32_t low, uint32_t high) { return (uint64_t)high << 32 | low; }

static inline uint32_t nes_value(uint64_t message) { return (uint32_t)message; }

static inline unsigned nes_extra(uint64_t message)
{
    return (unsigned)(message >> 32) & ((1u << CHASQUI_VOYAGER_EXPRESS_EXTRA_BITS) - 1);
}

/* The destination of a reply. */
static inline uint32_t nes_source(uint64_t message)
{
    return message >> CHASQUI_VOYAGER_EXPRESS_SOURCE_SHIFT & ((1u << CHASQUI_VOYAGER_EXPRESS_SOURCE_BITS) - 1);
}

/* The name of the queue that it came from, or that has messages (nes_one_poll). */
static inline unsigned nes_queue(uint64_t message)
{
    unsigned queue = message >> CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT & 3;
    return queue < CHASQUI_VOYAGER_EXPRESS_QUEUES ? queue : nes_source(message);
}

/* Bytes that came with it: 0; 48 or 80 by Tag-On; whole words by a 64-byte store. */
static inline size_t nes_tagged(uint64_t message)
{
    unsigned came = message >> CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT & 0xf;
    if (came >= CHASQUI_VOYAGER_CAME_WIDE)
        return (came - CHASQUI_VOYAGER_CAME_WIDE) * sizeof(uint64_t);
    if (came == CHASQUI_VOYAGER_CAME_LONG)
        return CHASQUI_VOYAGER_TAG_LONG_BYTES;
    return came == CHASQUI_VOYAGER_CAME_SHORT ? CHASQUI_VOYAGER_TAG_SHORT_BYTES : 0;
}

/* --- messages of one 64-byte store ----------------------------------------------------------------- *
 * An Express message that brings up to seven words with it: nothing is composed in SRAM, flushed or fenced. Its
 * receiver finds the words as data that were tagged on (nes_tagged, nes_tag_data, nes_tag_release). */

/* Address and data of such a store. */
static inline volatile void *nes_wide_compose(const struct nes *nes, unsigned queue, uint32_t destination,
                                              unsigned extra, uint32_t value, const uint64_t *data, unsigned words,
                                              uint64_t store[8])
{
    store[0] = value | (uint64_t)extra << 32 | (uint64_t)words << CHASQUI_VOYAGER_WIDE_COUNT_SHIFT;
    for (unsigned i = 0; i < CHASQUI_VOYAGER_WIDE_WORDS; i++)
        store[1 + i] = i < words ? data[i] : 0;
    return nes->express + nes_express_offset(nes, queue, destination, 0);
}

/* Sends 37 bits and `words` (0 to 7) words. */
static inline bool nes_wide_send(struct nes *nes, unsigned queue, uint32_t destination, unsigned extra, uint32_t value,
                                 const uint64_t *data, unsigned words)
{
    if (!nes_express_room(nes, queue))
        return false;
    uint64_t store[8];
    volatile void *to = nes_wide_compose(nes, queue, destination, extra, value, data, words, store);
    chasqui_store_64(to, store);
    nes->posted[queue]++;
    return true;
}

/* The same, but the NES is asked with the store whether there is room: no count is needed. */
static inline bool nes_wide_try(struct nes *nes, unsigned queue, uint32_t destination, unsigned extra, uint32_t value,
                                const uint64_t *data, unsigned words)
{
    uint64_t store[8];
    volatile void *to = nes_wide_compose(nes, queue, destination, extra, value, data, words, store);
    bool accepted = chasqui_store_64_answered(to, store) == CHASQUI_STORE_64_ACCEPTED;
    nes->posted[queue] += accepted;
    return accepted;
}

/* --- OnePoll ------------------------------------------------------------------------------------- *
 * A process has CHASQUI_VOYAGER_ONEPOLLS phantom queues. Each looks at up to CHASQUI_VOYAGER_ONEPOLL_QUEUES queues, none
 * at the start. Several threads may poll one, or each its own. */

/* Phantom queue `phantom` looks at the `count` queues named from now on, the first with the highest priority. No other
 * thread polls it meanwhile. */
static inline void nes_one_poll_order(const struct nes *nes, unsigned phantom, const uint16_t *names, unsigned count)
{
    volatile uint64_t *words = (volatile uint64_t *)(nes->express_receive + CHASQUI_VOYAGER_ONEPOLL_ORDER +
                                                     phantom * CHASQUI_VOYAGER_ONEPOLL_STRIDE);
    for (unsigned i = 0; i <= count && i < CHASQUI_VOYAGER_ONEPOLL_QUEUES; i += 4) {
        uint64_t word = 0;
        for (unsigned k = 4; k-- > 0;)
            word = word << 16 | (i + k < count ? names[i + k] : CHASQUI_VOYAGER_ONEPOLL_NONE);
        words[i / 4] = word;
    }
}

/* Takes the oldest message of the first queue that has one. Of a Basic queue it only returns that there is one:
 * nes_is_basic, nes_queue names the queue, and nes_basic_receive takes it. NES_EMPTY: all are empty. */
static inline uint64_t nes_one_poll(const struct nes *nes, unsigned phantom)
{
    return *(volatile uint64_t *)(nes->express_receive + CHASQUI_VOYAGER_ONEPOLL + 8 * phantom);
}

/* The same as nes_express_receive_through_cache. */
static inline bool nes_one_poll_through_cache(const struct nes *nes, unsigned phantom, uint32_t *low, uint32_t *high)
{
    nes_load_through_cache(nes->express_receive + CHASQUI_VOYAGER_ONEPOLL + 8 * phantom, low, high);
    return *high != (uint32_t)(NES_EMPTY >> 32);
}

static inline bool nes_is_basic(uint64_t message)
{
    return (message >> CHASQUI_VOYAGER_EXPRESS_QUEUE_SHIFT & 3) >= CHASQUI_VOYAGER_EXPRESS_QUEUES;
}

/* --- Tag-On -------------------------------------------------------------------------------------- */

/* One of nes->tags places to compose data in. It may be written again when the message that took it along has left
 * (nes_are_sent). */
static inline void *nes_tag_place(const struct nes *nes, unsigned place)
{
    return __builtin_assume_aligned(nes->places + place * nes->tag_stride, 32);
}

/* Makes what was composed visible to the NES: before the first message that takes it along. */
static inline void nes_tag_composed(const struct nes *nes, unsigned place, size_t bytes)
{
    nes_flush(nes, nes_tag_place(nes, place), bytes);
    nes_fence();
}

/* The store that sends the `bytes` (48 or 80) at a place through Express queue `queue`, which has room. */
static inline void nes_tag_store(const struct nes *nes, unsigned queue, uint32_t destination, unsigned extra,
                                 uint32_t value, unsigned place, size_t bytes, bool resident)
{
    uint64_t above = queue | (uint64_t)place << CHASQUI_VOYAGER_TAG_PLACE_SHIFT;
    above |= bytes == CHASQUI_VOYAGER_TAG_LONG_BYTES ? CHASQUI_VOYAGER_TAG_LONG : 0;
    above |= resident ? CHASQUI_VOYAGER_TAG_RESIDENT : 0;
    nes_express_store(nes, nes->tag, above, destination, extra, value);
}

/* Sends 37 bits and the `bytes` (48 or 80) at a place. `resident`: they went to another destination
 * before, or came from elsewhere than the cache, and need not be looked for there (multicast). */
static inline bool nes_tag_send(struct nes *nes, unsigned queue, uint32_t destination, unsigned extra, uint32_t value,
                                unsigned place, size_t bytes, bool resident)
{
    if (!nes_express_room(nes, queue))
        return false;
    nes_tag_store(nes, queue, destination, extra, value, place, bytes, resident);
    nes->posted[queue]++;
    return true;
}

/* All Express and Tag-On messages of a queue have left. */
static inline bool nes_are_sent(struct nes *nes, unsigned queue)
{
    nes->sent[queue] = *nes_pointer(nes, CHASQUI_VOYAGER_EXPRESS_SENT + 8 * queue);
    return nes->sent[queue] == nes->posted[queue];
}

/* The data that came with `message`. Their address depends on it, so that they are read after it. */
static inline const void *nes_tag_data(const struct nes *nes, uint64_t message)
{
    uint64_t slot = message >> CHASQUI_VOYAGER_EXPRESS_SLOT_SHIFT;
    return __builtin_assume_aligned(nes->tagged + slot * nes->tag_stride, 32);
}

/* Gives these data, of which `bytes` have been read, back to the NES. One store does it, so that threads may do so at
 * once and in any order. */
static inline void nes_tag_release(const struct nes *nes, uint64_t message, size_t bytes)
{
    uint64_t slot = message >> CHASQUI_VOYAGER_EXPRESS_SLOT_SHIFT;
    nes_flush(nes, nes_tag_data(nes, message), bytes);
    nes_fence();
    *nes_pointer(nes, CHASQUI_VOYAGER_TAG_RELEASE + slot / 32 * 4) = 1u << slot % 32;
}

/* --- Basic --------------------------------------------------------------------------------------- */

/* A handle for Basic queue `index`, below nes->basic_queues, of the NES that `nes` was opened with: for
 * nes_basic_send and nes_basic_receive, which with `nes` itself use queue 0. */
static inline struct nes nes_basic_queue(const struct nes *nes, unsigned index)
{
    struct nes other = *nes;
    size_t ring = nes_pages(nes->transmit.count * nes->transmit.stride);
    other.pointers += index * 4096;
    other.transmit.slots += index * ring;
    other.receive.slots += index * ring;
    other.transmit.produced = other.transmit.consumed = other.receive.produced = other.receive.consumed = 0;
    return other;
}

static inline bool nes_ring_room(const struct nes *nes, struct nes_ring *ring, uint64_t consumer)
{
    if (ring->produced - ring->consumed < ring->count)
        return true;
    ring->consumed = *nes_pointer(nes, consumer);
    return ring->produced - ring->consumed < ring->count;
}

/* Moves a pointer by a slot: the NES is told first, so that the count is no store before that which it could pass. */
static inline void nes_advance(const struct nes *nes, uint64_t pointer, uint32_t *count)
{
    uint32_t next = *count + 1;
    *nes_pointer(nes, pointer) = next;
    *(volatile uint32_t *)count = next;
}

/* The slot at a pointer's place. */
static inline struct chasqui_voyager_slot *nes_slot(const struct nes_ring *ring, uint64_t pointer)
{
    return (struct chasqui_voyager_slot *)(ring->slots + (pointer & (ring->count - 1)) * ring->stride);
}

/* A slot's data. */
static inline void *nes_slot_data(const struct chasqui_voyager_slot *slot)
{
    return __builtin_assume_aligned((void *)(uintptr_t)(slot + 1), 8);
}

/* Sending is three steps (section 2): get a slot, compose, hand it over. A place for the data of the next message, up
 * to 88 bytes; null: there is none. */
static inline void *nes_basic_place(struct nes *nes)
{
    if (!nes_ring_room(nes, &nes->transmit, CHASQUI_VOYAGER_TRANSMIT_CONSUMER))
        return NULL;
    return nes_slot_data(nes_slot(&nes->transmit, nes->transmit.produced));
}

/* Sends what was composed there. */
static inline void nes_basic_post(struct nes *nes, uint32_t destination, size_t bytes)
{
    struct nes_ring *ring = &nes->transmit;
    struct chasqui_voyager_slot *slot = nes_slot(ring, ring->produced);
    struct chasqui_voyager_slot header = {.node = (uint16_t)destination, .bytes = (uint16_t)bytes};
    memcpy(__builtin_assume_aligned(slot, 8), &header, sizeof header); /* as a word */
    nes_flush(nes, slot, sizeof header + bytes);
    nes_fence();
    nes_advance(nes, CHASQUI_VOYAGER_TRANSMIT_PRODUCER, &ring->produced);
}

/* The three steps: sends up to 88 bytes, which lie anywhere. */
static inline bool nes_basic_send(struct nes *nes, uint32_t destination, const void *data, size_t bytes)
{
    void *place = nes_basic_place(nes);
    if (!place)
        return false;
    memcpy(place, data, bytes);
    nes_basic_post(nes, destination, bytes);
    return true;
}

/* The queue's pointer from OnePoll, which then need not be loaded. */
static inline void nes_basic_told(struct nes *nes, uint64_t message)
{
    struct nes_ring *ring = &nes->receive;
    ring->produced = ring->consumed + (uint16_t)((uint16_t)message - ring->consumed);
}

/* Receiving likewise: get the oldest slot, read its header and data (nes_slot_data), give it back. Null: none. */
static inline const struct chasqui_voyager_slot *nes_basic_oldest(struct nes *nes)
{
    struct nes_ring *ring = &nes->receive;
    if (ring->produced == ring->consumed)
        ring->produced = *nes_pointer(nes, CHASQUI_VOYAGER_RECEIVE_PRODUCER);
    if (ring->produced == ring->consumed)
        return NULL;
    return nes_slot(ring, nes_after(ring->consumed, ring->produced));
}

/* Gives the oldest slot back, of which `bytes` of data have been read. */
static inline void nes_basic_release(struct nes *nes, size_t bytes)
{
    struct nes_ring *ring = &nes->receive;
    nes_flush(nes, nes_slot(ring, ring->consumed), sizeof(struct chasqui_voyager_slot) + bytes);
    nes_fence();
    nes_advance(nes, CHASQUI_VOYAGER_RECEIVE_CONSUMER, &ring->consumed);
}

/* The three steps: copies the oldest message (at most 88 bytes) to `data`; its length, or -1: none. */
static inline int nes_basic_receive(struct nes *nes, void *data, uint32_t *source)
{
    const struct chasqui_voyager_slot *slot = nes_basic_oldest(nes);
    if (!slot)
        return -1;
    size_t bytes = slot->bytes;
    *source = slot->node;
    memcpy(data, nes_slot_data(slot), bytes);
    nes_basic_release(nes, bytes);
    return (int)bytes;
}

/* --- DMA ----------------------------------------------------------------------------------------- */

/* Moves `bytes` from `from` to address `to` of the destination; then a Basic message of 40 bytes comes there,
 * which begins with the three words of `notice`. When that has come, the block is in memory. No other message says so: one
 * that was sent later may come before. `from` may be reused when nes_dma_is_done. */
static inline bool nes_dma_send(struct nes *nes, uint32_t destination, const void *from, uint64_t to, size_t bytes,
                                const uint64_t notice[3])
{
    struct nes_ring *ring = &nes->dma;
    if (!nes_ring_room(nes, ring, CHASQUI_VOYAGER_DMA_CONSUMER))
        return false;
    struct chasqui_voyager_dma *requests = (struct chasqui_voyager_dma *)ring->slots;
    struct chasqui_voyager_dma *request = requests + (ring->produced & (ring->count - 1));
    *request = (struct chasqui_voyager_dma){
        .node = (uint16_t)destination,
        .from = (uintptr_t)from,
        .to = to,
        .bytes = bytes,
        .notice = {notice[0], notice[1], notice[2]},
    };
    nes_flush(nes, request, sizeof *request);
    nes_fence();
    nes_advance(nes, CHASQUI_VOYAGER_DMA_PRODUCER, &ring->produced);
    return true;
}

/* All blocks have been read from memory. */
static inline bool nes_dma_is_done(struct nes *nes)
{
    nes->dma.consumed = *nes_pointer(nes, CHASQUI_VOYAGER_DMA_CONSUMER);
    return nes->dma.consumed == nes->dma.produced;
}

/* --- system software ----------------------------------------------------------------------------- *
 * For programs that stand in for an operating system, where voyager.sp.system lets them. */

static inline volatile uint64_t *nes_table_entry(const struct nes *nes, unsigned queue, uint32_t destination)
{
    uint64_t index = (uint64_t)queue << nes->destination_bits | destination;
    return (volatile uint64_t *)(nes->system + CHASQUI_VOYAGER_SYSTEM_TABLE) + index;
}

/* What this site's transmit queue `queue` sends to `destination` goes to `receive_queue` of `site` from now on,
 * whose process sees `source`. */
static inline void nes_system_connect(const struct nes *nes, unsigned queue, uint32_t destination, uint32_t site,
                                      unsigned receive_queue, uint32_t source)
{
    *nes_table_entry(nes, queue, destination) = CHASQUI_VOYAGER_TABLE_VALID | site |
                                                (uint64_t)receive_queue << CHASQUI_VOYAGER_TABLE_QUEUE_SHIFT |
                                                (uint64_t)source << CHASQUI_VOYAGER_TABLE_SOURCE_SHIFT;
}

/* Transmit queue `queue` has no such destination any more. */
static inline void nes_system_disconnect(const struct nes *nes, unsigned queue, uint32_t destination)
{
    *nes_table_entry(nes, queue, destination) = 0;
}

/* What this process's queues return from now on while they are empty, instead of NES_EMPTY: it may be a message whose
 * handler does nothing. No message that comes has zero in the four bits at CHASQUI_VOYAGER_EXPRESS_CAME_SHIFT. */
static inline void nes_system_set_empty(const struct nes *nes, uint64_t message)
{
    *(volatile uint64_t *)(nes->system + CHASQUI_VOYAGER_SYSTEM_EMPTY) = message;
}

/* Moves a queue of this site, in both directions, into a slot of the hardware (`resident`) or out of it, and waits
 * until it is there. Returns how many moves there have been; as many as before: the queue was there, or no slot is
 * free. */
static inline uint64_t nes_system_migrate(const struct nes *nes, unsigned queue, bool resident)
{
    nes_fence();
    *(volatile uint64_t *)(nes->system + CHASQUI_VOYAGER_SYSTEM_MIGRATE) =
        queue | (resident ? CHASQUI_VOYAGER_SYSTEM_RESIDENT : 0);
    return *(volatile uint64_t *)(nes->system + CHASQUI_VOYAGER_SYSTEM_DONE);
}

#endif
