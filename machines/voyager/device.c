/* The MPI device over the NES's mechanisms. It picks by size: Express alone for the shortest messages, 64-byte
 * stores up to `store_64` and Tag-On up to `tag_on` (by default none), Basic slots up to `eager` and for the library's
 * own packets, above that the library's rendezvous and a DMA request. `voyager.mpi.mechanism` leaves some of them out.
 *
 * Order: between queues the NES keeps none, but what has left a transmit queue reaches the node in that order.
 * So a message goes by another queue than its predecessor to the same process only when that has left. There the
 * one may lie in its queue while the other is still with the sP, so both say what comes before them: a Basic message
 * how many by Express (FLAG_ORDERED), an Express message behind Basic ones how many those are (MPI_ORDER). The
 * receiver takes Express messages first (OnePoll). While one waits for Basic messages, none behind it is taken: they
 * reached the node before it, so before any slot that waits for an Express message behind it. Nothing is set aside.
 *
 * An Express message has no room for an envelope: it says how long it is; context and tag are those of the last one
 * of the pair, or come by one more before it (as headers are left out in RFC 1144).
 *
 * Coherence with the NES's SRAM: in the flush variant software flushes the lines that it wrote before it
 * stores the pointer, and those that it read before it frees the slot; in the reclaim variant the NES takes
 * them. Device stores do not pass older stores or flushes only if a fence says so.
 *
 * A pointer's store costs a fence and a bus transaction. So received slots are freed together, when half of the ring
 * has come or nothing else is to be done; those of a long message one by one, so that the rest is composed meanwhile.
 */
#include "chasqui/store64.h"
#include "mpi/device.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/memory.h"
#include "express.h"
#include "ordering.h"
#include "registers.h"

#define SLOT_DATA CHASQUI_VOYAGER_SLOT_DATA_BYTES
#define HEADER sizeof(struct chasqui_voyager_slot)
/* An envelope whose two names are zero is sent without them. */
#define SHORT_ENVELOPE offsetof(struct chasqui_envelope, sender)
#define TAGS_MAX CHASQUI_VOYAGER_TAGS_MAX
#define TAG_WORDS (CHASQUI_VOYAGER_EXPRESS_QUEUES * TAGS_MAX / 32)

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
static uint32_t receive_freed; /* Slots that have been given back to the NES. */
static uint32_t line_bytes;
static size_t stride_words; /* from one slot, or place of tagged data, to the next */
static bool reclaim;
static struct partial *partials; /* by source */
static uint64_t *dma_sender;     /* by request: the request to notify */
static struct peer *peers;       /* by rank */
static volatile char *express, *tag_on;       /* windows of stores */
static volatile uint64_t *express_or_basic;   /* OnePoll: Express queue 0, then Basic queue 0 */
static uint32_t posted, left, express_slots;  /* Express and Tag-On messages stored, and known to have left */
static unsigned destination_bits;
static size_t express_end, store_64_end, tag_on_end, basic_end; /* SETTING_*_END */
static uint64_t *places, *tags;               /* for data to be tagged on; slots of those that came */
static uint32_t places_used, places_mask, tags_held;
static uint32_t place_posted[TAGS_MAX];       /* by place: `posted` once its message was stored */
static uint32_t tags_read[TAG_WORDS];         /* a bit each of `tags_held`: slots that were read */
static uint8_t tag_bytes[32 * TAG_WORDS];     /* by slot: bytes that were read */
static uint32_t numbered;                     /* Messages that came without their name. */
static uint64_t head_here;                    /* First word of an envelope that such a message gets. */
static uint16_t own_rank;
static uint32_t unfinished;                   /* What waits for Basic slots: rests of messages, and `behind_basic`. */
static struct peer *behind_basic;             /* Whose Express messages wait for Basic ones, */
static uint16_t basic_awaited;                /* until this one has come. */
extern struct mpi_device mpi_device_voyager;
static bool send_by_size(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
static void poll_express(void);

#define POINTER(name) (*(volatile uint32_t *)(pointers + CHASQUI_VOYAGER_##name))

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
    return ring->slots + (index & ring->mask) * stride_words;
}

