/* Long messages over the thin firmware: the card's DMA moves them between pages that the kernel pins, for each transfer anew. A
 * part of the device (device.c).
 *
 * The library agrees on a transfer (mpi/host/rendezvous.c): the receiver answers an announcement with CLEAR_TO_SEND. Between two
 * processes one long message is under way at a time each way, as on BIP's channels. When CLEAR_TO_SEND leaves, its receive is
 * posted to the card with it, if it is the first of its channel; else when that is so, and another packet says so (a grant). The
 * sender has then its pages pinned, and the card fetch and send them in fragments.
 *
 * What is longer than half of the process's entries reach goes in stretches: each is granted and sent like a message. Receives
 * leave half of the entries to sends.
 *
 * No pair of processes stops another for ever. Of what several share:
 * - A receive that is posted keeps a name and entries until its sender, which may be long away from MPI, has sent. So none waits
 *   for these: if it finds none the grant says that the stretch is to come in slots, which the host stores and copies. Such a
 *   stretch is as long as credit reaches; the next one may be posted.
 * - A send has a name and entries only when its receive is posted, and half of the entries is kept for sends. So both cards move
 *   its data without either process, and it gives both back. What waits for these has them in the order in which it came.
 * - For credit only packets to the same process wait, and slots come back by the card alone (turns.h). */
#ifndef MPINP_LONG_H
#define MPINP_LONG_H

enum {
    LONG = CHASQUI_MPINP_LONG,
    SLOT_DATA = CHASQUI_MPINP_SLOT_DATA_BYTES,
    IN_SLOTS = 0xff, /* in place of a name and 1 */
    NO_MEMORY = -12, /* Linux include/uapi/asm-generic/errno-base.h */
    FAULT = -14,
    NUMBER_SHIFT = 8 /* of MpinpPost.number */
};

/* For what a process waits at another one. */
enum wanted { GRANT = 1, STRETCH = 2 };

/* A receive whose sender was told to send. */
struct landing {
    struct landing *next; /* of its channel */
    char *at;
    size_t left;
};

/* A message that is sent. */
struct put {
    const char *from;
    size_t left;
    size_t stretch; /* that is sent; in slots: what is left of it */
    struct chasqui_envelope envelope;
    bool is_under_way; /* its stretch is: it has a name */
};

/* What is under way from and to another process. */
struct channel {
    struct landing *first, *last; /* receives, of which the first one is served */
    size_t stretch; /* of that, which was granted; in slots: what is left of it */
    uint8_t granted; /* to that: its name and 1, or IN_SLOTS; 0: nothing */
    uint8_t grant; /* what may be sent next at the other side, likewise */
    bool is_wanting, is_ready; /* it is in the line of the like name */
    bool is_sending; /* a message: */
    struct put put;
    uint64_t exposed, begun; /* receives, and sends */
    struct channel *next_wanting, *next_ready;
};

/* Channels that wait, the first of which came first. */
struct line {
    struct channel *first, **end;
};

static struct pool landings = {NULL, sizeof(struct landing), 16};
static struct channel *channels;
static struct line wanting; /* their first receive is to be granted */
static struct line ready; /* they are granted a stretch, which is to be sent */
static bool is_stuck; /* for want of a name or of entries: what comes to `ready` now must wait, too, but for slots */
static struct channel *senders[LONG]; /* by name */
static uint32_t put_names, landing_names; /* a bit for each that is used */
static uint64_t puts_seen; /* HOST_PUTS */
static size_t stretch_bytes, fragment_max, entry_bytes;
static size_t overhead; /* o B */
static uint32_t half; /* of the process's entries */
/* So many entries were too many for a send, and for a receive, since the last were given back. */
static uint32_t lacking = UINT32_MAX, lacking_for_landings = UINT32_MAX;
static int device_file;
static const char not_pinned[] = "mpinp: the kernel does not pin a buffer";

