/* The receive side: posted receives, and what arrives. */
#include "internal.h"

enum receive_event { POST, HOLD, FETCH, LAND, CLAIM, ANSWERED, CANCEL, DELIVERED };
enum which { NEW, HEARD };

static void receive_event(struct turn *t, enum receive_event event);

/* A receive whose record was not given to another one since. */
static bool find_receive(struct turn *t, uint32_t number)
{
    t->receive = &t->p->receives[number % PROTOCOL_RECEIVES];
    return (!RULE(receive_number) || t->receive->number == number) && t->receive->state != RECEIVE_FREE;
}

static void free_receive(struct turn *t)
{
    struct protocol_receive *receive = t->receive;
#ifdef PROTOCOL_EXPLORER
    /* What it was is no part of the state. */
    *receive = (struct protocol_receive){.state = receive->state, .number = receive->number};
#endif
    receive->next = t->p->free_receive;
    t->p->free_receive = index_of(receive);
    t->p->free_receives++;
}

/* --- guards of the receive table --- */

static bool finds(struct turn *t)
{
    const struct protocol_receive *receive = t->receive;
    return search_unclaimed(t, receive->process, receive->source, receive->context, receive->tag);
}

static bool holds_stored(struct turn *t) { return t->c->slots[t->slot].state == SLOT_STORED; }
static bool finds_stored(struct turn *t) { return finds(t) && holds_stored(t); }
static bool finds_announced(struct turn *t) { return finds(t) && t->c->slots[t->slot].state == SLOT_ANNOUNCED; }
static bool is_any_source(struct turn *t) { return t->receive->source == PROTOCOL_ANY_SOURCE; }
static bool is_coming(struct turn *t) { return is_asked_for(t); }

/* --- actions of the receive table --- */

static void transmit_request(struct turn *t, uint32_t message)
{
    const struct protocol_receive *receive = t->receive;
    transmit_control(t, (struct protocol_header){.kind = SEND_REQ,
                                                 .message = message,
                                                 .receive = receive->number,
                                                 .context = receive->context,
                                                 .tag = receive->tag});
}

static void ask(struct turn *t) { transmit_request(t, t->receive->message); }

static void ask_next(struct turn *t)
{
    t->receive->message = t->c->heard;
    ask(t);
}

/* The order of the search for MPI_ANY_SOURCE. */
static void note_search(struct turn *t)
{
    if (is_any_source(t) && RULE(any_source_rotation))
        t->p->searched[t->receive->process] = (uint16_t)t->channel;
}

/* Out of the table's order; it stays in its slot. */
static void hold(struct turn *t)
{
    note_search(t);
    unlink_slot(t);
    t->message = t->c->slots[t->slot].message;
    t->receive->channel = (uint16_t)t->channel;
    t->receive->slot = (uint8_t)t->slot;
}

static void deliver(struct turn *t)
{
    struct protocol_slot *slot = &t->c->slots[t->slot];
    struct protocol_receive *receive = t->receive;
    slot->state = SLOT_DELIVERING;
    receive->message = slot->message;
    receive->tag = slot->tag;
    receive->bytes = slot->bytes;
    receive->owes_credit = true;
    environment_deliver(t->p, receive);
}

static void take_envelope(struct turn *t)
{
    t->receive->slot = PROTOCOL_TABLE_SLOTS;
    t->c->slots[t->slot] = (struct protocol_slot){.state = SLOT_FREE};
    t->c->free_slots++;
    owe_slot(t);
}

static void add_claim(struct turn *t)
{
    uint16_t *end = &t->c->claimed_first;
    while (*end != PROTOCOL_NONE)
        end = &t->p->receives[*end].next;
    *end = index_of(t->receive);
    t->receive->next = PROTOCOL_NONE;
    t->receive->channel = (uint16_t)t->channel;
    t->receive->message = t->message;
    environment_claim(t->p, t->receive, t->header ? PROTOCOL_TABLE_SLOTS : t->slot);
}

static void add_claim_and_ask(struct turn *t)
{
    add_claim(t);
    ask(t);
}

static void remove_claim(struct turn *t)
{
    unsigned removed = index_of(t->receive);
    uint16_t *place = &t->c->claimed_first;
    while (*place != removed) {
        check(t->p, *place != PROTOCOL_NONE, "a claim in no list");
        place = &t->p->receives[*place].next;
    }
    *place = t->receive->next;
}

static void receive_body(struct turn *t)
{
    struct protocol_receive *receive = t->receive;
    const struct protocol_header *header = t->header;
    receive->channel = (uint16_t)t->channel;
    receive->slot = PROTOCOL_TABLE_SLOTS;
    receive->message = header->message;
    receive->tag = header->tag;
    receive->bytes = header->bytes;
    receive->owes_credit = header->kind == MESSAGE_ON_CREDIT;
    if (receive->owes_credit && RULE(landing_occupies))
        take_room(t, true);
    environment_land(t->p, header, receive);
}

