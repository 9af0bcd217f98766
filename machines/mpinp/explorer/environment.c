/* The environment of the protocol in a world. */
#include "environment.h"

#include <stdlib.h>
#include <string.h>

_Noreturn void environment_fault(struct protocol *p, const char *reason)
{
    (void)p;
    fail(reason);
}

const char *const kind_names[] = {"message on credit",
                                  "eager message",
                                  "message that was asked for",
                                  "RECV_REQ",
                                  "SEND_REQ",
                                  "ACK",
                                  "NACK",
                                  "NACK of SEND_REQ",
                                  "RETRACT",
                                  "RETRACTED",
                                  "WANT",
                                  "LEASE",
                                  "RECALL",
                                  "RETURN"};

static void tell_header(const struct protocol_header *header)
{
    fprintf(story, "%s, message %u, receive %u, tag %d, credit %u slots %u units%s", kind_names[header->kind],
            header->message - NUMBER_FIRST, header->receive + PROTOCOL_RECEIVES, header->tag, header->credit_slots,
            header->credit_units, header->flags & FLAG_STORED ? ", stored" : "");
}

/* Of a ring, if the channel has one. */
static const struct protocol_send *entry_of(const struct protocol_channel *c, uint32_t message)
{
#ifdef PROTOCOL_CACHE
    static const struct protocol_send none;
    if (!c->sends)
        return &none;
#endif
    return &c->sends[message % PROTOCOL_RING_ENTRIES];
}

#ifdef PROTOCOL_CACHE

static bool is_message_waiting(const struct protocol_channel *c)
{
    return c->head != c->newest && entry_of(c, c->head)->state == SEND_QUEUED;
}

static bool has_table(const struct protocol_channel *c) { return c->table_state == TABLE_LEASED; }

void environment_cache(struct protocol *p, enum protocol_cache_event event)
{
    (void)p;
    (void)event;
}

void environment_crowded(struct protocol *p, unsigned channel) { world->crowded[find_end(p, channel)] = true; }

#else
static bool has_table(const struct protocol_channel *c) { return (void)c, true; }
#endif

/* Rules that are economy: without them all arrives too, but later. */
static const char *wasteful(const struct protocol *p, unsigned end, const struct protocol_header *header)
{
    const struct protocol_channel *c = &p->channels[channel_of(end)];
    const struct protocol_send *send = entry_of(c, header->message);
    const struct operation_state *state = &world->operations[send->request];
    switch (header->kind) {
    case MESSAGE_EAGER:
        return c->credit_slots > 0 && c->credit_units >= header->bytes ? "sent eagerly though there is credit" : NULL;
    case RECV_REQ:
        if (c->credit_units >= header->bytes)
            return "announced though there is credit";
        if ((header->bytes <= p->settings.eager_bytes_max || send->flags & SEND_IS_READY) && !state->dropped)
            return "announced though it may be sent eagerly";
        return NULL;
    case NACK_REQUEST:
        if (arrived.is_for_claimed)
            return "SEND_REQ for what was announced is refused";
        send = entry_of(c, arrived.header.message);
        state = &world->operations[send->request];
        if (arrived.header.message - c->oldest < c->newest - c->oldest &&
            world->leaving[end][arrived.header.message % PROTOCOL_RING_ENTRIES].body == NOBODY &&
            state->sent == state->dropped && send->state != SEND_ASKED && send->tag == arrived.header.tag &&
            send->context == arrived.header.context)
            return "SEND_REQ is refused though the message is there";
        return NULL;
#ifdef PROTOCOL_CACHE
    case RETURN:
        return world->is_lease_new[end] && is_message_waiting(c) ? "a table is given back that is wanted" : NULL;
#endif
    default: return NULL;
    }
}

/* Onto the wire to end `to`. */
static void put(unsigned to, const struct item *item)
{
    if (story) {
        fprintf(story, "        process %u -> %u: ", peer_of(to), to / PEERS);
        tell_header(&item->header);
        fprintf(story, "\n");
    }
    if (world->wire_counts[to] == WIRE_MAX)
        fail("the wire is flooded");
    world->wires[to][world->wire_counts[to]++] = *item;
}

static const struct protocol_receive *receive_of(const struct protocol *p, const struct protocol_header *header)
{
    return &p->receives[header->receive % PROTOCOL_RECEIVES];
}