static bool long_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const uint64_t *settings = ni->settings;
    half = (uint32_t)settings[CHASQUI_MPINP_SETTING_ENTRIES] / 2;
    entry_bytes = settings[CHASQUI_MPINP_SETTING_ENTRY_PAGES] * PAGE;
    fragment_max = settings[CHASQUI_MPINP_SETTING_FRAGMENT];
    overhead = settings[CHASQUI_MPINP_SETTING_OVERHEAD];
    device_file = ni_fd;
    if (half == 0)
        return false;
    /* Wherever it begins. */
    stretch_bytes = (half - 1) * entry_bytes;
    channels = chq_malloc(ni->ranks * sizeof *channels);
    memset(channels, 0, ni->ranks * sizeof *channels);
    wanting.end = &wanting.first;
    ready.end = &ready.first;
    return true;
}

/* The number of the lowest bit that is set. By a loop: for __builtin_ctz the compiler has a table, by which constants of all
 * machines' programs would lie elsewhere. */
static inline uint32_t lowest(uint64_t bits)
{
    uint32_t number = 0;
    for (; !(bits & 1); bits >>= 1)
        number++;
    return number;
}

/* --- pages ---------------------------------------------------------------------------------------------- */

/* As with a copy, an access that may not be is the process's fault, in its line. */
static void access(const char *data, const char *end, bool is_written)
{
    for (; data < end; data += PAGE - (uintptr_t)data % PAGE) {
        volatile char *at = (volatile char *)(uintptr_t)data, value = *at;
        if (is_written)
            *at = value;
    }
}

static void unpin(uint32_t name)
{
    chq_platform_control(device_file, CHASQUI_MPINP_CONTROL_UNPIN, name);
    lacking = lacking_for_landings = UINT32_MAX;
}

/* False: there are too few entries; of a receive half is left. What the process has stored or loaded there before comes before
 * what the card does. */
static bool pin(struct chasqui_mpinp_long *what, const char *at, bool is_receive)
{
    uint32_t *lack = is_receive ? &lacking_for_landings : &lacking;
    size_t offset = (uintptr_t)at % PAGE, end = offset + what->bytes;
    what->is_in_page = end <= PAGE;
    uint32_t needed = what->is_in_page ? 0 : (uint32_t)((end + entry_bytes - 1) / entry_bytes);
    if (unlikely(needed >= *lack))
        return false;
    struct chasqui_mpinp_pin asked = {.address = (uintptr_t)at,
                                      .bytes = what->bytes,
                                      .name = what->name,
                                      .flags = is_receive ? CHASQUI_MPINP_PIN_WRITE : 0,
                                      .left = is_receive ? half : 0};
    long result = chq_platform_control(device_file, CHASQUI_MPINP_CONTROL_PIN, (uint64_t)(uintptr_t)&asked);
    if (likely(result >= 0 && asked.valid >= needed)) {
        what->entry = asked.first;
        what->offset = (uint32_t)offset;
        __asm__ volatile("fence rw, o" : : : "memory");
        return true;
    }
    /* Entries are lacking, or a page is behind those that there were for. What it had goes back, and nothing else has. */
    const char *last = at + what->bytes, *next = at;
    if (result >= 0) {
        chq_platform_control(device_file, CHASQUI_MPINP_CONTROL_UNPIN, what->name);
        next += asked.valid * entry_bytes - offset;
        last = last - next < (ptrdiff_t)entry_bytes ? last : next + entry_bytes;
    }
    if (result != NO_MEMORY)
        access(next, last, is_receive);
    /* For one send there are always enough. */
    if ((result < 0 && result != NO_MEMORY) || (!is_receive && put_names == 0))
        chq_die(not_pinned);
    *lack = needed;
    return false;
}

/* --- receiving ------------------------------------------------------------------------------------------ */

static uint64_t mpinp_expose(void *to, size_t bytes)
{
    struct landing *landing = pool_take(&landings);
    *landing = (struct landing){.at = to, .left = bytes};
    return (uintptr_t)landing;
}

static inline size_t stretch_of(size_t left) { return left < stretch_bytes ? left : stretch_bytes; }

