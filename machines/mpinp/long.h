/* Long messages over the thin firmware: the card's DMA moves them between pages that the kernel pins, for each transfer anew. A
 * part of the device (device.c).
 *
 * The library agrees on a transfer (mpi/host/rendezvous.c): the receiver answers an announcement with CLEAR_TO_SEND. Between two
 * processes one long message is under way at a time each way, as on BIP's channels. When CLEAR_TO_SEND leaves, its receive is
 * posted to the card with it, if it is the first of its channel and its pages can be pinned; else when that is so, and another
 * packet says so (a grant). The sender has then its pages pinned, and the card fetch and send them in fragments.
 *
 * What is longer than half of the process's entries reach goes in stretches: each is granted and sent like a message. Receives
 * leave half of the entries to sends. A send gets a name and has pages pinned only when its receive has, so it always comes to an
 * end, and gives both back; then receives do. What has to wait for a name or for entries gets them in the order in which it
 * came. */
#ifndef MPINP_LONG_H
#define MPINP_LONG_H

enum {
    LONG = CHASQUI_MPINP_LONG,
    NO_MEMORY = -12, /* Linux include/uapi/asm-generic/errno-base.h */
    FAULT = -14,
    NUMBER_SHIFT = 8 /* of MpinpPost.number */
};

/* A receive whose sender was told to send. */
struct landing {
    struct landing *next; /* of its channel */
    char *at;
    size_t left;
};

/* A message that is sent. */
struct put {
    const char *from;
    size_t left, stretch;
    struct chasqui_envelope envelope;
    bool is_under_way; /* its stretch is: it has a name */
};

/* What is under way from and to another process. */
struct channel {
    struct landing *first, *last; /* receives, of which the first one is served */
    bool is_granted; /* its next stretch is: it has a name */
    bool is_wanting, is_ready; /* it is in the line of the like name */
    uint8_t name;
    uint8_t grant; /* the name of what may be sent next at the other side, and 1; 0: none */
    bool is_sending; /* a message: */
    struct put put;
    uint64_t exposed, begun; /* receives, and sends */
    struct channel *next_wanting, *next_ready;
};

/* Channels that wait, the first of which came first. */
struct line {
    struct channel *first, **end;
    bool is_stuck; /* for want of a name or of entries: what comes now must wait, too */
};

static struct pool landings = {NULL, sizeof(struct landing), 16};
static struct channel *channels;
static struct line wanting; /* their first receive is to be granted */
static struct line ready; /* they are granted a stretch, which is to be sent */
static struct channel *senders[LONG]; /* by name */
static uint32_t put_names, landing_names; /* a bit for each that is used */
static uint64_t puts_seen; /* HOST_PUTS */
static size_t stretch_bytes, fragment_max, entry_bytes;
static uint32_t half; /* of the process's entries */
static bool is_short, is_short_for_landings; /* of entries, since the last were given back */
static int device_file;
static const char not_pinned[] = "mpinp: the kernel does not pin a buffer";

