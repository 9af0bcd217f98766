/* The queue to the wire: in the order of the protocol's calls. A body in the host's memory is fetched while it leaves.
 *
 * What arrives is taken whether there is room in the queue for what it leads to or not: else cards could wait for each other.
 * Where there is none it is *put off*: a few bytes, from which the header is made again. Of these there is room for all that
 * the other cards can ask for (README.md, "What the queue holds"). */
#include "mcp.h"

#define QUEUE 128 /* a power of two, and the most that mpinp.control.queue may be */

struct item {
    struct wire wire;
    uint32_t request; /* whose part follows, or NONE */
    uint16_t channel;
};

static struct item queue[QUEUE];
static uint32_t queued, gone, limit;

/* What was put off, in order: `what` is kind (4 bits), flags and channel; `number` the header's message or receive, of a
 * grant the receive's place, of a part the request. */
enum { PUT_OFF_GRANT = 14, PUT_OFF_PART = 15 }; /* of kinds, beside enum protocol_kind */
#ifdef PROTOCOL_CACHE
enum { FLAGS_BITS = 2, LAST_KIND = RETURN };
#else
enum { FLAGS_BITS = 4, LAST_KIND = RETRACTED };
#endif
enum { CHANNEL_PLACE = 4 + FLAGS_BITS, FLAGS_MASK = (1 << FLAGS_BITS) - 1 };
static struct {
    uint16_t *what;
    uint32_t *number;
    uint32_t size, count, first;
} off;
static enum { IDLE, HEADER, BODY } sends;
static uint64_t staging[PART / 8]; /* of a body from the host */
static uint32_t fetched; /* [bytes] of it */

bool out_is_sending(void) { return sends != IDLE; }

char *out_begin(char *heap, uint32_t per_node)
{
    limit = (uint32_t)np_load(CHASQUI_NP_SETTING_QUEUE);
    check(limit <= QUEUE && PROTOCOL_CHANNELS <= 1 << (16 - CHANNEL_PLACE) && LAST_KIND < PUT_OFF_GRANT);
#ifdef PROTOCOL_CACHE
    off.size = per_node * (CHASQUI_NP_OFF_PROCESS + ranks * CHASQUI_NP_OFF_RECORD) +
               PROTOCOL_PLACES * CHASQUI_NP_OFF_CHANNEL + ranks * CHASQUI_NP_OFF_RANK;
#else
    off.size = per_node * (CHASQUI_NP_OFF_PROCESS + ranks * CHASQUI_NP_OFF_CHANNEL) + ranks * CHASQUI_NP_OFF_RANK;
#endif
    off.number = (uint32_t *)(void *)heap;
    off.what = (uint16_t *)(void *)(off.number + off.size);
    return (char *)(((uintptr_t)(off.what + off.size) + 7) & ~(uintptr_t)7);
}

bool out_has_room(void) { return (queued - gone) * 2 <= limit && off.count == 0; }

/* Also what would overtake such. */
static bool is_put_off(void) { return off.count > 0 || queued - gone == limit; }

static SELDOM void put_off(unsigned kind, unsigned flags, unsigned channel, uint32_t number)
{
    check(off.count < off.size);
    uint32_t place = off.first + off.count++;
    if (place >= off.size)
        place -= off.size;
    off.what[place] = (uint16_t)(kind | flags << 4 | channel << CHANNEL_PLACE);
    off.number[place] = number;
}

struct wire *out_put(unsigned channel, unsigned kind, uint32_t request)
{
    check(queued - gone < limit);
    struct item *item = &queue[queued++ % QUEUE];
    struct wire *wire = &item->wire;
    item->request = request;
    item->channel = (uint16_t)channel;
    wire->kind = (uint8_t)kind;
    wire->is_dropped = false;
    wire->channel = peers[channel].channel;
    wire->part = 0;
    wire->sequence = 0;
    wire->body = 0;
    if (request != NONE) {
        wire->source = process_of(request)->rank;
        wire->sequence = transfer_of(request)->sequence;
    }
    return wire;
}