/* In slots. */
static inline size_t slots_of(size_t left)
{
    size_t most = (size_t)credit * SLOT_DATA;
    return left < most ? left : most;
}

/* The first receive of the channel has its next stretch pinned, if there is a name and there are entries; else it comes in slots.
 * What `counts` of the slot that says so has besides. */
static uint32_t grant(struct channel *channel, struct chasqui_mpinp_post *post)
{
    uint32_t free = ~landing_names & ((1u << LONG) - 1), name = free ? lowest(free) : 0;
    struct landing *landing = channel->first;
    channel->stretch = stretch_of(landing->left);
    post->room.bytes = (uint32_t)channel->stretch;
    post->room.name = (uint16_t)(LONG + name);
    bool is_posted = free && pin(&post->room, landing->at, true);
    if (likely(is_posted)) {
        landing_names |= 1u << name;
        channel->granted = (uint8_t)(name + 1);
    } else {
        channel->stretch = slots_of(landing->left);
        channel->granted = IN_SLOTS;
    }
    post->number |= channel->granted;
    return is_posted ? CHASQUI_MPINP_SLOT_POSTS : 0;
}

/* How much of `post` the other process gets to know. */
static size_t told_of(uint32_t counts)
{
    typedef struct chasqui_mpinp_post post;
    return counts & CHASQUI_MPINP_SLOT_POSTS ? sizeof(post) : offsetof(post, room);
}

/* CLEAR_TO_SEND of what was exposed, which is named by `payload`, leaves; there is a slot, and credit. */
static void send_clear(struct peer *peer, const struct chasqui_envelope *envelope, const void *payload)
{
    struct channel *channel = &channels[envelope->destination];
    struct landing *landing;
    memcpy(&landing, payload, sizeof landing);
    bool is_first = !channel->first;
    *(is_first ? &channel->first : &channel->last->next) = landing;
    channel->last = landing;
    struct chasqui_mpinp_post post = {.number = channel->exposed++ << NUMBER_SHIFT};
    uint32_t posts = is_first ? grant(channel, &post) : 0;
    compose(peer, envelope, &post, told_of(posts), CHASQUI_MPINP_ARRIVED_MESSAGE | posts);
}

/* A stretch for the channel's first receive is there, or its slots. True: it was the last. */
static bool landed(struct channel *channel, size_t bytes)
{
    struct landing *landing = channel->first;
    landing->at += bytes;
    landing->left -= bytes;
    channel->stretch -= bytes;
    if (channel->stretch > 0)
        return false;
    channel->granted = 0;
    bool is_whole = landing->left == 0;
    if (is_whole) {
        channel->first = landing->next;
        pool_give(&landings, landing);
    }
    if (channel->first && !channel->is_wanting) {
        channel->is_wanting = true;
        channel->next_wanting = NULL;
        *wanting.end = channel;
        wanting.end = &channel->next_wanting;
    }
    return is_whole;
}

/* The card has moved a stretch to the receive of this name. True: it was the last. */
static bool landed_by_card(struct channel *channel, uint32_t name)
{
    if (!channel->granted || channel->granted == IN_SLOTS || name != LONG + channel->granted - 1u)
        return false;
    unpin(name);
    landing_names &= ~(1u << (name - LONG));
    return landed(channel, channel->stretch);
}

/* A part of a stretch has come in a slot. */
static bool landed_in_slot(struct channel *channel, const char *data, size_t bytes)
{
    if (channel->granted != IN_SLOTS || bytes > channel->stretch)
        return false;
    memcpy(channel->first->at, data, bytes);
    return landed(channel, bytes);
}

/* False: there is no place for it. */
static bool send_grant(struct channel *channel)
{
    struct peer *peer = &peers[channel - channels];
    if (!device_has_place(peer, GRANT))
        return false;
    struct chasqui_mpinp_post post = {0};
    uint32_t posts = grant(channel, &post);
    device_went(peer, GRANT);
    peer->sent++;
    struct chasqui_envelope envelope = {.kind = CHASQUI_PACKET_CLEAR_TO_SEND};
    compose(peer, &envelope, &post, told_of(posts), CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_PART | posts);
    return true;
}

