/* What comes from the wire: a header, then, where the protocol says, its body. A body for a receive goes to the host's memory
 * piece by piece while it comes. */
#include "mcp.h"

#define LANDINGS 3 /* parts that are on their way to the host (ours) */

/* A part of a message for a receive. */
static struct landing {
    uint64_t data[PART / 8];
    uint32_t request; /* or NONE */
    uint32_t part;
    uint32_t pieces; /* that are on their way to the host */
    bool is_here; /* all of it */
} landings[LANDINGS];

static enum { IN_HEADER, IN_WAITS, IN_BODY } state;
static struct wire wire; /* the header that came last */
static struct {
    enum { DISCARD, LAND, STORE, COLLECT, COLLECT_BLOCKS } how;
    uint32_t filled, place; /* [bytes] that came, and that come next */
    unsigned landing;
    uint32_t wanted; /* [bytes] for which the receive has room */
    unsigned unit; /* of a receive buffer: next */
    char *at; /* where the next come */
    struct stored *stored;
} body;

/* Messages without data, for protocol_delivered: not from within the protocol. */
static uint32_t empty_first = NONE;

static void give_header_place(void)
{
    state = IN_HEADER;
    np_store(CHASQUI_NP_RECEIVE_LOCAL, local(&wire));
    start(CHASQUI_NP_RECEIVE_START, sizeof wire);
}

void in_begin(void)
{
    for (unsigned i = 0; i < LANDINGS; i++)
        landings[i].request = NONE;
    give_header_place();
}

static void give_body_place(void)
{
    uint32_t left = wire.body - body.filled;
    if (body.how < STORE) {
        body.at = (char *)landings[body.landing].data + body.filled;
        body.place = least(left, PIECE);
    } else if (body.how == STORE) {
        body.at = buffer_run(&body.unit, left, &body.place);
    } else {
        body.at = collective_place(wire.channel, &wire);
        body.place = left;
    }
    state = IN_BODY;
    np_store(CHASQUI_NP_RECEIVE_LOCAL, local(body.at));
    start(CHASQUI_NP_RECEIVE_START, body.place);
}

/* --- parts for receives --- */

static void land(uint32_t request, uint32_t part)
{
    struct transfer *transfer = transfer_of(request);
    struct landing *landing = &landings[body.landing];
    uint32_t before = part * PART;
    body.how = LAND;
    body.wanted = transfer->bytes > before ? transfer->bytes - before : 0;
    landing->request = request;
    landing->part = part;
    landing->pieces = 0;
    landing->is_here = false;
}

/* The sender may send what there is room for. */
static void grant(uint32_t request, const struct protocol_receive *receive)
{
    struct transfer *transfer = transfer_of(request);
    uint32_t until = least(parts_valid(transfer), transfer->parts);
    if (until <= transfer->granted)
        return;
    transfer->granted = until;
    out_grant(receive);
}

/* The last part for which there is room has come: the rest stays where it is. */
static void end_parts(uint32_t request, const struct protocol_receive *receive, uint32_t part)
{
    if (part + 1 == transfer_of(request)->parts && parts_of(receive->bytes) > transfer_of(request)->parts)
        out_drop(receive->channel, receive->message);
}

static void landed(struct landing *landing)
{
    uint32_t request = landing->request;
    struct transfer *transfer = transfer_of(request);
    landing->request = NONE;
    if (++transfer->done == transfer->parts) {
        protocol_delivered(&protocol, transfer->number);
        return;
    }
    pages_done(request);
}

void in_moved(unsigned moved)
{
    struct landing *landing = &landings[moved];
    if (--landing->pieces == 0 && landing->is_here)
        landed(landing);
}

uint32_t in_request(unsigned landing) { return landings[landing].request; }

void receive_go_on(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    if (transfer->granted > 0)
        grant(request, &protocol.receives[transfer->number % PROTOCOL_RECEIVES]);
}

/* --- what the protocol says about a body --- */

void environment_land(struct protocol *p, const struct protocol_header *header, const struct protocol_receive *receive)
{
    struct transfer *transfer = transfer_of(receive->request);
    (void)p;
    (void)header;
    transfer->number = receive->number;
    matched(receive, wire.sequence);
    transfer->bytes = least(receive->bytes, transfer->bytes);
    transfer->parts = parts_of(transfer->bytes);
    transfer->granted = 1;
    transfer->done = transfer->told = 0;
    if (wire.body == 0) {
        transfer->next = empty_first;
        empty_first = receive->request;
        return;
    }
    land(receive->request, 0);
    grant(receive->request, receive);
    end_parts(receive->request, receive, 0);
}

void environment_store(struct protocol *p, unsigned channel, unsigned slot, const struct protocol_header *header)
{
    (void)p;
    body.how = STORE;
    body.stored = &stored[table_of(channel)][slot];
    body.unit = buffer_take(table_of(channel), header->bytes);
    body.stored->first = (uint16_t)body.unit;
    body.stored->is_here = header->bytes == 0;
}

void environment_discard(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    (void)p;
    body.how = DISCARD;
    if (header->bytes > PART)
        out_drop(channel, header->message);
}

/* --- headers --- */