/* What waits keeps its order. */
static bool is_put_off(unsigned node) { return world->off_counts[node] > 0 || room == 0; }

static void put_off(struct protocol *p, unsigned channel, unsigned to, const struct item *item)
{
    unsigned node = (unsigned)(p - world->nics);
    if (world->off_counts[node] == OFF_MAX)
        fail("too much is put off");
    if (world->off_counts[node] == 0)
        world->put_off++;
    struct off *off = &world->off[node][world->off_counts[node]++];
    *off = (struct off){.item = *item, .end = (uint16_t)to};
    off->is_claimed = item->header.kind == SEND_REQ && receive_of(p, &item->header)->state == RECEIVE_CLAIMED;
    off->item.header.credit_slots = 0;
    off->item.header.credit_units = 0;
    if (story)
        fprintf(story, "        process %u -> %u: put off, %s\n", peer_of(to), to / PEERS,
                kind_names[item->header.kind]);
    protocol_put_off(p, channel, &item->header);
}

/* The firmware makes a SEND_REQ again from its receive (firmware/mcp/out.c). */
static bool is_made_again(const struct protocol *p, const struct protocol_header *header)
{
    const struct protocol_receive *receive = receive_of(p, header);
    return receive->number == header->receive && receive->message == header->message &&
           receive->context == header->context && receive->tag == header->tag;
}

void go(unsigned node)
{
    struct off off = world->off[node][0];
    struct protocol *p = &world->nics[node];
    world->off_counts[node]--;
    memmove(&world->off[node][0], &world->off[node][1], sizeof off * (OFF_MAX - 1));
    memset(&world->off[node][OFF_MAX - 1], 0, sizeof off);
    protocol_goes(p, channel_of(other_end(off.end)), &off.item.header);
    if (off.is_claimed && !is_made_again(p, &off.item.header))
        fail("SEND_REQ that was put off is another when it goes");
    put(off.end, &off.item);
}

void environment_transmit(struct protocol *p, unsigned channel, const struct protocol_header *header,
                          const struct protocol_send *send)
{
    unsigned end = find_end(p, channel), to = other_end(end);
    struct item item = {.header = *header, .body = (uint16_t)(send ? send->request : NOBODY)};
    item.is_for_claimed = header->kind == SEND_REQ && header->message != p->channels[channel].heard;
    const char *waste = checks_economy ? wasteful(p, end, header) : NULL;
    if (waste)
        fail(waste);
    if (is_put_off((unsigned)(p - world->nics))) {
        if (header->kind <= RECV_REQ)
            fail("a message is put off");
        put_off(p, channel, to, &item);
        return;
    }
    put(to, &item);
    room--;
    world->is_lease_new[end] &= header->kind > RECV_REQ;
    if (header->kind <= RECV_REQ)
        world->about[to][header->message % 8] =
            (uint8_t)p->channels[channel].sends[header->message % PROTOCOL_RING_ENTRIES].request;
    if (!send)
        return;
    world->operations[send->request].sent++;
    struct leaving *leaving = &world->leaving[end][header->message % PROTOCOL_RING_ENTRIES];
    if (leaving->body != NOBODY)
        fail("the body of an entry is sent while it is still being sent");
    *leaving = (struct leaving){.message = header->message, .body = send->request};
}

static uint8_t take_arriving(void)
{
    uint8_t body = arriving;
    if (body == NOBODY)
        fail("a body is taken that does not come");
    arriving = NOBODY;
    return body;
}

void environment_store(struct protocol *p, unsigned channel, unsigned slot, const struct protocol_header *header)
{
    (void)header;
    unsigned end = find_end(p, channel);
    uint8_t *place = &world->bodies[end][slot];
    if (*place != NOBODY)
        fail("a body is stored over another");
    *place = take_arriving();
    uint32_t units = 0;
    for (unsigned i = 0; i < PROTOCOL_TABLE_SLOTS; i++)
        if (world->bodies[end][i] != NOBODY)
            units += running->operations[world->bodies[end][i]].bytes;
    if (units > p->settings.buffer_units)
        fail("the receive buffer overflows");
}