static void send_grants(void)
{
    struct channel **link = &wanting.first, *channel;
    while ((channel = *link)) {
        if (!send_grant(channel)) {
            link = &channel->next_wanting;
            continue;
        }
        channel->is_wanting = false;
        *link = channel->next_wanting;
        if (!*link)
            wanting.end = link;
    }
}

/* --- sending -------------------------------------------------------------------------------------------- */

/* A power of two. Of a message of n bytes in fragments of f, which pass three stages one behind the other that take a time o for
 * each and B bytes in a second, the last byte is there after (n / f + 2)(o + f / B): least if f^2 = n o B / 2. */
static uint16_t fragment_of(size_t bytes)
{
    size_t fragment = CHASQUI_MPINP_FRAGMENT_MIN;
    while (fragment < fragment_max && fragment * fragment * 2 < bytes * overhead)
        fragment *= 2;
    return (uint16_t)(fragment < fragment_max ? fragment : fragment_max);
}

/* The next stretch is the card's. False: a place, a name or entries are lacking. */
static bool send_by_card(struct channel *channel)
{
    struct put *put = &channel->put;
    struct peer *peer = &peers[channel - channels];
    uint32_t free = ~put_names & ((1u << LONG) - 1), name = free ? lowest(free) : 0;
    /* Credit that is owed goes first: what this slot says of it comes when the stretch has. */
    if (unlikely(is_stuck || peer->is_owed)) {
        device_waits_not(&peer->turn, STRETCH);
        return false;
    }
    if (unlikely(!device_has_place(peer, STRETCH)))
        return false;
    put->stretch = stretch_of(put->left);
    struct chasqui_mpinp_long what = {.bytes = (uint32_t)put->stretch,
                                      .name = (uint16_t)name,
                                      .to = (uint16_t)(LONG + channel->grant - 1),
                                      .fragment = fragment_of(put->envelope.bytes)};
    if (unlikely(!free || !pin(&what, put->from, false))) {
        is_stuck = true;
        device_waits_not(&peer->turn, STRETCH);
        return false;
    }
    put_names |= 1u << name;
    senders[name] = channel;
    channel->grant = 0;
    put->is_under_way = true;
    device_went(peer, STRETCH);
    peer->sent++;
    uint32_t part = put->stretch < put->left ? CHASQUI_MPINP_SLOT_PART : 0;
    compose(peer, &put->envelope, &what, sizeof what, CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_PUTS | part);
    MARK_READY(&put->envelope);
    return true;
}

/* The next slots of a stretch leave. False: it has more, for which there is no place. */
static bool send_in_slots(struct channel *channel)
{
    struct put *put = &channel->put;
    struct peer *peer = &peers[channel - channels];
    if (put->stretch == 0) {
        put->stretch = slots_of(put->left);
        MARK_READY(&put->envelope);
    }
    while (put->stretch > 0) {
        if (!device_has_place(peer, STRETCH))
            return false;
        size_t bytes = put->stretch < SLOT_DATA ? put->stretch : SLOT_DATA;
        struct chasqui_envelope envelope = put->envelope;
        if (bytes < put->left)
            envelope.kind = CHASQUI_PACKET_SEGMENT;
        device_went(peer, STRETCH);
        peer->sent++;
        compose(peer, &envelope, put->from, bytes, CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_PART);
        put->from += bytes;
        put->left -= bytes;
        put->stretch -= bytes;
    }
    channel->grant = 0;
    return true;
}

static bool send_stretch(struct channel *channel)
{
    return unlikely(channel->grant == IN_SLOTS) ? send_in_slots(channel) : send_by_card(channel);
}

/* Nothing is left of a message, if so, and of what has been read. */
static void end_if_sent(struct channel *channel)
{
    struct put *put = &channel->put;
    if (put->left > 0 || put->is_under_way)
        return;
    channel->is_sending = false;
    mpi_put_done(put->envelope.sender);
}

