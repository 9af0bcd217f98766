/* What must hold in every world, and in those where nothing can happen any more. */
#include "explorer.h"

static bool is_claim(const struct operation *operation)
{
    return operation->kind == OP_CLAIM || operation->kind == OP_CLAIM_IF;
}

bool would_match(unsigned send, unsigned receive)
{
    const struct operation *s = &running->operations[send], *r = &running->operations[receive];
    return s->kind == OP_SEND && (r->kind == OP_RECEIVE || is_claim(r)) && s->peer == receive / OPERATIONS_MAX &&
           (r->peer == NOBODY || r->peer == send / OPERATIONS_MAX) && s->context == r->context &&
           (r->tag == PROTOCOL_ANY_TAG || r->tag == s->tag);
}

static const struct protocol_channel *channel_at(const struct world *world, unsigned end)
{
    return &world->nics[node_of(end / PEERS)].channels[channel_of(end)];
}

#ifdef PROTOCOL_CACHE

/* The other end. */
static const struct protocol_channel *receiver_at(const struct world *world, unsigned end)
{
    unsigned process = end / PEERS, peer = peer_of(end);
    return channel_at(world, running->process_count == 1 ? end : peer * PEERS + process - (process > peer));
}

#endif

/* On a main ring once at most, and those that say so. */
static const char *wrong_ring(const struct protocol *p)
{
    unsigned length = 0, marked = 0;
    for (unsigned channel = p->ready_first; channel != PROTOCOL_NONE; channel = p->channels[channel].ready_next)
        if (++length > PROTOCOL_CHANNELS)
            return "a channel is on the main ring twice";
    for (unsigned channel = 0; channel < PROTOCOL_CHANNELS; channel++)
        marked += p->channels[channel].is_open && p->channels[channel].is_ready;
    return length == marked ? NULL : "a channel is on the main ring twice, or not though it says so";
}

const char *wrong_anywhere(const struct world *world)
{
    for (unsigned node = 0; node < node_count(); node++) {
        const char *wrong = wrong_ring(&world->nics[node]);
        if (wrong)
            return wrong;
    }
    for (unsigned end = 0; end < ENDS; end++) {
        if (end / PEERS >= running->process_count || peer_of(end) >= running->process_count)
            continue;
        const struct protocol_channel *c = channel_at(world, end);
        if (c->credit_slots > running->slots || c->free_slots > running->slots)
            return "more slots are free than there are";
        if (c->credit_units > 2 || c->free_units > 2)
            return "more room is free than there is";
#ifdef PROTOCOL_CACHE
        if (c->sends && c->oldest == c->newest)
            return "a channel without messages has a ring";
        if (!c->sends && (c->oldest != c->newest || c->head != c->newest))
            return "a channel with messages has no ring";
        if (c->credit_slots > 0 && !(receiver_at(world, end)->table_state & (TABLE_LEASED | TABLE_RECALLED)))
            return "there is credit for a table that is not leased";
        if (c->credit_slots > 0 && c->credit_state & (CREDIT_NONE | CREDIT_WANTED))
            return "a sender has credit and no lease";
#endif
    }
    return NULL;
}

/* Two messages of a pair of processes, the receives in the same one. MPI: the earlier message matches first, and the
 * receive posted earlier is matched first. */
static bool is_overtaken(const struct world *world, unsigned earlier, unsigned later)
{
    const struct operation *a = &running->operations[earlier], *b = &running->operations[later];
    if (a->kind != OP_SEND || b->kind != OP_SEND || a->peer != b->peer)
        return false;
    unsigned of_earlier = world->operations[earlier].partner, of_later = world->operations[later].partner;
    return of_later != NOBODY && would_match(earlier, of_later) && (of_earlier == NOBODY || of_earlier > of_later);
}

static const char *wrong_order(const struct world *world)
{
    for (unsigned later = 0; later < OPERATIONS; later++)
        for (unsigned earlier = later - later % OPERATIONS_MAX; earlier < later; earlier++)
            if (world->operations[earlier].status != NOT_POSTED && world->operations[earlier].status != CANCELLED &&
                is_overtaken(world, earlier, later))
                return "a message has overtaken another";
    return NULL;
}