static inline struct chasqui_voyager_slot header_of(const uint64_t *slot)
{
    struct chasqui_voyager_slot header;
    __builtin_memcpy(&header, slot, sizeof header);
    return header;
}

static void *map_region(const struct chasqui_ni_identification *ni, int ni_fd, unsigned region)
{
    return chq_platform_map(ni_fd, (region + 1) * CHASQUI_NI_REGION_STRIDE, ni->regions[region].bytes);
}

static bool map_ring(struct ring *ring, const struct chasqui_ni_identification *ni, int ni_fd, unsigned region,
                     uint32_t slots)
{
    ring->slots = map_region(ni, ni_fd, region);
    ring->mask = slots - 1;
    return ring->slots != 0;
}

static bool open_basic(const struct chasqui_ni_identification *ni, int ni_fd)
{
    uint32_t slots = ni->settings[CHASQUI_VOYAGER_SETTING_SLOTS];
    uint32_t requests = ni->settings[CHASQUI_VOYAGER_SETTING_REQUESTS];
    pointers = map_region(ni, ni_fd, CHASQUI_VOYAGER_REGION_POINTERS);
    partials = malloc(ni->ranks * sizeof *partials);
    dma_sender = malloc(requests * sizeof *dma_sender);
    if (!pointers || !partials || !dma_sender)
        return false;
    memset(partials, 0, ni->ranks * sizeof *partials);
    return map_ring(&transmit, ni, ni_fd, CHASQUI_VOYAGER_REGION_TRANSMIT, slots) &&
           map_ring(&receive, ni, ni_fd, CHASQUI_VOYAGER_REGION_RECEIVE, slots) &&
           map_ring(&dma, ni, ni_fd, CHASQUI_VOYAGER_REGION_DMA, requests);
}

static bool open_express(const struct chasqui_ni_identification *ni, int ni_fd)
{
    express_slots = ni->settings[CHASQUI_VOYAGER_SETTING_EXPRESS_SLOTS];
    places_mask = ni->settings[CHASQUI_VOYAGER_SETTING_TAGS] - 1;
    destination_bits = ni->settings[CHASQUI_VOYAGER_SETTING_DESTINATION_BITS];
    own_rank = (uint16_t)ni->rank;
    head_here = CHASQUI_PACKET_EAGER | CHASQUI_ENVELOPE_NUMBERED_HERE << 8 | (uint64_t)own_rank << 48;
    peers = malloc(ni->ranks * sizeof *peers);
    express = map_region(ni, ni_fd, CHASQUI_VOYAGER_REGION_EXPRESS);
    char *page = map_region(ni, ni_fd, CHASQUI_VOYAGER_REGION_EXPRESS_RECEIVE);
    if (!peers || !express || !page)
        return false;
    memset(peers, 0, ni->ranks * sizeof *peers);
    const uint64_t none = CHASQUI_VOYAGER_ONEPOLL_NONE, basic = CHASQUI_VOYAGER_EXPRESS_QUEUES;
    *(volatile uint64_t *)(page + CHASQUI_VOYAGER_ONEPOLL_ORDER) = none << 32 | basic << 16;
    express_or_basic = (volatile uint64_t *)(page + CHASQUI_VOYAGER_ONEPOLL);
    mpi_device_voyager.send = send_by_size;
    mpi_device_voyager.poll = poll_express;
    return true;
}

static bool open_tag_on(const struct chasqui_ni_identification *ni, int ni_fd)
{
    tag_on = map_region(ni, ni_fd, CHASQUI_VOYAGER_REGION_TAG);
    places = map_region(ni, ni_fd, CHASQUI_VOYAGER_REGION_TAG_DATA);
    size_t bytes = (places_mask + 1) * stride_words * sizeof *places;
    tags = places + ((bytes + 4095) & ~(size_t)4095) / sizeof *places;
    return tag_on && places;
}