/* Of the message that a header is about, at its sender; NONE: that message is gone. */
static uint32_t request_sent(void)
{
    const struct protocol_channel *c = &protocol.channels[wire.channel];
    bool is_kept = wire.header.message - c->oldest < c->newest - c->oldest;
    return is_kept ? c->sends[wire.header.message % PROTOCOL_RING_ENTRIES].request : NONE;
}

static void granted(void)
{
    uint32_t request = request_sent();
    if (request == NONE)
        return;
    struct transfer *transfer = transfer_of(request);
    transfer->is_dropped = wire.is_dropped;
    if (!wire.is_dropped)
        transfer->granted = wire.part;
    transfer->next = wire.header.receive;
    send_go_on(request);
}

static void drained(void)
{
    uint32_t request = request_sent();
    if (request != NONE)
        transfer_of(request)->is_drained = true;
}

static void part_comes(void)
{
    const struct protocol_receive *receive = &protocol.receives[wire.header.receive];
    land(receive->request, wire.part);
    end_parts(receive->request, receive, wire.part);
}

/* Those that have come, and those that come. */
static void pressed(void)
{
    peers[wire.channel].pressed = wire.header.message;
    if (protocol.channels[wire.channel].free_slots < protocol.settings.table_slots)
        tell_crowded(wire.channel);
}

static void noted(void)
{
    struct peer *peer = &peers[wire.channel];
    if (wire.note == CHASQUI_MPINP_NOTE_ANSWER)
        peer->is_noted = false;
    else
        peer->owes_answer = true;
    host_event(protocol.channels[wire.channel].process,
               &(struct chasqui_mpinp_event){
                   .kind = CHASQUI_MPINP_NOTED, .result = wire.note, .rank = peer->rank, .bytes = wire.part});
}

static void collected(void)
{
    body.how = COLLECT;
    if (wire.body == 0)
        collective_came(wire.channel, &wire);
}

/* Blocks that its process does not await are dropped: what another one sends in error is no fault of this card's. */
static void rooted(void)
{
    if (wire.body == 0)
        rooted_came(wire.channel, &wire);
    else if (rooted_place(wire.channel, &wire))
        body.how = COLLECT_BLOCKS;
}

/* Where a body may go, if it is for a receive. */
static bool find_landing(void)
{
    for (body.landing = 0; body.landing < LANDINGS; body.landing++)
        if (landings[body.landing].request == NONE)
            return true;
    return false;
}

static void deliver_empty(void)
{
    while (empty_first != NONE) {
        struct transfer *transfer = transfer_of(empty_first);
        empty_first = transfer->next;
        protocol_delivered(&protocol, transfer->number);
    }
}

static SELDOM bool take_header(void)
{
    if (wire.body && !find_landing())
        return false;
    body.filled = 0;
    body.how = DISCARD;
    switch (wire.kind) {
    case WIRE_PROTOCOL:
        if (wire.header.kind != RETRACT || !requests_hold(wire.channel, &wire.header))
            protocol_arrived(&protocol, wire.channel, &wire.header);
        break;
    case WIRE_GRANT: granted(); break;
    case WIRE_DRAINED: drained(); break;
    case WIRE_PRESS: pressed(); break;
    case WIRE_NOTE: noted(); break;
    case WIRE_PART: part_comes(); break;
    case WIRE_ROOTED: rooted(); break;
    default: collected(); break;
    }
    if (wire.body)
        give_body_place();
    else
        give_header_place();
    deliver_empty();
    return true;
}

bool in_go_on(void) { return state == IN_WAITS && take_header(); }

/* --- the receiver --- */

bool in_is_synchronous(void) { return wire.header.flags & FLAG_SYNCHRONOUS; }

uint32_t in_sequence(void) { return wire.header.kind == RECV_REQ ? wire.part : wire.sequence; }

bool in_is_receiving(void) { return state != IN_WAITS; }

static void body_ended(void)
{
    struct landing *landing = &landings[body.landing];
    if (body.how == LAND) {
        landing->is_here = true;
        if (landing->pieces == 0)
            landed(landing);
    } else if (body.how == STORE) {
        body.stored->is_here = true;
        host_stored();
    } else if (body.how == COLLECT)
        collective_came(wire.channel, &wire);
    else if (body.how == COLLECT_BLOCKS)
        rooted_came(wire.channel, &wire);
}

static void piece_came(void)
{
    struct landing *landing = &landings[body.landing];
    if (body.how == LAND && body.filled < body.wanted) {
        landing->pieces++;
        host_land(body.landing, body.at, landing->part * PART + body.filled,
                  least(body.place, body.wanted - body.filled), wire.source, wire.sequence);
    }
    body.filled += body.place;
}

void in_received(void)
{
    uint64_t filled = np_load(CHASQUI_NP_RECEIVED);
    barrier();
    if (state == IN_HEADER) {
        check((uint32_t)filled == sizeof wire && !(filled & CHASQUI_NP_RECEIVED_LAST) == (wire.body > 0));
        state = IN_WAITS;
        return;
    }
    check((uint32_t)filled == body.place);
    piece_came();
    if (body.filled < wire.body) {
        give_body_place();
        return;
    }
    check(filled & CHASQUI_NP_RECEIVED_LAST);
    body_ended();
    give_header_place();
}