void out_control(unsigned channel, const struct protocol_header *header)
{
    struct protocol_channel *c = &protocol.channels[channel];
    if (is_put_off()) {
        protocol_put_off(&protocol, channel, header);
        bool is_about_receive = header->kind == SEND_REQ || header->kind == NACK_REQUEST;
        put_off(header->kind, header->flags, channel, is_about_receive ? header->receive : header->message);
        return;
    }
    struct wire *wire = out_put(channel, WIRE_PROTOCOL, NONE);
    wire->header = *header;
    if (header->kind == RECV_REQ)
        wire->part = transfer_of(c->sends[header->message % PROTOCOL_RING_ENTRIES].request)->sequence;
#ifdef PROTOCOL_CACHE
    if (header->kind == RECV_REQ)
        rings_look();
#endif
}

static void put_grant(const struct protocol_receive *receive)
{
    struct wire *wire = out_put(receive->channel, WIRE_GRANT, NONE);
    wire->part = transfer_of(receive->request)->granted;
    wire->header.message = receive->message;
    wire->header.receive = receive->number % PROTOCOL_RECEIVES;
}

void out_grant(const struct protocol_receive *receive)
{
    if (is_put_off())
        put_off(PUT_OFF_GRANT, false, receive->channel, receive->number % PROTOCOL_RECEIVES);
    else
        put_grant(receive);
}

static void put_drop(unsigned channel, uint32_t message)
{
    struct wire *wire = out_put(channel, WIRE_GRANT, NONE);
    wire->is_dropped = true;
    wire->header.message = message;
}

void out_drop(unsigned channel, uint32_t message)
{
    if (is_put_off())
        put_off(PUT_OFF_GRANT, true, channel, message);
    else
        put_drop(channel, message);
}

/* The next part after the first, if the receiver has room for it and entries name its pages. */
static void put_part(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    struct wire *wire = out_put(transfer->channel, WIRE_PART, request);
    transfer->is_under_way = true;
    wire->part = transfer->done;
    wire->header.message = transfer->number;
    wire->header.receive = transfer->next;
    wire->body = least(transfer->bytes - transfer->done * PART, PART);
}

void send_go_on(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    /* The first part may be wanted again until the receiver has asked for others. */
    if (transfer->granted > 1)
        pages_done(request);
    if (transfer->is_under_way || !transfer->is_leaving)
        return;
    if (transfer->is_dropped || transfer->done == transfer->parts) {
        transfer->is_leaving = false;
        protocol_left(&protocol, transfer->channel, transfer->number);
#ifdef PROTOCOL_CACHE
        rings_look();
#endif
    } else if (transfer->done < least(transfer->granted, parts_valid(transfer))) {
        if (is_put_off()) {
            transfer->is_under_way = true;
            put_off(PUT_OFF_PART, 0, transfer->channel, request);
        } else
            put_part(request);
    }
}

/* --- what was put off --- */

static void put_part_now(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    transfer->is_under_way = false;
    if (transfer->is_dropped)
        send_go_on(request);
    else
        put_part(request);
}

static void put_control_now(unsigned channel, unsigned kind, unsigned flags, uint32_t number)
{
    struct protocol_header header = {.kind = (uint8_t)kind, .flags = (uint8_t)flags, .message = number};
    protocol_goes(&protocol, channel, &header);
    if (kind == SEND_REQ) {
        /* Of what was announced: the receive awaits it. */
        const struct protocol_receive *receive = &protocol.receives[number % PROTOCOL_RECEIVES];
        header.message = receive->message;
        header.context = receive->context;
        header.tag = receive->tag;
    }
    if (kind == SEND_REQ || kind == NACK_REQUEST)
        header.receive = number;
    out_put(channel, WIRE_PROTOCOL, NONE)->header = header;
}