static void send_stretches(void)
{
    struct channel **link = &ready.first, *channel;
    is_stuck = false;
    while ((channel = *link)) {
        if (!send_stretch(channel)) {
            link = &channel->next_ready;
            continue;
        }
        channel->is_ready = false;
        *link = channel->next_ready;
        if (!*link)
            ready.end = link;
        end_if_sent(channel); /* Another may come to the line's end. */
    }
}

/* The next stretch is sent, if there is one that is granted and none of the channel's is under way: now, or when that can be. */
static void send_if_granted(struct channel *channel)
{
    if (!channel->grant || !channel->is_sending || channel->put.is_under_way || channel->is_ready)
        return;
    if (likely(send_stretch(channel))) {
        end_if_sent(channel);
        return;
    }
    channel->is_ready = true;
    channel->next_ready = NULL;
    *ready.end = channel;
    ready.end = &channel->next_ready;
}

/* `to` is what the receiver said when it posted: they go in its order. */
static bool mpinp_put(const struct chasqui_envelope *fin, const void *from, uint64_t to, size_t bytes)
{
    struct channel *channel = &channels[fin->destination];
    if (channel->is_sending || to >> NUMBER_SHIFT != channel->begun)
        return false;
    channel->put = (struct put){.from = from, .left = bytes, .envelope = *fin};
    channel->is_sending = true;
    channel->begun++;
    if (to & ((1u << NUMBER_SHIFT) - 1))
        channel->grant = (uint8_t)to;
    send_if_granted(channel);
    return true;
}

/* The card has sent what it had of a message. */
static void has_left(uint32_t name)
{
    struct channel *channel = senders[name];
    struct put *put = &channel->put;
    unpin(name);
    put_names &= ~(1u << name);
    put->is_under_way = false;
    put->from += put->stretch;
    put->left -= put->stretch;
    put->stretch = 0;
    if (put->left > 0)
        send_if_granted(channel);
    else
        end_if_sent(channel);
}

/* --- both ----------------------------------------------------------------------------------------------- */

/* What the device has to say waits for a slot alone. */
static bool device_lacks_slot(void)
{
    bool lacks = owed_count > 0;
    for (const struct channel *channel = wanting.first; channel && !lacks; channel = channel->next_wanting)
        lacks = has_credit(&peers[channel - channels], DEVICE);
    for (const struct channel *channel = ready.first; channel && !lacks; channel = channel->next_ready) {
        const struct peer *peer = &peers[channel - channels];
        lacks = peer->turn.device_waits & STRETCH && has_credit(peer, DEVICE);
    }
    return lacks;
}

static __attribute__((noinline)) void long_go_on(void)
{
    uint64_t left_now = *(volatile uint64_t *)(host + CHASQUI_MPINP_HOST_PUTS), changed = left_now ^ puts_seen;
    puts_seen = left_now;
    for (; changed; changed &= changed - 1)
        has_left(lowest(changed));
    if (ready.first)
        send_stretches();
    if (wanting.first)
        send_grants();
}

static inline void long_poll(void)
{
    if (unlikely(put_names || ready.first || wanting.first))
        long_go_on();
}

/* What has come is about a long message. When all of that is there the library hears of its envelope. */
static __attribute__((noinline)) void long_arrived(const struct peer *peer, const struct chasqui_mpinp_end *end,
                                                   const void *data)
{
    struct channel *channel = &channels[peer - peers];
    uint32_t counts = end->head.counts;
    if (end->envelope.kind == CHASQUI_PACKET_CLEAR_TO_SEND) {
        struct chasqui_mpinp_post post;
        memcpy(&post.number, data, sizeof post.number);
        channel->grant = (uint8_t)post.number;
        send_if_granted(channel);
        return;
    }
    if (counts & CHASQUI_MPINP_SLOT_PUTS ? landed_by_card(channel, counts >> CHASQUI_MPINP_SLOT_NAME_SHIFT)
                                         : landed_in_slot(channel, data, end->head.bytes))
        mpi_arrived(&end->envelope, NULL, 0);
}

#endif