/* Also a receive that was left out though it was posted before the one that got the message. */
static const char *wrong_pair(const struct world *world, unsigned send, unsigned receive)
{
    const struct operation_state *s = &world->operations[send], *r = &world->operations[receive];
    if (s->status == NOT_POSTED || r->status == NOT_POSTED || !would_match(send, receive) || r->status == CANCELLED ||
        is_claim(&running->operations[receive]) || s->status == CANCELLED)
        return NULL;
    if (s->partner == NOBODY && r->partner == NOBODY)
        return "a message and a receive wait for each other";
    if (r->partner == NOBODY && s->partner > receive)
        return "a receive was passed over";
    return NULL;
}

/* By MPI_Mprobe, and not received yet. */
static bool is_held(const struct world *world, unsigned receive)
{
    return receive != NOBODY && is_claim(&running->operations[receive]) &&
           world->operations[receive].status == POSTED && !world->operations[receive].is_withdrawn;
}

static const char *wrong_operation(const struct world *world, unsigned index)
{
    const struct operation *operation = &running->operations[index];
    const struct operation_state *state = &world->operations[index];
    if (state->status == NOT_POSTED)
        return NULL;
    if (is_claim(operation) && state->is_withdrawn && state->status == POSTED)
        return "what was claimed is received and not complete";
    if (operation->kind == OP_RECEIVE) {
        if (state->partner != NOBODY && state->status == POSTED)
            return "a receive was matched and is not complete";
        if (state->is_withdrawn && state->status == POSTED)
            return "a receive was to be cancelled and is not complete";
    }
    if (operation->kind == OP_SEND) {
        bool is_synchronous = operation->flags & SEND_IS_SYNCHRONOUS;
        if (state->is_withdrawn && state->status == POSTED && !is_held(world, state->partner))
            return "a send was to be cancelled and is not complete";
        if (state->partner != NOBODY && state->status == POSTED && !is_held(world, state->partner))
            return "a send was matched and is not complete";
        is_synchronous = is_synchronous && !state->drained; /* The hosts' notes say when that is over. */
        if (is_synchronous && state->status == DONE && state->partner == NOBODY)
            return "a synchronous send is complete and not matched";
        if (is_synchronous && state->status == DONE && state->partner % OPERATIONS_MAX >= state->seen)
            return "a synchronous send was complete before its receive was posted";
    }
    return NULL;
}

#ifdef PROTOCOL_CACHE

/* Of a channel that has none, or gave it back. */
static const char *wrong_table(const struct world *world, unsigned end)
{
    const struct protocol_channel *c = channel_at(world, end), *receiver = receiver_at(world, end);
    if (c->credit_slots > 0 || c->credit_units > 0)
        return "there is credit for a table that is not leased";
    if (receiver->table_state == TABLE_RETURNED && receiver->free_slots == running->slots)
        return "a table is empty and not free";
    return receiver->table_state == TABLE_NONE && receiver->free_slots != running->slots ? "slots are lost" : NULL;
}

#endif

