/* The send side of a channel: its ring, and the main ring of channels that have something to send. */
#include "internal.h"

static struct protocol_send *entry(struct protocol_channel *c, uint32_t message)
{
    return &c->sends[message % PROTOCOL_RING_ENTRIES];
}

/* --- the main ring (section 3.7) --- */

static bool has_something(struct protocol_channel *c)
{
    if (c->asked > 0)
        return true;
    return c->head != c->newest && entry(c, c->head)->state == SEND_QUEUED;
}

void make_ready(struct turn *t)
{
    struct protocol *p = t->p;
    if (!has_something(t->c) || (RULE(once_on_ring) && t->c->is_ready))
        return;
    t->c->is_ready = true;
    if (!RULE(ring_goes_round)) {
        t->c->ready_next = p->ready_first;
        p->ready_first = (uint16_t)t->channel;
        if (t->c->ready_next == PROTOCOL_NONE)
            p->ready_last = p->ready_first;
        return;
    }
    t->c->ready_next = PROTOCOL_NONE;
    if (p->ready_first == PROTOCOL_NONE)
        p->ready_first = (uint16_t)t->channel;
    else
        p->channels[p->ready_last].ready_next = (uint16_t)t->channel;
    p->ready_last = (uint16_t)t->channel;
}

/* What was asked for first, for its receive waits; then the head. False: nothing. */
static bool turn_of(struct turn *t)
{
    struct protocol_channel *c = t->c;
    t->message = c->head;
    if (c->asked > 0)
        for (t->message = c->oldest; entry(c, t->message)->state != SEND_ASKED; t->message++)
            check(t->p, t->message != c->newest, "no message is asked for");
    t->send = entry(c, t->message);
    return has_something(c);
}

/* --- guards of the table --- */

static bool is_synchronous(const struct turn *t) { return t->send->flags & SEND_IS_SYNCHRONOUS; }

static bool has_credit_synchronous(const struct turn *t) { return is_synchronous(t) && has_credit(t); }

static bool may_be_eager(const struct turn *t)
{
    bool is_ready_send = RULE(ready_eager) && t->send->flags & SEND_IS_READY;
    return (t->send->bytes <= t->p->settings.eager_bytes_max || is_ready_send) &&
           !(RULE(eager_once) && t->send->flags & SEND_WAS_REFUSED);
}

static bool is_head(const struct turn *t) { return t->message == t->c->head; }

static bool is_wanted(const struct turn *t)
{
    return matches(t->header->context, t->header->tag, t->send->context, t->send->tag);
}

static bool is_stored(const struct turn *t) { return t->header->flags & FLAG_STORED; }

static bool is_stored_synchronous(const struct turn *t) { return is_synchronous(t) && is_stored(t); }

static bool is_withdrawn(const struct turn *t) { return t->send->flags & SEND_IS_WITHDRAWN; }

static bool is_stored_withdrawn(const struct turn *t) { return is_withdrawn(t) && is_stored_synchronous(t); }

/* --- actions of the table --- */

static void transmit(struct turn *t, enum protocol_kind kind)
{
    const struct protocol_send *send = t->send;
    struct protocol_header header = {.kind = (uint8_t)kind,
                                     .flags = is_synchronous(t) ? FLAG_SYNCHRONOUS : 0,
                                     .message = t->message,
                                     .receive = kind == MESSAGE_ASKED ? send->receive : 0,
                                     .context = send->context,
                                     .tag = send->tag,
                                     .bytes = send->bytes};
    if (kind == RECV_REQ)
        transmit_control(t, header);
    else
        environment_transmit(t->p, t->channel, &header, send);
}

static void transmit_on_credit(struct turn *t)
{
    count_hit(t);
    transmit(t, MESSAGE_ON_CREDIT);
}

static void transmit_announcement(struct turn *t) { transmit(t, RECV_REQ); }

static void transmit_eager(struct turn *t)
{
    transmit(t, MESSAGE_EAGER);
    if (!RULE(eager_blocks))
        t->c->head++;
}

static void transmit_asked(struct turn *t)
{
    t->c->asked--;
    transmit(t, MESSAGE_ASKED);
}

static void advance(struct turn *t) { t->c->head++; }

static void unblock(struct turn *t)
{
    if (RULE(eager_blocks))
        t->c->head++;
    make_ready(t);
}

static void note_receive(struct turn *t)
{
    t->send->receive = t->header->receive;
    t->c->asked++;
}

static void note_refusal(struct turn *t) { t->send->flags |= SEND_WAS_REFUSED; }

static void refuse_request(struct turn *t)
{
    transmit_control(t, (struct protocol_header){.kind = NACK_REQUEST, .receive = t->header->receive});
}

static void note_withdrawal(struct turn *t) { t->send->flags |= SEND_IS_WITHDRAWN; }

static void retract(struct turn *t)
{
    transmit_control(t, (struct protocol_header){.kind = RETRACT, .message = t->message});
}