static bool voyager_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const uint64_t *settings = ni->settings;
    line_bytes = ni->line_bytes;
    stride_words = settings[CHASQUI_VOYAGER_SETTING_STRIDE] / sizeof(uint64_t);
    reclaim = settings[CHASQUI_VOYAGER_SETTING_VARIANT] != 0;
    express_end = settings[CHASQUI_VOYAGER_SETTING_EXPRESS_END];
    store_64_end = settings[CHASQUI_VOYAGER_SETTING_STORE_64_END];
    tag_on_end = settings[CHASQUI_VOYAGER_SETTING_TAG_ON_END];
    basic_end = settings[CHASQUI_VOYAGER_SETTING_BASIC_END];
    mpi_device_voyager.eager_bytes_max = (basic_end ? basic_end : tag_on_end) - 1;
    return open_basic(ni, ni_fd) && (!(express_end | store_64_end | tag_on_end) || open_express(ni, ni_fd)) &&
           (!(store_64_end | tag_on_end) || open_tag_on(ni, ni_fd));
}

static void voyager_close(void) {}

/* --- sending by Basic and DMA --------------------------------------------------------------------- */

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

/* The first word of an envelope, with something else in place of the destination. */
static inline uint64_t first_word(const struct chasqui_envelope *envelope, uint16_t instead)
{
    uint64_t word;
    __builtin_memcpy(&word, envelope, sizeof word);
    return word << 16 >> 16 | (uint64_t)instead << 48;
}