static void release(struct turn *t)
{
    if (t->slot == PROTOCOL_TABLE_SLOTS)
        return;
    environment_release(t->p, t->channel, t->slot);
    t->c->slots[t->slot] = (struct protocol_slot){.state = SLOT_FREE};
}

static void transmit_ack(struct turn *t, uint32_t message, unsigned flags)
{
    transmit_control(t, (struct protocol_header){.kind = ACK, .flags = (uint8_t)flags, .message = message});
}

static void return_credit_and_record(struct turn *t)
{
    struct protocol_channel *c = t->c;
    if (t->receive->owes_credit) {
        uint32_t units = units_of(t->p, t->receive->bytes);
        if (t->slot < PROTOCOL_TABLE_SLOTS || RULE(landing_occupies)) {
            c->free_slots++;
            c->free_units += units;
        }
        c->owed_slots++;
        c->owed_units += units;
    }
    if (c->owed_slots > 0 || c->owed_units > 0)
        transmit_ack(t, t->receive->message, 0);
    free_receive(t);
}

static void tell_received(struct turn *t)
{
    bool is_longer = t->receive->bytes > t->receive->capacity_bytes;
    environment_receive_complete(t->p, t->receive, is_longer ? PROTOCOL_TRUNCATED : PROTOCOL_COMPLETE);
}

static void complete_cancelled(struct turn *t)
{
    environment_receive_complete(t->p, t->receive, PROTOCOL_CANCELLED);
    free_receive(t);
}

