/* The MPI device over Basic messages and DMA.
 *
 * A message up to `eager` bytes goes as Basic slots, one after the other; the first begins with the
 * envelope. Longer ones go by the library's rendezvous and a DMA request.
 *
 * Coherence with the NES's SRAM: in the flush variant software flushes the lines that it wrote before it
 * stores the pointer, and those that it read before it frees the slot; in the reclaim variant the NES takes
 * them. Order: device stores do not pass older stores or flushes only if a fence says so.
 *
 * A pointer's store costs a fence and a bus transaction. So received slots are freed together: when
 * half of the ring has come, or when there is nothing else to do. But the slots of a long message are
 * released one by one, so that the NES sends and the receiver copies while the rest is composed.
 */
#include "mpi/device.h"
#include "mpi/mark.h"
#include "mpi/memory.h"
#include "registers.h"

#define SLOT CHASQUI_VOYAGER_SLOT_BYTES
#define SLOT_DATA CHASQUI_VOYAGER_SLOT_DATA_BYTES
#define HEADER sizeof(struct chasqui_voyager_slot)
/* An envelope whose two names are zero is sent without them. */
#define SHORT_ENVELOPE offsetof(struct chasqui_envelope, sender)

/* Slots and requests are whole lines: words. */
struct ring {
    uint64_t *slots;
    uint32_t mask;
    uint32_t produced;
    uint32_t consumed;
};

/* A message of several slots, as its parts come in. */
struct partial {
    struct chasqui_envelope envelope;
    size_t have;
    char *to;
    struct request *request; /* The receive that waits for it; null: `to` is `kept`. */
    char *kept;
};

static volatile char *pointers;
static struct ring transmit, receive, dma;
static uint32_t receive_freed; /* Slots that the NES knows to be free. */
static uint32_t line_bytes;
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

static inline void flush(const void *from, size_t bytes)
{
    if (unlikely(reclaim))
        return;
    size_t step = line_bytes; /* flush_line clobbers what is in memory */
    const char *end = (const char *)from + bytes;
    for (const char *line = from; line < end; line += step)
        flush_line(line);
}

static inline uint64_t *slot_of(const struct ring *ring, uint32_t index)
{
    return ring->slots + (index & ring->mask) * (SLOT / sizeof *ring->slots);
}

static inline struct chasqui_voyager_slot header_of(const uint64_t *slot)
{
    struct chasqui_voyager_slot header;
    __builtin_memcpy(&header, slot, sizeof header);
    return header;
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
    line_bytes = ni->line_bytes;
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
    if (likely(ring->mask + 1 - (ring->produced - ring->consumed) >= wanted))
        return true;
    ring->consumed = *(volatile uint32_t *)(pointers + consumer);
    return ring->mask + 1 - (ring->produced - ring->consumed) >= wanted;
}

static inline void set_header(uint64_t *slot, uint16_t node, size_t bytes, uint32_t flags)
{
    struct chasqui_voyager_slot header = {.node = node, .bytes = (uint16_t)bytes, .flags = flags};
    __builtin_memcpy(slot, &header, sizeof header);
}

/* Composes the slot that begins a message: `head` bytes of envelope, then payload. */
static inline void compose_first(uint64_t *slot, uint32_t flags, const struct chasqui_envelope *envelope,
                                 size_t head, const void *payload, size_t bytes)
{
    bool whole = head == sizeof *envelope;
    flags |= CHASQUI_VOYAGER_FLAG_ENVELOPE | (whole ? CHASQUI_VOYAGER_FLAG_WHOLE : 0);
    set_header(slot, envelope->destination, head + bytes, flags);
    uint64_t *data = slot + HEADER / sizeof *slot;
    __builtin_memcpy(data, envelope, SHORT_ENVELOPE);
    if (unlikely(whole))
        __builtin_memcpy(data + SHORT_ENVELOPE / sizeof *data, &envelope->sender, sizeof *envelope - SHORT_ENVELOPE);
    chq_copy(data + head / sizeof *data, payload, bytes);
    flush(slot, HEADER + head + bytes);
}

/* Hands the slots before `index` to the NES. */
static inline void release(uint32_t index)
{
    transmit.produced = index;
    fence_before_pointer();
    POINTER(TRANSMIT_PRODUCER) = index;
}

/* A message of several slots; the first takes `first` bytes of it. */
static __attribute__((noinline)) bool send_slots(const struct chasqui_envelope *envelope, size_t head,
                                                 const char *payload, size_t bytes)
{
    size_t first = SLOT_DATA - head;
    uint32_t more = (bytes - first + SLOT_DATA - 1) / SLOT_DATA;
    if (!has_room(&transmit, 1 + more, CHASQUI_VOYAGER_TRANSMIT_CONSUMER))
        return false;
    uint32_t begin = transmit.produced;
    compose_first(slot_of(&transmit, begin), CHASQUI_VOYAGER_FLAG_BEGINS, envelope, head, payload, first);
    payload += first;
    bytes -= first;
    release(begin + 1);
    MARK_READY(envelope);
    for (uint32_t index = begin + 1; bytes > 0; index++) {
        uint64_t *slot = slot_of(&transmit, index);
        size_t part = bytes < SLOT_DATA ? bytes : SLOT_DATA;
        set_header(slot, envelope->destination, part, CHASQUI_VOYAGER_FLAG_MORE);
        memcpy(slot + HEADER / sizeof *slot, payload, part);
        flush(slot, HEADER + part);
        payload += part;
        bytes -= part;
        release(index + 1);
    }
    return true;
}