/* Composes the slot that begins a message: `head` bytes of envelope, then payload. */
static inline void compose_first(uint64_t *slot, uint32_t flags, const struct peer *peer,
                                 const struct chasqui_envelope *envelope, size_t head, const void *payload,
                                 size_t bytes)
{
    uint16_t destination = envelope->destination;
    flags |= CHASQUI_VOYAGER_FLAG_ENVELOPE | (peer ? CHASQUI_VOYAGER_FLAG_ORDERED : 0);
    set_header(slot, destination, head + bytes, flags);
    uint64_t *data = slot + HEADER / sizeof *slot;
    data[0] = first_word(envelope, peer ? peer->express_sent : destination);
    __builtin_memcpy(data + 1, &envelope->tag, SHORT_ENVELOPE - sizeof *data);
    if (head == sizeof *envelope)
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

/* All Express and Tag-On messages up to the `until`th have left their queue. */
static inline bool have_left(uint32_t until)
{
    if (likely((int32_t)(left - until) >= 0))
        return true;
    left = POINTER(EXPRESS_SENT);
    return (int32_t)(left - until) >= 0;
}

/* The last slots went to a process. */
static inline void note_basic(struct peer *peer)
{
    if (!peer)
        return;
    peer->last = transmit.produced;
    peer->basic_sent++;
    peer->behind = true;
}

static inline size_t head_of(const struct chasqui_envelope *envelope)
{
    return unlikely(envelope->sender | envelope->receiver) ? sizeof *envelope : SHORT_ENVELOPE;
}

/* A message of any number of slots; the first takes `head` bytes of the envelope and `first` of the payload. */
static inline __attribute__((always_inline)) bool send_slots(struct peer *peer, const struct chasqui_envelope *envelope,
                                                             size_t head, size_t first, const char *payload,
                                                             size_t bytes)
{
    uint32_t more = (bytes - first + SLOT_DATA - 1) / SLOT_DATA;
    if (!has_room(&transmit, 1 + more, CHASQUI_VOYAGER_TRANSMIT_CONSUMER))
        return false;
    uint32_t index = transmit.produced;
    uint32_t flags =
        (head == sizeof *envelope ? CHASQUI_VOYAGER_FLAG_WHOLE : 0) | (more > 0 ? CHASQUI_VOYAGER_FLAG_BEGINS : 0);
    compose_first(slot_of(&transmit, index), flags, peer, envelope, head, payload, first);
    release(++index);
    MARK_READY(envelope);
    for (size_t done = first; done < bytes;) {
        uint64_t *slot = slot_of(&transmit, index);
        size_t part = bytes - done < SLOT_DATA ? bytes - done : SLOT_DATA;
        set_header(slot, envelope->destination, part, CHASQUI_VOYAGER_FLAG_MORE);
        memcpy(slot + HEADER / sizeof *slot, payload + done, part);
        flush(slot, HEADER + part);
        done += part;
        release(++index);
    }
    note_basic(peer);
    return true;
}

static __attribute__((noinline)) bool send_long(struct peer *peer, const struct chasqui_envelope *envelope,
                                                const void *payload, size_t bytes)
{
    return send_slots(peer, envelope, SHORT_ENVELOPE, SLOT_DATA - SHORT_ENVELOPE, payload, bytes);
}

static __attribute__((noinline)) bool send_whole(struct peer *peer, const struct chasqui_envelope *envelope,
                                                 const void *payload, size_t bytes)
{
    size_t room = SLOT_DATA - sizeof *envelope;
    return send_slots(peer, envelope, sizeof *envelope, bytes < room ? bytes : room, payload, bytes);
}

/* In order with what went to the same process by Express. */
static bool send_basic(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = peers ? &peers[envelope->destination] : NULL;
    if (unlikely(peer && !peer->behind && !have_left(peer->last)))
        return false;
    if (unlikely(head_of(envelope) != SHORT_ENVELOPE))
        return send_whole(peer, envelope, payload, bytes);
    if (unlikely(bytes > SLOT_DATA - SHORT_ENVELOPE))
        return send_long(peer, envelope, payload, bytes);
    if (unlikely(!has_room(&transmit, 1, CHASQUI_VOYAGER_TRANSMIT_CONSUMER)))
        return false;
    uint32_t index = transmit.produced;
    compose_first(slot_of(&transmit, index), 0, peer, envelope, SHORT_ENVELOPE, payload, bytes);
    release(index + 1);
    MARK_READY(envelope);
    note_basic(peer);
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

/* --- sending by Express and Tag-On ---------------------------------------------------------------- */

/* The Basic messages that went to a process have left their queue. */
static __attribute__((noinline)) bool basic_has_left(const struct peer *peer)
{
    if ((int32_t)(transmit.consumed - peer->last) >= 0)
        return true;
    transmit.consumed = POINTER(TRANSMIT_CONSUMER);
    return (int32_t)(transmit.consumed - peer->last) >= 0;
}

/* Where in a window a message's store goes. */
static inline uint64_t offset_of(uint64_t above, const struct chasqui_envelope *envelope, uint32_t extra)
{
    uint64_t column = above << destination_bits | envelope->destination;
    return column << CHASQUI_VOYAGER_EXPRESS_DESTINATION_SHIFT | extra << CHASQUI_VOYAGER_EXPRESS_EXTRA_SHIFT;
}

/* A message by one store, or part of one. */
static inline void store(volatile char *window, uint64_t above, const struct chasqui_envelope *envelope, uint32_t extra,
                         uint32_t value)
{
    uint64_t offset = offset_of(above, envelope, extra);
    MARK_CARRY(envelope);
    *(volatile uint32_t *)(window + offset) = value;
    posted++;
}

/* One more message is on its way to a process. */
static inline void note_sent(struct peer *peer)
{
    peer->behind = false;
    peer->last = posted;
    peer->express_sent++;
}

/* Before a message by Express behind one by Basic: says how many those are. */
static inline void tell_order(const struct peer *peer, const struct chasqui_envelope *envelope)
{
    store(express, 0, envelope, CHASQUI_VOYAGER_MPI_ORDER, peer->basic_sent);
    MARK_READY(envelope);
}

/* `word` has the payload's `bytes`, at most 8. `behind`: peer->behind, where it is a constant. */
static inline __attribute__((always_inline)) bool
send_express(struct peer *peer, const struct chasqui_envelope *envelope, uint64_t word, size_t bytes, bool behind)
{
    if (unlikely(!have_left(posted + CHASQUI_VOYAGER_MPI_EXPRESS_MAX - express_slots)))
        return false;
    if (behind)
        tell_order(peer, envelope);
    uint32_t shape = shape_of(envelope);
    if (unlikely(shape != peer->shape_sent)) {
        peer->shape_sent = shape;
        store(express, 0, envelope, CHASQUI_VOYAGER_MPI_SHAPE, shape);
        MARK_READY(envelope);
    }
    store(express, 0, envelope, (uint32_t)bytes, (uint32_t)word);
    MARK_READY(envelope);
    if (bytes > sizeof(uint32_t))
        store(express, 0, envelope, 0, (uint32_t)(word >> 32));
    note_sent(peer);
    return true;
}

/* As by Tag-On, but the store brings the data: nothing is composed in SRAM, flushed and fenced. */
static __attribute__((noinline)) bool send_store_64(struct peer *peer, const struct chasqui_envelope *envelope,
                                                    size_t head, const void *payload, size_t bytes)
{
    if (unlikely(!have_left(posted + 2 - express_slots)))
        return false;
    uint64_t words[8] = {0};
    uint64_t whole = head == sizeof *envelope ? CHASQUI_VOYAGER_MPI_WHOLE : 0;
    uint64_t count = (head + bytes + sizeof *words - 1) / sizeof *words;
    words[0] = (uint32_t)bytes | whole << 32 | count << CHASQUI_VOYAGER_WIDE_COUNT_SHIFT;
    put_head(words + 1, envelope, head);
    chq_copy(words + 1 + head / sizeof *words, payload, bytes);
    if (peer->behind)
        tell_order(peer, envelope);
    MARK_CARRY(envelope);
    chasqui_store_64(express + offset_of(0, envelope, 0), words);
    posted++;
    note_sent(peer);
    MARK_READY(envelope);
    return true;
}

static __attribute__((noinline)) bool send_tag_on(struct peer *peer, const struct chasqui_envelope *envelope,
                                                  size_t head, const void *payload, size_t bytes)
{
    uint32_t place = places_used & places_mask;
    if (unlikely(!have_left(posted + 2 - express_slots) || !have_left(place_posted[place])))
        return false;
    uint64_t *data = places + place * stride_words;
    put_head(data, envelope, head);
    chq_copy(data + head / sizeof *data, payload, bytes);
    flush(data, head + bytes);
    fence_before_pointer();
    uint64_t above = (uint64_t)place << CHASQUI_VOYAGER_TAG_PLACE_SHIFT;
    above |= head + bytes > CHASQUI_VOYAGER_TAG_SHORT_BYTES ? CHASQUI_VOYAGER_TAG_LONG : 0;
    uint32_t whole = head == sizeof *envelope ? CHASQUI_VOYAGER_MPI_WHOLE : 0;
    if (peer->behind)
        tell_order(peer, envelope);
    store(tag_on, above, envelope, whole, (uint32_t)bytes);
    place_posted[place] = posted;
    places_used++;
    note_sent(peer);
    MARK_READY(envelope);
    return true;
}

/* By Express, a 64-byte store or Tag-On, where a message fits. */
static __attribute__((noinline)) bool send_short(const struct chasqui_envelope *envelope, const void *payload,
                                                 size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    size_t head = head_of(envelope) == SHORT_ENVELOPE ? CHASQUI_VOYAGER_MPI_TAGGED_HEAD : sizeof *envelope;
    bool fits_express = bytes < express_end && shape_fits(envelope);
    bool fits_store_64 = bytes < store_64_end && head + bytes <= CHASQUI_VOYAGER_WIDE_WORDS * sizeof(uint64_t);
    bool fits_tag_on = bytes < tag_on_end && head + bytes <= CHASQUI_VOYAGER_TAG_LONG_BYTES;
    /* While its predecessor has not left the Basic queue, a message follows it there. */
    if (!(fits_express || fits_store_64 || fits_tag_on) || (peer->behind && !basic_has_left(peer)))
        return send_basic(envelope, payload, bytes);
    if (!fits_express && fits_store_64)
        return send_store_64(peer, envelope, head, payload, bytes);
    if (!fits_express)
        return send_tag_on(peer, envelope, head, payload, bytes);
    uint64_t word = 0;
    if (bytes > 0)
        memcpy(&word, payload, bytes);
    return send_express(peer, envelope, word, bytes, peer->behind);
}

/* What is not the shortest path. */
static __attribute__((noinline)) bool send_other(const struct chasqui_envelope *envelope, const void *payload,
                                                 size_t bytes)
{
    if (bytes < tag_on_end || bytes < store_64_end || (bytes < express_end && shape_fits(envelope)))
        return send_short(envelope, payload, bytes);
    return send_basic(envelope, payload, bytes);
}

/* Written out: an aligned word, or half of one, by Express. */
static bool send_by_size(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct peer *peer = &peers[envelope->destination];
    uint64_t word;
    uint32_t half;
    if (unlikely(bytes >= express_end || ((uintptr_t)payload & (bytes - 1)) || peer->behind || !shape_fits(envelope)))
        return send_other(envelope, payload, bytes);
    if (likely(bytes == sizeof word)) {
        __builtin_memcpy(&word, __builtin_assume_aligned(payload, sizeof word), sizeof word);
        return send_express(peer, envelope, word, sizeof word, false);
    }
    if (bytes != sizeof half)
        return send_other(envelope, payload, bytes);
    __builtin_memcpy(&half, __builtin_assume_aligned(payload, sizeof half), sizeof half);
    return send_express(peer, envelope, half, sizeof half, false);
}

/* --- receiving by Basic and DMA ------------------------------------------------------------------- */

/* Further data of a message of several slots. */
static __attribute__((noinline)) void append(uint32_t source, const uint64_t *data, size_t bytes)
{
    struct partial *p = &partials[source];
    memcpy(p->to + p->have, data, bytes);
    p->have += bytes;
    if (p->have < p->envelope.bytes)
        return;
    unfinished--;
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
    unfinished++;
    memcpy(to, data, bytes);
}

/* Deals with a slot. False: an Express message that is still to be taken comes before it. */
static __attribute__((noinline)) bool arrived(const uint64_t *slot)
{
    struct chasqui_voyager_slot header = header_of(slot);
    const uint64_t *data = slot + HEADER / sizeof *slot;
    if (unlikely(header.flags & CHASQUI_VOYAGER_FLAG_MORE)) {
        append(header.node, data, header.bytes);
        return true;
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
    if (header.flags & CHASQUI_VOYAGER_FLAG_ORDERED) {
        struct peer *peer = &peers[header.node];
        if (envelope.destination != peer->express_taken)
            return false;
        peer->basic_taken++;
        envelope.destination = own_rank;
    }
    if (unlikely(header.flags & CHASQUI_VOYAGER_FLAG_BEGINS))
        begin(&envelope, data, header.bytes - head);
    else
        mpi_arrived(&envelope, data, header.bytes - head);
    return true;
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

/* Deals with the slots before `producer`. False: with those up to one that must wait. */
static bool receive_until(uint32_t producer)
{
    while (receive.consumed != producer) {
        if (unlikely(!arrived(slot_of(&receive, after(receive.consumed, producer)))))
            return false;
        receive.consumed++;
        if (unlikely(receive.consumed - receive_freed > receive.mask / 2))
            free_slots();
    }
    return true;
}

static void finish_puts(void)
{
    uint32_t consumer = POINTER(DMA_CONSUMER);
    while (dma.consumed != consumer)
        mpi_put_done(dma_sender[dma.consumed++ & dma.mask]);
}

/* The Basic ring's pointer was read: deals with what has come, or else tidies up. False: a slot waits for an
 * Express message. */
static __attribute__((noinline)) bool act(uint32_t producer)
{
    bool all = true;
    if (likely(receive.consumed != producer))
        all = receive_until(producer);
    else if (receive_freed != producer)
        free_slots();
    if (unlikely(dma.consumed != dma.produced))
        finish_puts();
    return all;
}

static void poll_basic(void)
{
    uint32_t producer = POINTER(RECEIVE_PRODUCER);
    if (receive_freed != producer || dma.consumed != dma.produced)
        act(producer);
}

/* --- receiving by Express and Tag-On -------------------------------------------------------------- */

/* A whole message has come by Express. */
static __attribute__((noinline)) void arrived_express(struct peer *peer, uint32_t source, uint64_t word, size_t bytes)
{
    uint64_t words[2] = {head_here | peer->shape >> 32 | (uint64_t)source << 32,
                         (uint32_t)peer->shape | (uint64_t)++numbered << 32};
    struct chasqui_envelope envelope;
    __builtin_memcpy(&envelope, words, sizeof words);
    envelope.bytes = bytes;
    envelope.sender = envelope.receiver = 0;
    MARK_TAKEN(&envelope);
    peer->express_taken++;
    mpi_arrived(&envelope, &word, bytes);
}

/* Gives the slots of data that have been read back to the NES. */
static __attribute__((noinline)) void free_tags(void)
{
    for (uint32_t word = 0; tags_held > 0; word++) {
        uint32_t read = tags_read[word];
        for (uint32_t rest = read, slot = 32 * word; rest != 0; rest >>= 1, slot++)
            if (rest & 1) {
                flush(tags + slot * stride_words, tag_bytes[slot]);
                tags_held--;
            }
        if (read == 0)
            continue;
        tags_read[word] = 0;
        fence_before_pointer();
        *(volatile uint32_t *)(pointers + CHASQUI_VOYAGER_TAG_RELEASE + word * sizeof read) = read;
    }
}

/* A message has come by Tag-On. */
static void arrived_tagged(struct peer *peer, uint64_t message, uint32_t extra)
{
    uint32_t slot = message >> CHASQUI_VOYAGER_EXPRESS_SLOT_SHIFT;
    const uint64_t *data = tags + slot * stride_words; /* the address depends on the message */
    size_t bytes = (uint32_t)message, head = CHASQUI_VOYAGER_MPI_TAGGED_HEAD;
    struct chasqui_envelope envelope;
    __builtin_memcpy(&envelope, data, CHASQUI_VOYAGER_MPI_TAGGED_HEAD);
    if (extra & CHASQUI_VOYAGER_MPI_WHOLE) {
        head = sizeof envelope;
        __builtin_memcpy(&envelope.bytes, data + 2, sizeof envelope - CHASQUI_VOYAGER_MPI_TAGGED_HEAD);
    } else {
        envelope.bytes = bytes;
        envelope.sender = envelope.receiver = 0;
    }
    tag_bytes[slot] = (uint8_t)(head + bytes);
    tags_read[slot / 32] |= 1u << slot % 32;
    tags_held++;
    peer->express_taken++;
    mpi_arrived(&envelope, data + head / sizeof *data, bytes);
    if (unlikely(tags_held > places_mask / 2))
        free_tags();
}

static void take(uint64_t message);

/* The first half of a message came alone. Not inline: a loop would cost the short path registers. */
static __attribute__((noinline)) void keep_half(struct peer *peer, uint32_t half, uint32_t bytes, uint64_t next)
{
    peer->begun = (uint8_t)bytes;
    peer->word = half;
    if (is_express(next))
        take(next);
}

/* A message of up to 8 bytes, or half of one. The second half mostly follows at once. */
static inline __attribute__((always_inline)) void take_part(struct peer *peer, uint64_t message, uint32_t bytes)
{
    uint64_t next;
    if (unlikely(peer->begun)) {
        bytes = peer->begun;
        peer->begun = 0;
        arrived_express(peer, source_of(message), message << 32 | peer->word, bytes);
    } else if (bytes <= sizeof(uint32_t)) {
        arrived_express(peer, source_of(message), (uint32_t)message, bytes);
    } else if (next = *express_or_basic, likely(next >> 32 == (message >> 32 & ~(uint64_t)EXTRA_MASK))) {
        arrived_express(peer, source_of(message), next << 32 | (uint32_t)message, bytes);
    } else {
        keep_half(peer, (uint32_t)message, bytes, next);
    }
}

/* The Basic messages that the Express queue's next message follows may have come. */
static void take_basic(void)
{
    act(POINTER(RECEIVE_PRODUCER));
    if (behind_basic->basic_taken != basic_awaited)
        return;
    behind_basic = NULL;
    unfinished--;
}

/* `peer` says that so many Basic messages come before what follows. */
static void wait_for_basic(struct peer *peer, uint16_t count)
{
    behind_basic = peer;
    basic_awaited = count;
    unfinished++;
    take_basic();
}

/* What an Express queue holds besides parts of messages. */
static __attribute__((noinline)) void take_other(struct peer *peer, uint64_t message)
{
    uint32_t extra = extra_of(message);
    if (is_tagged(message))
        arrived_tagged(peer, message, extra);
    else if (extra == CHASQUI_VOYAGER_MPI_SHAPE)
        peer->shape = shape_of_word((uint32_t)message);
    else if (extra == CHASQUI_VOYAGER_MPI_ORDER)
        wait_for_basic(peer, (uint16_t)message);
    else
        take_part(peer, message, extra);
}

/* OnePoll took an Express message. */
static __attribute__((noinline)) void take(uint64_t message)
{
    struct peer *peer = &peers[source_of(message)];
    uint32_t bytes = extra_of(message);
    if (unlikely(is_tagged(message)) || unlikely(bytes > CHASQUI_VOYAGER_MPI_BYTES_MAX))
        take_other(peer, message);
    else
        take_part(peer, message, bytes);
}

static inline __attribute__((always_inline)) void look(void)
{
    uint64_t message = *express_or_basic;
    if (is_express(message)) {
        take(message);
    } else if (message != CHASQUI_VOYAGER_EXPRESS_EMPTY) {
        /* The Basic ring has slots that have not been freed; these are 16 bits of its pointer. */
        act(receive.consumed + (uint16_t)((uint32_t)message - receive.consumed));
    } else {
        if (unlikely(tags_held > 0))
            free_tags();
        if (unlikely(dma.consumed != dma.produced))
            finish_puts();
    }
}

/* An Express message waits for Basic ones, or slots of a message are still to come: their ring's pointer tells of them
 * sooner than OnePoll. */
static __attribute__((noinline)) void poll_ring(void)
{
    if (behind_basic)
        take_basic();
    else if (!act(POINTER(RECEIVE_PRODUCER)))
        look();
}

static void poll_express(void)
{
    if (unlikely(unfinished))
        poll_ring();
    else
        look();
}

/* Without Express and Tag-On, send and poll are these. */
struct mpi_device mpi_device_voyager = {
    .name = "voyager",
    .id = CHASQUI_VOYAGER_DEVICE,
    .interface = CHASQUI_VOYAGER_INTERFACE,
    .open = voyager_open,
    .close = voyager_close,
    .send = send_basic,
    .poll = poll_basic,
    .put = voyager_put,
};
