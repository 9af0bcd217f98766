/* The MPI device over Basic messages and DMA.
 *
 * A message up to `eager` bytes goes as Basic slots, one after the other, released by one pointer store; the
 * first begins with the envelope. Longer ones go by the library's rendezvous and a DMA request.
 *
 * Coherence with the NES's SRAM: in the flush variant software flushes the lines that it wrote before it
 * stores the pointer, and those that it read before it frees the slot; in the reclaim variant the NES takes
 * them. Order: device stores do not pass older stores or flushes only if a fence says so.
 */
#include "mpi/device.h"
#include "mpi/mark.h"
#include "mpi/platform.h"
#include "registers.h"

#define SLOT CHASQUI_VOYAGER_SLOT_BYTES
#define SLOT_DATA CHASQUI_VOYAGER_SLOT_DATA_BYTES
#define HEADER sizeof(struct chasqui_voyager_slot)
/* An envelope whose two names are zero is sent without them. */
#define SHORT_ENVELOPE offsetof(struct chasqui_envelope, sender)

struct ring {
    char *slots;
    uint32_t mask;
    uint32_t produced;
    uint32_t consumed;
};

/* A message of several slots, as its parts come in. */
struct partial {
    struct chasqui_envelope envelope;
    uint32_t have;
    char *data;
};

static volatile char *pointers;
static struct ring transmit, receive, dma;
static uint32_t line_mask;
static bool reclaim;
static struct partial *partials; /* by source */
static uint64_t *dma_sender;     /* by request: whom to tell */
extern struct mpi_device mpi_device_voyager;

#define POINTER(name) (*(volatile uint32_t *)(pointers + CHASQUI_VOYAGER_##name))

static inline void flush_line(const void *line)
{
    __asm__ volatile(".insn i 0x0f, 2, x0, %0, 2" : : "r"(line) : "memory"); /* cbo.flush */
}

/* Stores and flushes before, device stores after. */
static inline void fence_before_pointer(void)
{
    __asm__ volatile("fence rw, o" : : : "memory");
}

/* `index`, but only once `pointer` has been read: loads through the result follow that load (RVWMO, address
 * dependency), without the cost of a fence. */
static inline uint32_t after(uint32_t index, uint32_t pointer)
{
    uint32_t zero;
    __asm__("xor %0, %1, %1" : "=r"(zero) : "r"(pointer));
    return index + zero;
}

static inline void flush(const char *from, size_t bytes)
{
    if (reclaim)
        return;
    for (size_t i = 0; i < bytes; i += line_mask + 1)
        flush_line(from + i);
}

static inline struct chasqui_voyager_slot *slot_of(const struct ring *ring, uint32_t index)
{
    return (struct chasqui_voyager_slot *)(ring->slots + (index & ring->mask) * SLOT);
}

static bool map_ring(struct ring *ring, const struct chasqui_ni_identification *ni, int ni_fd, unsigned region,
                     uint32_t slots)
{
    ring->slots = chq_platform_map(ni_fd, (region + 1) * CHASQUI_NI_REGION_STRIDE, ni->regions[region].bytes);
    ring->mask = slots - 1;
    return ring->slots != 0;
}

static bool voyager_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const uint64_t *settings = ni->settings;
    uint32_t slots = settings[CHASQUI_VOYAGER_SETTING_SLOTS];
    uint32_t requests = settings[CHASQUI_VOYAGER_SETTING_REQUESTS];
    uint32_t ranks = ni->ranks;
    line_mask = ni->line_bytes - 1;
    reclaim = settings[CHASQUI_VOYAGER_SETTING_VARIANT] != 0;
    mpi_device_voyager.eager_bytes_max = settings[CHASQUI_VOYAGER_SETTING_EAGER_BYTES];
    pointers = chq_platform_map(ni_fd, (CHASQUI_VOYAGER_REGION_POINTERS + 1) * CHASQUI_NI_REGION_STRIDE,
                                ni->regions[CHASQUI_VOYAGER_REGION_POINTERS].bytes);
    partials = malloc(ranks * sizeof *partials);
    dma_sender = malloc(requests * sizeof *dma_sender);
    if (!pointers || !partials || !dma_sender)
        return false;
    memset(partials, 0, ranks * sizeof *partials);
    return map_ring(&transmit, ni, ni_fd, CHASQUI_VOYAGER_REGION_TRANSMIT, slots) &&
           map_ring(&receive, ni, ni_fd, CHASQUI_VOYAGER_REGION_RECEIVE, slots) &&
           map_ring(&dma, ni, ni_fd, CHASQUI_VOYAGER_REGION_DMA, requests);
}

static void voyager_close(void)
{
}

/* --- sending ------------------------------------------------------------------------------------- */

static bool has_room(struct ring *ring, uint32_t wanted, uint64_t consumer)
{
    if (ring->mask + 1 - (ring->produced - ring->consumed) >= wanted)
        return true;
    ring->consumed = *(volatile uint32_t *)(pointers + consumer);
    return ring->mask + 1 - (ring->produced - ring->consumed) >= wanted;
}

/* Composes the slot at `index`: `head` bytes of envelope, then payload. */
static inline void compose(uint32_t index, uint16_t node, uint32_t flags, const void *envelope, size_t head,
                           const char *payload, size_t bytes)
{
    struct chasqui_voyager_slot *slot = slot_of(&transmit, index);
    slot->node = node;
    slot->bytes = head + bytes;
    slot->flags = flags;
    char *data = (char *)(slot + 1);
    if (head) {
        const uint64_t *from = envelope;
        uint64_t *to = (uint64_t *)data;
        for (size_t i = 0; i < head / sizeof *from; i++)
            to[i] = from[i];
    }
    if (bytes == sizeof(uint64_t))
        __builtin_memcpy(data + head, payload, sizeof(uint64_t));
    else if (bytes)
        memcpy(data + head, payload, bytes);
    flush((const char *)slot, HEADER + head + bytes);
}