/* The head or an entry behind it: the next ones get the numbers before theirs, which are not known yet. */
static void remove(struct turn *t)
{
    struct protocol_channel *c = t->c;
    environment_send_complete(t->p, t->channel, t->send->request, PROTOCOL_CANCELLED);
    for (uint32_t message = t->message; message + 1 != c->newest; message++)
        *entry(c, message) = *entry(c, message + 1);
    *entry(c, --c->newest) = (struct protocol_send){.state = SEND_DONE};
    make_ready(t);
}

/* The host may have its memory again. Entries leave the ring in order. */
static void complete_as(struct turn *t, enum protocol_result result)
{
    struct protocol_channel *c = t->c;
    environment_send_complete(t->p, t->channel, t->send->request, result);
    while (c->oldest != c->head && entry(c, c->oldest)->state == SEND_DONE)
        *entry(c, c->oldest++) = (struct protocol_send){.state = SEND_DONE};
}

static void complete(struct turn *t) { complete_as(t, PROTOCOL_COMPLETE); }
static void complete_cancelled(struct turn *t) { complete_as(t, PROTOCOL_CANCELLED); }

/* --- the table --- */

static inline void send_event(struct turn *t, enum send_event event)
{
    struct protocol_send *send = t->send;
#define ROW(name, event_, states, guard, action_1, action_2, action_3, next)          \
    if (event == EVENT_##event_ && send->state & (states) && HAS(SEND_##name, ROW) && \
        (!HAS(SEND_##name, GUARD) || guard(t))) {                                     \
        if ((next) != SAME && HAS(SEND_##name, NEXT))                                 \
            send->state = (next);                                                     \
        if (HAS(SEND_##name, ACTION_1))                                               \
            action_1(t);                                                              \
        if (HAS(SEND_##name, ACTION_2))                                               \
            action_2(t);                                                              \
        if (HAS(SEND_##name, ACTION_3))                                               \
            action_3(t);                                                              \
        return;                                                                       \
    }
#include "send_table.h"
    environment_fault(t->p, "send side: no rule for this event");
}

/* --- events --- */

bool protocol_post_send(struct protocol *p, unsigned channel, const struct protocol_send *request)
{
    struct turn t = turn_of_channel(p, channel);
    if (t.c->newest - t.c->oldest == PROTOCOL_RING_ENTRIES || !take_ring(&t))
        return false;
    struct protocol_send *send = entry(t.c, t.c->newest++);
    *send = *request;
    send->state = SEND_QUEUED;
    make_ready(&t);
    return true;
}

bool protocol_serve(struct protocol *p)
{
    unsigned channel = p->ready_first;
    if (channel == PROTOCOL_NONE)
        return false;
    struct turn t = turn_of_channel(p, channel);
    p->ready_first = t.c->ready_next;
    if (p->ready_first == PROTOCOL_NONE)
        p->ready_last = PROTOCOL_NONE;
    t.c->ready_next = PROTOCOL_NONE;
    t.c->is_ready = false;
    if (!turn_of(&t))
        return true;
    send_event(&t, EVENT_SERVE);
    if (t.send->state != SEND_QUEUED) {
        note_sent(&t);
        make_ready(&t);
    }
    return true;
}

/* The entry, or in its place one that is gone. */
static void find_entry(struct turn *t, uint32_t message, struct protocol_send *gone)
{
    *gone = (struct protocol_send){.state = SEND_DONE};
    bool is_kept = message - t->c->oldest < t->c->newest - t->c->oldest;
    t->message = message;
    t->send = is_kept ? entry(t->c, message) : gone;
}

void send_side_arrived(struct turn *t)
{
    struct protocol_send gone;
    uint32_t message = t->header->message;
    switch (t->header->kind) {
    case SEND_REQ:
        find_entry(t, RULE(message_number) ? message : t->c->head, &gone);
        send_event(t, EVENT_SEND_REQ);
        break;
    case ACK:
        find_entry(t, message, &gone);
        send_event(t, EVENT_ACK);
        break;
    case RETRACTED:
        find_entry(t, message, &gone);
        send_event(t, EVENT_RETRACTED);
        break;
    default:
        find_entry(t, message, &gone);
        send_event(t, EVENT_NACK);
        break;
    }
    look_at_ring(t);
}

void protocol_cancel_send(struct protocol *p, unsigned channel, uint32_t request)
{
    struct turn t = turn_of_channel(p, channel);
    for (t.message = t.c->oldest; t.message != t.c->newest; t.message++) {
        t.send = entry(t.c, t.message);
        if (t.send->state == SEND_DONE || t.send->request != request)
            continue;
        send_event(&t, EVENT_WITHDRAW);
        look_at_lease(&t);
        look_at_ring(&t);
        return;
    }
}

void protocol_left(struct protocol *p, unsigned channel, uint32_t message)
{
    struct protocol_send gone;
    struct turn t = turn_of_channel(p, channel);
    find_entry(&t, message, &gone);
    send_event(&t, EVENT_LEFT);
    look_at_ring(&t);
}