static bool voyager_send(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    size_t head = unlikely(envelope->sender | envelope->receiver) ? sizeof *envelope : SHORT_ENVELOPE;
    if (unlikely(bytes > SLOT_DATA - head))
        return send_slots(envelope, head, payload, bytes);
    if (unlikely(!has_room(&transmit, 1, CHASQUI_VOYAGER_TRANSMIT_CONSUMER)))
        return false;
    uint32_t index = transmit.produced;
    compose_first(slot_of(&transmit, index), 0, envelope, head, payload, bytes);
    release(index + 1);
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
    flush(request, sizeof *request);
    dma.produced++;
    fence_before_pointer();
    POINTER(DMA_PRODUCER) = dma.produced;
    MARK_READY(fin);
    return true;
}

/* --- receiving ----------------------------------------------------------------------------------- */

/* Further data of a message of several slots. */
static __attribute__((noinline)) void append(uint32_t source, const uint64_t *data, size_t bytes)
{
    struct partial *p = &partials[source];
    memcpy(p->to + p->have, data, bytes);
    p->have += bytes;
    if (p->have < p->envelope.bytes)
        return;
    if (p->request)
        mpi_placed(p->request);
    else
        mpi_arrived(&p->envelope, p->kept, p->have);
}

/* The first slot of several. */
static __attribute__((noinline)) void begin(const struct chasqui_envelope *envelope, const uint64_t *data, size_t bytes)
{
    struct partial *p = &partials[envelope->source];
    void *to = NULL;
    p->request = mpi_begins(envelope, &to);
    if (!p->request) {
        if (!p->kept)
            p->kept = malloc(mpi_device_voyager.eager_bytes_max);
        to = p->kept;
    }
    p->envelope = *envelope;
    p->to = to;
    p->have = bytes;
    memcpy(to, data, bytes);
}

static inline void arrived(const uint64_t *slot)
{
    struct chasqui_voyager_slot header = header_of(slot);
    const uint64_t *data = slot + HEADER / sizeof *slot;
    if (unlikely(header.flags & CHASQUI_VOYAGER_FLAG_MORE)) {
        append(header.node, data, header.bytes);
        return;
    }
    struct chasqui_envelope envelope;
    size_t head = SHORT_ENVELOPE;
    envelope.sender = envelope.receiver = 0;
    __builtin_memcpy(&envelope, data, SHORT_ENVELOPE);
    if (unlikely(header.flags & CHASQUI_VOYAGER_FLAG_WHOLE)) {
        head = sizeof envelope;
        __builtin_memcpy(&envelope.sender, data + SHORT_ENVELOPE / sizeof *data, head - SHORT_ENVELOPE);
    }
    data += head / sizeof *data;
    if (unlikely(header.flags & CHASQUI_VOYAGER_FLAG_BEGINS))
        begin(&envelope, data, header.bytes - head);
    else
        mpi_arrived(&envelope, data, header.bytes - head);
}

/* Gives the slots that have been read back to the NES. */
static __attribute__((noinline)) void free_slots(void)
{
    for (; receive_freed != receive.consumed; receive_freed++) {
        const uint64_t *slot = slot_of(&receive, receive_freed);
        flush(slot, HEADER + header_of(slot).bytes);
    }
    fence_before_pointer();
    POINTER(RECEIVE_CONSUMER) = receive_freed;
}

static void receive_until(uint32_t producer)
{
    do {
        arrived(slot_of(&receive, after(receive.consumed, producer)));
        receive.consumed++;
        if (unlikely(receive.consumed - receive_freed > receive.mask / 2))
            free_slots();
    } while (receive.consumed != producer);
}

static void finish_puts(void)
{
    uint32_t consumer = POINTER(DMA_CONSUMER);
    while (dma.consumed != consumer)
        mpi_put_done(dma_sender[dma.consumed++ & dma.mask]);
}

/* Something has happened since the last poll, or is to be tidied up. */
static __attribute__((noinline)) void act(uint32_t producer)
{
    if (likely(receive.consumed != producer))
        receive_until(producer);
    else if (receive_freed != producer)
        free_slots();
    /* The flush reaches the caches of the hart that has read the slots. */
    if (unlikely(mpi_device_voyager.shared) && receive_freed != receive.consumed)
        free_slots();
    if (unlikely(dma.consumed != dma.produced))
        finish_puts();
}

static void voyager_poll(void)
{
    uint32_t producer = POINTER(RECEIVE_PRODUCER);
    if (receive_freed != producer || dma.consumed != dma.produced)
        act(producer);
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