static SELDOM void put_what_was_off(void)
{
    while (off.count > 0 && queued - gone < limit) {
        unsigned what = off.what[off.first], kind = what & 15, flags = what >> 4 & FLAGS_MASK,
                 channel = what >> CHANNEL_PLACE;
        uint32_t number = off.number[off.first];
        off.first = off.first + 1 < off.size ? off.first + 1 : 0;
        off.count--;
        if (kind == PUT_OFF_PART)
            put_part_now(number);
        else if (kind != PUT_OFF_GRANT)
            put_control_now(channel, kind, flags, number);
        else if (flags)
            put_drop(channel, number);
        else
            put_grant(&protocol.receives[number]);
    }
}

/* --- the sender --- */

/* Its body has to come from the host. */
static bool is_fetched(const struct item *item)
{
    return item->wire.body && item->request != NONE && !transfer_of(item->request)->is_in_window;
}

static char *body_of(const struct item *item)
{
    if (item->request == NONE)
        return collective_data(item->channel);
    const struct transfer *transfer = transfer_of(item->request);
    return transfer->is_in_window ? (char *)(uintptr_t)process_of(item->request)->window + transfer->first
                                  : (char *)staging;
}

static void begin_fetch(const struct item *item)
{
    uint32_t from = item->wire.part * PART;
    fetched = 0;
    for (uint32_t begun = 0; begun < item->wire.body; begun += PIECE)
        host_fetch(item->request, from + begun, (char *)staging + begun, least(item->wire.body - begun, PIECE));
}

/* Messages and collectives take turns. */
static SELDOM bool serve_both(void)
{
    static bool was_collective;
    was_collective = !was_collective && collectives_put();
    return was_collective || protocol_serve(&protocol) || (was_collective = collectives_put());
}

/* False: there is nothing. */
static bool serve(void)
{
#ifdef PROTOCOL_CACHE
    if (rings_press && rings_put())
        return true;
#endif
    return collectives_wait ? serve_both() : protocol_serve(&protocol);
}

static SELDOM void start_next(void)
{
    if (off.count > 0)
        put_what_was_off();
    while (queued == gone)
        if (!serve())
            return;
    const struct item *item = &queue[gone % QUEUE];
    carry(&item->wire);
    np_store(CHASQUI_NP_SEND_TO, peers[item->channel].node);
    np_store(CHASQUI_NP_SEND_LOCAL, local(&item->wire));
    start(CHASQUI_NP_SEND_START, sizeof item->wire | (item->wire.body ? 0 : CHASQUI_NP_SEND_LAST));
    sends = HEADER;
    if (is_fetched(item))
        begin_fetch(item);
}

/* Something waits, or perhaps does: what is put off, headers in the queue, messages of a channel, others' headers. In most turns
 * nothing, and to find that out by the calls themselves took longer than all else of such a turn. */
static bool may_start(void)
{
#ifdef PROTOCOL_CACHE
    if (rings_press)
        return true;
#endif
    return queued != gone || protocol.ready_first != PROTOCOL_NONE || off.count > 0 || collectives_wait;
}

void out_go_on(void)
{
    if (sends == IDLE && may_start())
        start_next();
}

static void send_body(const struct item *item)
{
    bool is_ahead = is_fetched(item) && fetched < item->wire.body;
    sends = BODY;
    np_store(CHASQUI_NP_SEND_LOCAL, local(body_of(item)));
    start(CHASQUI_NP_SEND_START, item->wire.body | CHASQUI_NP_SEND_LAST | (is_ahead ? CHASQUI_NP_SEND_AHEAD : 0));
    if (is_ahead)
        np_store(CHASQUI_NP_SEND_VALID, fetched);
}

void out_fetched(uint32_t bytes)
{
    fetched += bytes;
    if (sends == BODY)
        np_store(CHASQUI_NP_SEND_VALID, fetched);
}

void out_sent(void)
{
    const struct item *item = &queue[gone % QUEUE];
    if (sends == HEADER && item->wire.body) {
        send_body(item);
        return;
    }
    uint32_t request = item->request;
    sends = IDLE;
    gone++;
    if (request == NONE) {
        if (item->wire.kind >= WIRE_ROOTED)
            collective_left(item->channel);
        return;
    }
    struct transfer *transfer = transfer_of(request);
    transfer->is_under_way = false;
    transfer->done++;
    send_go_on(request);
}
