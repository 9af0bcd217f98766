/* The queue to the wire: in the order of the protocol's calls. A body in the host's memory is fetched while it leaves. */
#include "mcp.h"

#define QUEUE 512 /* a power of two */

struct item {
    struct wire wire;
    uint32_t request; /* whose part follows, or NONE */
    uint16_t channel;
};

static struct item queue[QUEUE];
static uint32_t queued, gone;
static enum { IDLE, HEADER, BODY } sends;
static uint64_t staging[PART / 8]; /* of a body from the host */
static uint32_t fetched; /* [bytes] of it */

bool out_is_sending(void) { return sends != IDLE; }

bool out_has_room(uint32_t items) { return queued - gone + items <= QUEUE; }

struct wire *out_put(unsigned channel, unsigned kind, uint32_t request)
{
    check(queued - gone < QUEUE);
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

void out_grant(uint32_t request, const struct protocol_receive *receive, bool is_dropped)
{
    struct wire *wire = out_put(receive->channel, WIRE_GRANT, NONE);
    wire->is_dropped = is_dropped;
    wire->part = transfer_of(request)->granted;
    wire->header.message = receive->message;
    wire->header.receive = (uint32_t)(receive - protocol.receives);
}

/* The next part after the first, if the receiver has room for it and the host has made it ready. */
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

/* Entries that the host may fill again. The first part may be wanted again until the receiver has asked for others. */
static void tell_done(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    while (transfer->granted > 1 && transfer->told < transfer->done && transfer->told + 2 < transfer->parts) {
        struct chasqui_mpinp_event event = {
            .kind = CHASQUI_MPINP_ENTRY_DONE, .name = (uint16_t)(request & 0xff), .entry = transfer->told++};
        host_event(request >> 8, &event);
    }
}

void send_go_on(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    tell_done(request);
    if (transfer->is_under_way || !transfer->is_leaving)
        return;
    if (transfer->is_dropped || transfer->done == transfer->parts) {
        transfer->is_leaving = false;
        protocol_left(&protocol, transfer->channel, transfer->number);
    } else if (transfer->done < least(transfer->granted, transfer->valid))
        put_part(request);
}

/* --- the sender --- */

static char *body_of(const struct item *item, struct transfer *transfer)
{
    return transfer->is_in_window ? (char *)(uintptr_t)process_of(item->request)->window + transfer->address[0]
                                  : (char *)staging;
}

static void begin_fetch(const struct item *item, const struct transfer *transfer)
{
    uint32_t part = item->wire.part;
    uint64_t from = process_of(item->request)->host + transfer->address[part % 2];
    fetched = 0;
    for (uint32_t begun = 0; begun < item->wire.body; begun += PIECE)
        host_fetch(from + begun, (char *)staging + begun, least(item->wire.body - begun, PIECE));
}

static SELDOM void start_next(void)
{
    while (queued == gone)
        if (!protocol_serve(&protocol))
            return;
    const struct item *item = &queue[gone % QUEUE];
    carry(&item->wire);
    np_store(CHASQUI_NP_SEND_TO, peers[item->channel].node);
    np_store(CHASQUI_NP_SEND_LOCAL, local(&item->wire));
    start(CHASQUI_NP_SEND_START, sizeof item->wire | (item->wire.body ? 0 : CHASQUI_NP_SEND_LAST));
    sends = HEADER;
    if (item->wire.body && !transfer_of(item->request)->is_in_window)
        begin_fetch(item, transfer_of(item->request));
}

void out_go_on(void)
{
    if (sends == IDLE)
        start_next();
}

static void send_body(const struct item *item)
{
    struct transfer *transfer = transfer_of(item->request);
    bool is_ahead = !transfer->is_in_window && fetched < item->wire.body;
    sends = BODY;
    np_store(CHASQUI_NP_SEND_LOCAL, local(body_of(item, transfer)));
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
    if (request == NONE)
        return;
    struct transfer *transfer = transfer_of(request);
    transfer->is_under_way = false;
    transfer->done++;
    send_go_on(request);
}