static bool long_open(const struct chasqui_ni_identification *ni, int ni_fd)
{
    const uint64_t *settings = ni->settings;
    half = (uint32_t)settings[CHASQUI_MPINP_SETTING_ENTRIES] / 2;
    entry_bytes = settings[CHASQUI_MPINP_SETTING_ENTRY_PAGES] * PAGE;
    fragment_max = settings[CHASQUI_MPINP_SETTING_FRAGMENT];
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
static void access(const char *data, size_t bytes, bool is_written)
{
    for (const char *end = data + bytes; data < end; data += PAGE - (uintptr_t)data % PAGE) {
        volatile char *at = (volatile char *)(uintptr_t)data, value = *at;
        if (is_written)
            *at = value;
    }
}

static void unpin(uint32_t name)
{
    chq_platform_control(device_file, CHASQUI_MPINP_CONTROL_UNPIN, name);
    is_short = is_short_for_landings = false;
}

/* False: there are too few entries. What the process has stored or loaded there before comes before what the card does. */
static bool pin(struct chasqui_mpinp_long *what, const char *at, uint32_t flags, uint32_t left)
{
    struct chasqui_mpinp_pin asked = {
        .address = (uintptr_t)at, .bytes = what->bytes, .name = what->name, .flags = flags, .left = left};
    long result = chq_platform_control(device_file, CHASQUI_MPINP_CONTROL_PIN, (uint64_t)(uintptr_t)&asked);
    if (result == NO_MEMORY)
        return false;
    what->is_in_page = (uintptr_t)at % PAGE + what->bytes <= PAGE;
    if (likely(result >= 0 && (what->is_in_page || asked.valid * entry_bytes >= (uintptr_t)at % PAGE + what->bytes))) {
        what->entry = asked.first;
        what->offset = (uint32_t)((uintptr_t)at % PAGE);
        __asm__ volatile("fence rw, o" : : : "memory");
        return true;
    }
    /* Pages are missing, or entries behind the first. */
    if (result >= 0)
        unpin(what->name);
    access(at, what->bytes, flags & CHASQUI_MPINP_PIN_WRITE);
    if (result < 0)
        chq_die(not_pinned);
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

/* The first receive of the channel has its next stretch pinned. False: names or entries are lacking. */
static bool grant(struct channel *channel, struct chasqui_mpinp_post *post)
{
    uint32_t free = ~landing_names & ((1u << LONG) - 1);
    if (unlikely(!free || is_short_for_landings))
        return false;
    uint32_t name = lowest(free);
    struct landing *landing = channel->first;
    post->room.bytes = (uint32_t)stretch_of(landing->left);
    post->room.name = (uint16_t)(LONG + name);
    if (unlikely(!pin(&post->room, landing->at, CHASQUI_MPINP_PIN_WRITE, half))) {
        is_short_for_landings = true;
        return false;
    }
    landing_names |= 1u << name;
    channel->name = (uint8_t)name;
    channel->is_granted = true;
    post->number |= name + 1;
    return true;
}

static void want(struct channel *channel)
{
    if (channel->is_wanting)
        return;
    channel->is_wanting = true;
    channel->next_wanting = NULL;
    *wanting.end = channel;
    wanting.end = &channel->next_wanting;
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
    if (likely(is_first && !wanting.is_stuck && grant(channel, &post)))
        compose(peer, envelope, &post, sizeof post, CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_POSTS);
    else
        compose(peer, envelope, &post, sizeof post.number, CHASQUI_MPINP_ARRIVED_MESSAGE);
    if (is_first && !channel->is_granted) {
        want(channel);
        wanting.is_stuck = true;
    }
}

/* A stretch for the channel's first receive is there. True: it was the last. */
static bool landed(struct channel *channel)
{
    struct landing *landing = channel->first;
    size_t stretch = stretch_of(landing->left);
    unpin(LONG + channel->name);
    landing_names &= ~(1u << channel->name);
    channel->is_granted = false;
    landing->at += stretch;
    landing->left -= stretch;
    bool is_whole = landing->left == 0;
    if (is_whole) {
        channel->first = landing->next;
        pool_give(&landings, landing);
    }
    if (channel->first)
        want(channel);
    return is_whole;
}

static bool has_place(const struct peer *peer) { return peer->sent - peer->credited != credit && !is_full(); }

/* False: a name or entries are lacking. */
static bool send_grant(struct channel *channel)
{
    struct peer *peer = &peers[channel - channels];
    struct chasqui_mpinp_post post = {0};
    if (!grant(channel, &post))
        return false;
    channel->is_wanting = false;
    peer->sent++;
    struct chasqui_envelope envelope = {.kind = CHASQUI_PACKET_CLEAR_TO_SEND};
    compose(peer, &envelope, &post, sizeof post,
            CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_POSTS | CHASQUI_MPINP_SLOT_PART);
    return true;
}

static void send_grants(void)
{
    struct channel **link = &wanting.first, *channel;
    wanting.is_stuck = false;
    while ((channel = *link)) {
        if (!wanting.is_stuck && has_place(&peers[channel - channels])) {
            struct channel *next = channel->next_wanting;
            wanting.is_stuck = !send_grant(channel);
            if (!wanting.is_stuck) {
                *link = next;
                continue;
            }
        }
        link = &channel->next_wanting;
    }
    wanting.end = link;
}

/* --- sending -------------------------------------------------------------------------------------------- */

/* A power of two. Of a message of n bytes in fragments of f, which pass three stages one behind the other that take a time o for
 * each and B bytes in a second, the last byte is there after (n / f + 2)(o + f / B): least if f^2 = n o B / 2. Of a fragment a
 * network processor has some 5 us, of which 100 MB/s would move 500 bytes. */
static uint16_t fragment_of(size_t bytes)
{
    size_t fragment = 512;
    while (fragment < fragment_max && fragment * fragment < bytes * 256)
        fragment *= 2;
    return (uint16_t)(fragment < fragment_max ? fragment : fragment_max);
}

/* There is a slot, and credit; and none is owed: what a stretch's slot says of it comes when the stretch has. */
static bool has_turn(const struct peer *peer) { return has_place(peer) && !peer->is_owed; }

/* The next stretch leaves. False: a name or entries are lacking. */
static bool send_stretch(struct channel *channel)
{
    struct put *put = &channel->put;
    struct peer *peer = &peers[channel - channels];
    uint32_t free = ~put_names & ((1u << LONG) - 1);
    if (unlikely(!free || is_short))
        return false;
    uint32_t name = lowest(free);
    put->stretch = stretch_of(put->left);
    struct chasqui_mpinp_long what = {.bytes = (uint32_t)put->stretch,
                                      .name = (uint16_t)name,
                                      .to = (uint16_t)(LONG + channel->grant - 1),
                                      .fragment = fragment_of(put->envelope.bytes)};
    if (unlikely(!pin(&what, put->from, 0, 0))) {
        is_short = true;
        return false;
    }
    put_names |= 1u << name;
    senders[name] = channel;
    channel->grant = 0;
    put->is_under_way = true;
    peer->sent++;
    uint32_t part = put->stretch < put->left ? CHASQUI_MPINP_SLOT_PART : 0;
    compose(peer, &put->envelope, &what, sizeof what, CHASQUI_MPINP_ARRIVED_MESSAGE | CHASQUI_MPINP_SLOT_PUTS | part);
    MARK_READY(&put->envelope);
    return true;
}

static void send_stretches(void)
{
    struct channel **link = &ready.first, *channel;
    ready.is_stuck = false;
    while ((channel = *link)) {
        if (!ready.is_stuck && has_turn(&peers[channel - channels])) {
            struct channel *next = channel->next_ready;
            ready.is_stuck = !send_stretch(channel);
            if (!ready.is_stuck) {
                channel->is_ready = false;
                *link = next;
                continue;
            }
        }
        link = &channel->next_ready;
    }
    ready.end = link;
}

/* The next stretch is sent, if there is one that is granted and none of the channel's is under way: now, or when that can be. */
static void send_if_granted(struct channel *channel)
{
    if (!channel->grant || !channel->is_sending || channel->put.is_under_way || channel->is_ready)
        return;
    if (likely(!ready.is_stuck && has_turn(&peers[channel - channels]))) {
        if (likely(send_stretch(channel)))
            return;
        ready.is_stuck = true;
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
    if (put->left > 0) {
        send_if_granted(channel);
        return;
    }
    channel->is_sending = false;
    mpi_put_done(put->envelope.sender);
}

/* --- both ----------------------------------------------------------------------------------------------- */

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

/* What has come is about a long message. True: the library hears of the envelope alone. */
static __attribute__((noinline)) bool long_arrived(const struct peer *peer, const struct chasqui_mpinp_end *end,
                                                   const void *data)
{
    struct channel *channel = &channels[peer - peers];
    uint32_t counts = end->head.counts;
    if (counts & CHASQUI_MPINP_SLOT_PUTS) {
        bool is_mine = channel->is_granted && counts >> CHASQUI_MPINP_SLOT_NAME_SHIFT == LONG + channel->name;
        return is_mine && landed(channel);
    }
    struct chasqui_mpinp_post post;
    memcpy(&post, data, sizeof post);
    channel->grant = (uint8_t)post.number;
    send_if_granted(channel);
    return false;
}

#endif