static inline void receive_event(struct turn *t, enum receive_event event)
{
    struct protocol_receive *receive = t->receive;
#define ROW(name, event_, states, guard, action_1, action_2, action_3, next_)       \
    if (event == event_ && receive->state & (states) && HAS(RECEIVE_##name, ROW) && \
        (!HAS(RECEIVE_##name, GUARD) || guard(t))) {                                \
        if ((next_) != SAME && HAS(RECEIVE_##name, NEXT))                           \
            receive->state = (next_);                                               \
        if (HAS(RECEIVE_##name, ACTION_1))                                          \
            action_1(t);                                                            \
        if (HAS(RECEIVE_##name, ACTION_2))                                          \
            action_2(t);                                                            \
        if (HAS(RECEIVE_##name, ACTION_3))                                          \
            action_3(t);                                                            \
        return;                                                                     \
    }
#include "receive_table.h"
    environment_fault(t->p, "receive: no rule for this event");
}

/* --- guards and actions of the arrival table --- */

/* One search for a message: the rule's guard has found what its action needs. */
static bool is_expected(struct turn *t) { return t->receive || find_expected(t); }

static void count(struct turn *t) { t->c->heard++; }

static void land(struct turn *t)
{
    check(t->p, is_expected(t), "a message that was asked for has no receive");
    receive_event(t, LAND);
}

static void land_claimed(struct turn *t)
{
    unsigned found = t->c->claimed_first;
    while (RULE(claims_by_number) && found != PROTOCOL_NONE && t->p->receives[found].message != t->message)
        found = t->p->receives[found].next;
    check(t->p, found != PROTOCOL_NONE, "a message that was announced has no receive");
    t->receive = &t->p->receives[found];
    receive_event(t, LAND);
}

static void claim(struct turn *t)
{
    check(t->p, is_expected(t), "no receive claims");
    receive_event(t, CLAIM);
}

static void store(struct turn *t)
{
    take_room(t, true);
    keep_slot(t, SLOT_STORED);
    environment_store(t->p, t->channel, t->slot, t->header);
    environment_unclaimed(t->p, t->channel, t->slot);
}

static void keep_envelope(struct turn *t)
{
    take_room(t, false);
    keep_slot(t, SLOT_ANNOUNCED);
    environment_unclaimed(t->p, t->channel, t->slot);
}

static void acknowledge(struct turn *t) { transmit_ack(t, t->message, 0); }
static void acknowledge_stored(struct turn *t) { transmit_ack(t, t->message, FLAG_STORED); }
static void discard(struct turn *t) { environment_discard(t->p, t->channel, t->header); }

static void refuse(struct turn *t)
{
    transmit_control(t, (struct protocol_header){.kind = NACK, .message = t->message});
}

static bool is_unclaimed(struct turn *t) { return find_number(t); }

static void forget(struct turn *t)
{
    struct protocol_slot *slot = &t->c->slots[t->slot];
    unlink_slot(t);
    if (slot->state == SLOT_STORED) {
        environment_release(t->p, t->channel, t->slot);
        t->c->free_units += units_of(t->p, slot->bytes);
        t->c->owed_units += units_of(t->p, slot->bytes);
    }
    *slot = (struct protocol_slot){.state = SLOT_FREE};
    t->c->free_slots++;
    owe_slot(t);
}

static void retracted(struct turn *t)
{
    transmit_control(t, (struct protocol_header){.kind = RETRACTED, .message = t->message});
}

static void answer(struct turn *t)
{
    if (find_receive(t, t->header->receive))
        receive_event(t, ANSWERED);
}

static void arrival(struct turn *t, enum protocol_kind kind, enum which which)
{
#define ROW(name, kind_, which_, guard, action_1, action_2, action_3)                                                \
    if (kind == kind_ && which == which_ && HAS(ARRIVAL_##name, ROW) && (!HAS(ARRIVAL_##name, GUARD) || guard(t))) { \
        if (HAS(ARRIVAL_##name, ACTION_1))                                                                           \
            action_1(t);                                                                                             \
        if (HAS(ARRIVAL_##name, ACTION_2))                                                                           \
            action_2(t);                                                                                             \
        if (HAS(ARRIVAL_##name, ACTION_3))                                                                           \
            action_3(t);                                                                                             \
        return;                                                                                                      \
    }
#include "arrival_table.h"
    environment_fault(t->p, "arrival: no rule for this message");
}

void receive_side_arrived(struct turn *t)
{
    if (t->header->kind == NACK_REQUEST) {
        answer(t);
        return;
    }
    t->message = t->header->message;
    bool is_new = t->message == t->c->heard;
    check(t->p, is_new || (int32_t)(t->message - t->c->heard) < 0, "a message has overtaken another");
    arrival(t, (enum protocol_kind)t->header->kind, is_new ? NEW : HEARD);
}

/* --- events of the host and of data movement --- */

/* The last record is for what has a message already, and does not wait for long. */
static bool begin_receive(struct turn *t, struct protocol *p, const struct protocol_receive_request *request,
                          uint32_t kept)
{
    if (p->free_receives <= kept)
        return false;
    p->free_receives--;
    struct protocol_receive *receive = &p->receives[p->free_receive];
    p->free_receive = receive->next;
    *receive = (struct protocol_receive){.state = RECEIVE_NEW,
                                         .source = request->source,
                                         .process = request->process,
                                         .link = PROTOCOL_NONE,
                                         .next = PROTOCOL_NONE,
                                         .slot = PROTOCOL_TABLE_SLOTS,
                                         .number = receive->number + PROTOCOL_RECEIVES,
                                         .context = request->context,
                                         .tag = request->tag,
                                         .capacity_bytes = request->capacity_bytes,
                                         .request = request->request};
    *t = turn_of_channel(p, request->source == PROTOCOL_ANY_SOURCE ? 0 : request->source);
    t->receive = receive;
    return true;
}

bool protocol_post_receive(struct protocol *p, const struct protocol_receive_request *request, uint32_t *number)
{
    struct turn t;
    if (!has_links(p, request->process, request->source) || !begin_receive(&t, p, request, RULE(last_record) ? 1 : 0))
        return false;
    *number = t.receive->number;
    receive_event(&t, POST);
    look_at_table(&t);
    return true;
}

static struct protocol_status status_of(const struct turn *t)
{
    const struct protocol_slot *slot = &t->c->slots[t->slot];
    return (struct protocol_status){
        .channel = (uint16_t)t->channel, .tag = slot->tag, .bytes = slot->bytes, .message = slot->message};
}

bool protocol_claim(struct protocol *p, const struct protocol_receive_request *request, uint32_t *number,
                    struct protocol_status *status)
{
    struct turn t;
    if (!begin_receive(&t, p, request, 0))
        return false;
    receive_event(&t, HOLD);
    if (t.receive->state != RECEIVE_HELD)
        return false;
    *number = t.receive->number;
    *status = status_of(&t);
    return true;
}

void protocol_receive_claimed(struct protocol *p, uint32_t number, uint32_t capacity_bytes, uint32_t request)
{
    struct turn t = {.p = p};
    check(p, find_receive(&t, number), "no such message");
    t.channel = t.receive->channel;
    t.c = &p->channels[t.channel];
    t.slot = t.receive->slot;
    t.message = t.c->slots[t.slot].message;
    t.receive->capacity_bytes = capacity_bytes;
    t.receive->request = request;
    receive_event(&t, FETCH);
    look_at_table(&t);
}

void protocol_cancel(struct protocol *p, uint32_t number)
{
    struct turn t = {.p = p};
    if (!find_receive(&t, number))
        return; /* complete */
    t.channel = t.receive->source == PROTOCOL_ANY_SOURCE ? 0 : t.receive->source;
    t.c = &p->channels[t.channel];
    receive_event(&t, CANCEL);
}

void protocol_delivered(struct protocol *p, uint32_t number)
{
    struct turn t = {.p = p};
    check(p, find_receive(&t, number), "no such receive");
    t.channel = t.receive->channel;
    t.c = &p->channels[t.channel];
    t.slot = t.receive->slot;
    receive_event(&t, DELIVERED);
    look_at_table(&t);
}

bool protocol_probe(struct protocol *p, const struct protocol_receive_request *request, struct protocol_status *status)
{
    struct turn t = {.p = p};
    if (!search_unclaimed(&t, request->process, request->source, request->context, request->tag))
        return false;
    *status = status_of(&t);
    return true;
}