void match(uint8_t send, uint8_t receive)
{
    if (world->operations[receive].partner != NOBODY)
        fail("a receive gets a message twice");
    if (world->operations[send].partner != NOBODY)
        fail("a message is delivered twice");
    if (world->operations[send].status == CANCELLED)
        fail("a message is delivered that was cancelled");
    if (!would_match(send, receive))
        fail("a receive gets a message that does not match");
    world->operations[receive].partner = send;
    world->operations[send].partner = receive;
}

static void begin_delivery(const struct protocol_receive *receive, uint8_t send)
{
    struct operation_state *state = &world->operations[receive->request % OPERATIONS];
    if (receive->request >= OPERATIONS) { /* It was drained. */
        if (send != receive->request - OPERATIONS || state->is_moving)
            fail("another message is drained than was claimed");
        state->is_moving = true;
        state->number = receive->number;
        return;
    }
    if (state->is_moving || state->status != POSTED)
        fail("a receive gets a message twice");
    bool is_claimed = running->operations[receive->request].kind >= OP_CLAIM;
    if (!is_claimed)
        match(send, (uint8_t)receive->request);
    else if (state->partner != send)
        fail("a receive gets another message than it claimed");
    state->is_moving = true;
    state->number = receive->number;
}

void environment_land(struct protocol *p, const struct protocol_header *header, const struct protocol_receive *receive)
{
    (void)p;
    (void)header;
    begin_delivery(receive, take_arriving());
}

void environment_discard(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    const struct protocol_channel *c = &p->channels[channel];
    if (checks_economy && has_table(c) && c->free_slots > 0 && c->free_units >= header->bytes)
        fail("a message is dropped though there is room");
    if (world->operations[take_arriving()].dropped++)
        fail("a message is dropped twice");
}

void environment_deliver(struct protocol *p, const struct protocol_receive *receive)
{
    uint8_t body = world->bodies[find_end(p, receive->channel)][receive->slot];
    if (body == NOBODY)
        fail("a body is delivered that is not there");
    begin_delivery(receive, body);
}

/* Whatever lands is looked at then. */
void environment_claim(struct protocol *p, const struct protocol_receive *receive, unsigned slot)
{
    (void)p;
    (void)receive;
    (void)slot;
}

void environment_release(struct protocol *p, unsigned channel, unsigned slot)
{
    uint8_t *place = &world->bodies[find_end(p, channel)][slot];
    if (*place == NOBODY)
        fail("a body is released that is not there");
    *place = NOBODY;
}

void environment_send_complete(struct protocol *p, unsigned channel, uint32_t request, enum protocol_result result)
{
    (void)p;
    (void)channel;
    struct operation_state *state = &world->operations[request];
    if (state->status != POSTED)
        fail("a send is completed twice");
    for (unsigned end = 0; end < ENDS; end++)
        for (unsigned i = 0; i < PROTOCOL_RING_ENTRIES; i++)
            if (world->leaving[end][i].body == request)
                fail("a send is completed while its body is leaving");
    if (result == PROTOCOL_CANCELLED) {
        if (state->partner != NOBODY || !state->is_withdrawn)
            fail("a send is cancelled that should not be");
        state->status = CANCELLED;
        return;
    }
    state->status = DONE;
    if (running->operations[request].flags & SEND_IS_SYNCHRONOUS)
        state->seen = world->posted[running->operations[request].peer];
}

void environment_receive_complete(struct protocol *p, const struct protocol_receive *receive,
                                  enum protocol_result result)
{
    (void)p;
    if (receive->request >= OPERATIONS)
        return;
    struct operation_state *state = &world->operations[receive->request];
    if (state->status != POSTED)
        fail("a receive is completed twice");
    if (result == PROTOCOL_CANCELLED) {
        if (state->partner != NOBODY || !state->is_withdrawn)
            fail("a receive is cancelled that should not be");
        state->status = CANCELLED;
        return;
    }
    const struct operation *send = &running->operations[state->partner];
    if (receive->tag != send->tag || receive->bytes != send->bytes)
        fail("the status is another message's");
    if ((result == PROTOCOL_TRUNCATED) != (send->bytes > running->operations[receive->request].bytes))
        fail("truncated, or not, wrongly");
    state->status = result == PROTOCOL_TRUNCATED ? TRUNCATED : DONE;
}

void environment_unclaimed(struct protocol *p, unsigned channel, unsigned slot)
{
    (void)p;
    (void)channel;
    (void)slot;
}