static bool voyager_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    bool whole = envelope->sender | envelope->receiver;
    size_t head = whole ? sizeof *envelope : SHORT_ENVELOPE;
    size_t first = SLOT_DATA - head < bytes ? SLOT_DATA - head : bytes;
    uint32_t more = 0;
    for (size_t left = bytes - first; left; left = left > SLOT_DATA ? left - SLOT_DATA : 0)
        more++;
    if (!has_room(&transmit, 1 + more, CHASQUI_VOYAGER_TRANSMIT_CONSUMER))
        return false;
    uint32_t flags = CHASQUI_VOYAGER_FLAG_ENVELOPE | (whole ? CHASQUI_VOYAGER_FLAG_WHOLE : 0) |
                     (more ? CHASQUI_VOYAGER_FLAG_BEGINS : 0);
    uint32_t index = transmit.produced;
    uint16_t node = envelope->destination;
    compose(index++, node, flags, envelope, head, payload, first);
    for (size_t done = first; done < bytes;) {
        size_t part = bytes - done < SLOT_DATA ? bytes - done : SLOT_DATA;
        compose(index++, node, CHASQUI_VOYAGER_FLAG_MORE, 0, 0, (const char *)payload + done, part);
        done += part;
    }
    transmit.produced = index;
    fence_before_pointer();
    POINTER(TRANSMIT_PRODUCER) = index;
    MARK_READY(envelope);
    return true;
}

static bool voyager_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    if (dma.produced - dma.consumed > dma.mask)
        return false; /* polling will find requests that are done */
    uint32_t index = dma.produced & dma.mask;
    struct chasqui_voyager_dma *request = (struct chasqui_voyager_dma *)dma.slots + index;
    request->node = fin->destination;
    request->reserved = 0;
    request->flags = CHASQUI_VOYAGER_FLAG_ENVELOPE | CHASQUI_VOYAGER_FLAG_WHOLE;
    request->from = (uint64_t)from;
    request->to = to;
    request->bytes = bytes;
    __builtin_memcpy(request->notice, fin, sizeof request->notice);
    request->receiver = fin->receiver;
    dma_sender[index] = fin->sender;
    flush((const char *)request, sizeof *request);
    dma.produced++;
    fence_before_pointer();
    POINTER(DMA_PRODUCER) = dma.produced;
    MARK_READY(fin);
    return true;
}

/* --- receiving ----------------------------------------------------------------------------------- */

/* Further data of a message of several slots. */
static void append(const struct chasqui_voyager_slot *slot)
{
    struct partial *p = &partials[slot->node];
    memcpy(p->data + p->have, slot + 1, slot->bytes);
    p->have += slot->bytes;
    if (p->have == p->envelope.bytes)
        mpi_arrived(&p->envelope, p->data, p->have);
}

/* The first slot of several. */
static void begin(const struct chasqui_envelope *envelope, const char *data, size_t bytes)
{
    struct partial *p = &partials[envelope->source];
    if (!p->data)
        p->data = malloc(mpi_device_voyager.eager_bytes_max);
    p->envelope = *envelope;
    memcpy(p->data, data, bytes);
    p->have = bytes;
}

static inline void arrived(const struct chasqui_voyager_slot *slot)
{
    if (slot->flags & CHASQUI_VOYAGER_FLAG_MORE) {
        append(slot);
        return;
    }
    const char *data = (const char *)(slot + 1);
    struct chasqui_envelope envelope;
    size_t head = slot->flags & CHASQUI_VOYAGER_FLAG_WHOLE ? sizeof envelope : SHORT_ENVELOPE;
    if (head == SHORT_ENVELOPE) {
        __builtin_memcpy(&envelope, data, SHORT_ENVELOPE);
        envelope.sender = envelope.receiver = 0;
    } else {
        __builtin_memcpy(&envelope, data, sizeof envelope);
    }
    size_t bytes = slot->bytes - head;
    if (slot->flags & CHASQUI_VOYAGER_FLAG_BEGINS)
        begin(&envelope, data + head, bytes);
    else
        mpi_arrived(&envelope, data + head, bytes);
}

static void receive_all(void)
{
    uint32_t producer = POINTER(RECEIVE_PRODUCER);
    if (producer == receive.consumed)
        return;
    do {
        const struct chasqui_voyager_slot *slot = slot_of(&receive, after(receive.consumed, producer));
        size_t used = HEADER + slot->bytes;
        arrived(slot);
        flush((const char *)slot, used);
        receive.consumed++;
    } while (receive.consumed != producer);
    fence_before_pointer();
    POINTER(RECEIVE_CONSUMER) = producer;
}

static void finish_puts(void)
{
    uint32_t consumer = POINTER(DMA_CONSUMER);
    while (dma.consumed != consumer)
        mpi_put_done(dma_sender[dma.consumed++ & dma.mask]);
}

static void voyager_poll(void)
{
    receive_all();
    if (dma.consumed != dma.produced)
        finish_puts();
}

struct mpi_device mpi_device_voyager = {
    .name = "voyager",
    .id = CHASQUI_VOYAGER_DEVICE,
    .open = voyager_open,
    .close = voyager_close,
    .send = voyager_send,
    .poll = voyager_poll,
    .put = voyager_put,
};