static const char *wrong_resources(const struct world *world, unsigned end)
{
    const struct protocol_channel *c = channel_at(world, end);
    unsigned peer = peer_of(end), other = peer * PEERS + end / PEERS - (end / PEERS > peer);
    const struct protocol_channel *receiver = channel_at(world, other);
    if (c->oldest != c->newest &&
        world->operations[c->sends[c->oldest % PROTOCOL_RING_ENTRIES].request].status != POSTED)
        return "a send is complete and still in the ring";
#ifdef PROTOCOL_CACHE
    if (c->credit_state & (CREDIT_WANTED | CREDIT_RECALLED) || receiver->table_state == TABLE_RECALLED)
        return "a table is wanted for ever";
    if (receiver->table_state != TABLE_LEASED)
        return wrong_table(world, end);
#endif
    if (receiver->owed_slots || receiver->owed_units)
        return "credit is still owed";
    if (receiver->is_unpaid || receiver->unpaid_units)
        return "an eager message was not paid for";
    if (c->credit_slots != receiver->free_slots || c->credit_units != receiver->free_units)
        return "credit is lost, or too much";
    uint32_t slots = 0, units = 0;
    for (unsigned i = 0; i < running->slots; i++)
        if (receiver->slots[i].state != SLOT_FREE) {
            slots++;
            units += receiver->slots[i].state == SLOT_ANNOUNCED ? 0 : receiver->slots[i].bytes;
        }
    if (receiver->free_slots + slots != running->slots || receiver->free_units + units != 2)
        return "slots or room are lost";
    uint32_t known = 0;
    for (unsigned i = receiver->table_first; i < PROTOCOL_TABLE_SLOTS && known <= slots; i = receiver->slots[i].next)
        known++;
    const struct protocol *p = &world->nics[node_of(peer)];
    for (unsigned i = 0; i < PROTOCOL_RECEIVES; i++)
        known += p->receives[i].state == RECEIVE_HELD && p->receives[i].channel == channel_of(other);
    if (known != slots)
        return "a slot is neither in the table nor claimed";
    if (receiver->claimed_first != PROTOCOL_NONE)
        return "a receive claims what never comes";
    return NULL;
}

/* Records of receives and places in lists: as many as receives that wait. */
static const char *wrong_records(const struct world *world)
{
    for (unsigned node = 0; node < node_count(); node++) {
        const struct protocol *p = &world->nics[node];
        unsigned free_receives = 0, waiting = 0, links = 0;
        for (unsigned i = p->free_receive; i != PROTOCOL_NONE && free_receives <= PROTOCOL_RECEIVES;
             i = p->receives[i].next) {
            if (p->receives[i].state != RECEIVE_FREE)
                return "a record that is free has another state";
            free_receives++;
        }
        for (unsigned i = 0; i < OPERATIONS; i++) {
            const struct operation *operation = &running->operations[i];
            if (world->operations[i].status != POSTED || world->operations[i].is_kept ||
                node_of(i / OPERATIONS_MAX) != node)
                continue;
            if (is_claim(operation))
                waiting++;
            if (operation->kind != OP_RECEIVE || node_of(i / OPERATIONS_MAX) != node)
                continue;
            waiting++;
            links += operation->peer == NOBODY ? running->process_count - 1 : 1;
        }
        if (free_receives + waiting != PROTOCOL_RECEIVES || free_receives != p->free_receives)
            return "records of receives are lost";
        if (p->free_links + links != PROTOCOL_LINKS)
            return "places in expected lists are lost";
    }
    return NULL;
}

static const char *wrong_turns(const struct world *world)
{
    unsigned found = 0, first = NOBODY;
    for (unsigned i = 0; i < OPERATIONS_MAX; i++) {
        if (running->operations[i].kind != OP_RECEIVE || running->operations[i].peer != NOBODY)
            continue;
        unsigned source = world->operations[i].partner / OPERATIONS_MAX;
        if (found++ == 0)
            first = source;
        else
            return source == first ? "any source takes the same source twice" : NULL;
    }
    return NULL;
}

const char *wrong_at_end(const struct world *world)
{
    const char *wrong = wrong_order(world);
    for (unsigned i = 0; !wrong && i < OPERATIONS; i++) {
        wrong = wrong_operation(world, i);
        for (unsigned j = 0; !wrong && j < OPERATIONS; j++)
            wrong = wrong_pair(world, i, j);
    }
    for (unsigned end = 0; !wrong && end < ENDS; end++)
        if (end / PEERS < running->process_count && peer_of(end) < running->process_count)
            wrong = wrong_resources(world, end);
    if (!wrong)
        wrong = wrong_records(world);
    if (!wrong && running->takes_turns)
        wrong = wrong_turns(world);
    return wrong;
}
