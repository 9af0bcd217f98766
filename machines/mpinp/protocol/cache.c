/* A cache of channels (ours): a NIC has records of all its channels, and fewer send rings, message tables and receive
 * buffers. A ring is a channel's while messages are in it. A table, with its buffer, is leased: only while it is has the
 * channel's sender credit (lease_table.h). The two ways of a channel know nothing of each other here.
 *
 * Which table is taken back: the next one in their circle that is empty and was not used since it was passed last; else one
 * that is empty; else any (second chance, as of pages).
 */
#ifdef PROTOCOL_CACHE
#include "internal.h"

enum lease_event {
    WANT_LEASE,
    SENT,
    LEASE_COMES,
    RECALL_COMES,
    WANT_COMES,
    RETURN_COMES,
    GIVE,
    TAKE_BACK,
    EMPTY,
};

void cache_begin(struct protocol *p)
{
    struct protocol_cache *cache = &p->cache;
    uint32_t places = p->settings.places;
    check(p, places >= 1 && places <= PROTOCOL_PLACES, "places of the cache");
    for (unsigned i = 0; i < p->settings.channels; i++)
        p->channels[i].is_open = false;
    for (unsigned i = 0; i < PROTOCOL_PLACES; i++) {
        cache->owners[i] = PROTOCOL_NONE;
        cache->ring_owners[i] = PROTOCOL_NONE;
    }
    cache->want_first = cache->want_last = PROTOCOL_NONE;
    cache->wanted = cache->recalled = cache->looked = 0;
    cache->free_tables = cache->free_rings = (uint16_t)places;
}

void cache_open(struct protocol_channel *c)
{
    c->credit_slots = c->credit_units = 0;
    c->credit_state = CREDIT_NONE;
    c->table_state = TABLE_NONE;
    c->table = c->want_next = PROTOCOL_NONE;
}

/* --- rings --- */

bool protocol_has_ring(const struct protocol *p, unsigned channel)
{
    return p->channels[channel].sends || p->cache.free_rings > 0;
}

bool take_ring(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    unsigned ring = 0;
    if (t->c->sends)
        return true;
    if (cache->free_rings == 0)
        return false;
    while (cache->ring_owners[ring] != PROTOCOL_NONE)
        ring++;
    cache->ring_owners[ring] = (uint16_t)t->channel;
    cache->free_rings--;
    t->c->sends = cache->rings[ring];
    for (unsigned i = 0; i < PROTOCOL_RING_ENTRIES; i++)
        t->c->sends[i].state = SEND_DONE;
    return true;
}

void look_at_ring(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    if (!t->c->sends || t->c->oldest != t->c->newest || !RULE(ring_given_back))
        return;
    cache->ring_owners[(unsigned)(t->c->sends - cache->rings[0]) / PROTOCOL_RING_ENTRIES] = PROTOCOL_NONE;
    cache->free_rings++;
    t->c->sends = NULL;
    environment_cache(t->p, CACHE_RING_FREE);
}

/* --- the table of rules --- */

static void lease_event(struct turn *t, enum lease_event event);

static bool is_empty(const struct turn *t)
{
    return t->c->free_slots == t->p->settings.table_slots && t->c->free_units == t->p->settings.buffer_units;
}

/* --- at the sender --- */

bool lacks_lease(const struct turn *t) { return t->c->credit_state & (CREDIT_NONE | CREDIT_WANTED); }

static bool is_message_waiting(const struct turn *t)
{
    return t->c->head != t->c->newest && t->c->sends[t->c->head % PROTOCOL_RING_ENTRIES].state == SEND_QUEUED;
}

static void ask_lease(struct turn *t)
{
    environment_cache(t->p, CACHE_MISS);
    transmit_control(t, (struct protocol_header){.kind = WANT});
}

static void give_up_credit(struct turn *t)
{
    if (RULE(credit_given_up))
        t->c->credit_slots = t->c->credit_units = 0;
    transmit_control(t, (struct protocol_header){.kind = RETURN});
}

void want_lease(struct turn *t) { lease_event(t, WANT_LEASE); }

void count_hit(const struct turn *t) { environment_cache(t->p, CACHE_HIT); }

void note_sent(struct turn *t) { lease_event(t, SENT); }

void look_at_lease(struct turn *t)
{
    if (t->c->credit_state == CREDIT_RECALLED && !is_message_waiting(t))
        lease_event(t, SENT);
}

/* --- at the receiver --- */

bool is_leased(const struct turn *t) { return t->c->table_state == TABLE_LEASED || !RULE(leased_alone); }

void note_use(struct turn *t)
{
    check(t->p, t->c->slots, "a message for a table that the channel has not");
    t->c->is_used = true;
}

static void queue_want(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    t->c->is_wanted = false;
    t->c->want_next = PROTOCOL_NONE;
    if (cache->wanted++ == 0)
        cache->want_first = (uint16_t)t->channel;
    else
        t->p->channels[cache->want_last].want_next = (uint16_t)t->channel;
    cache->want_last = (uint16_t)t->channel;
}

static void note_want(struct turn *t) { t->c->is_wanted = true; }

static bool is_wanted_again(const struct turn *t) { return t->c->is_wanted; }

static void take_table(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    unsigned table = 0;
    check(t->p, cache->free_tables > 0, "no table is free");
    while (cache->owners[table] != PROTOCOL_NONE)
        table++;
    cache->owners[table] = (uint16_t)t->channel;
    cache->free_tables--;
    t->c->table = (uint16_t)table;
    t->c->slots = cache->tables[table];
    for (unsigned i = 0; i < PROTOCOL_TABLE_SLOTS; i++)
        t->c->slots[i] = (struct protocol_slot){.state = SLOT_FREE};
}

/* It is empty. */
static void lease(struct turn *t)
{
    t->c->owed_slots = t->c->free_slots;
    t->c->owed_units = t->c->free_units;
    t->c->is_used = true;
    environment_cache(t->p, CACHE_LEASED);
    transmit_control(t, (struct protocol_header){.kind = LEASE});
}

static void recall(struct turn *t)
{
    t->p->cache.recalled++;
    environment_cache(t->p, CACHE_RECALLED);
    transmit_control(t, (struct protocol_header){.kind = RECALL});
}

static void end_recall(struct turn *t)
{
    t->p->cache.recalled--;
    if (!is_empty(t) && RULE(crowded_is_said))
        environment_crowded(t->p, t->channel);
}

static void give_table(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    check(t->p, t->c->slots, "a channel without a table gives it back");
    cache->owners[t->c->table] = PROTOCOL_NONE;
    cache->free_tables++;
    t->c->table = PROTOCOL_NONE;
    t->c->slots = NULL;
    t->c->owed_slots = t->c->owed_units = 0;
}

/* Which table is taken back. False: all are on their way. */
static bool find_table(struct turn *t)
{
    struct protocol_cache *cache = &t->p->cache;
    uint32_t places = t->p->settings.places;
    for (unsigned i = 0; i < 3 * places; i++) {
        cache->looked = cache->looked + 1u < places ? cache->looked + 1u : 0;
        unsigned channel = cache->owners[cache->looked];
        if (channel == PROTOCOL_NONE || t->p->channels[channel].table_state != TABLE_LEASED)
            continue;
        *t = turn_of_channel(t->p, channel);
        if (i >= 2 * places || (is_empty(t) && !t->c->is_used))
            return true;
        t->c->is_used = false;
    }
    return false;
}

/* Tables go to the channels that want one, in their order; where there are too few, others are recalled. */
static void serve_wants(struct protocol *p)
{
    struct protocol_cache *cache = &p->cache;
    while (cache->wanted > 0 && cache->free_tables > 0) {
        struct turn t = turn_of_channel(p, cache->want_first);
        cache->want_first = t.c->want_next;
        cache->wanted--;
        lease_event(&t, GIVE);
    }
    while (cache->recalled < cache->wanted) {
        struct turn t = turn_of_channel(p, 0);
        if (!find_table(&t))
            break;
        lease_event(&t, TAKE_BACK);
    }
}

/* --- the table --- */

static void lease_event(struct turn *t, enum lease_event event)
{
    uint16_t *state = event <= RECALL_COMES ? &t->c->credit_state : &t->c->table_state;
#define ROW(name, event_, states, guard, action_1, action_2, action_3, next)                                         \
    if (event == event_ && *state & (states) && HAS(LEASE_##name, ROW) && (!HAS(LEASE_##name, GUARD) || guard(t))) { \
        if ((next) != SAME && HAS(LEASE_##name, NEXT))                                                               \
            *state = (next);                                                                                         \
        if (HAS(LEASE_##name, ACTION_1))                                                                             \
            action_1(t);                                                                                             \
        if (HAS(LEASE_##name, ACTION_2))                                                                             \
            action_2(t);                                                                                             \
        if (HAS(LEASE_##name, ACTION_3))                                                                             \
            action_3(t);                                                                                             \
        return;                                                                                                      \
    }
#include "lease_table.h"
    environment_fault(t->p, "lease: no rule for this event");
}

void lease_arrived(struct turn *t)
{
    switch (t->header->kind) {
    case LEASE: lease_event(t, LEASE_COMES); return;
    case RECALL: lease_event(t, RECALL_COMES); return;
    case WANT: lease_event(t, WANT_COMES); break;
    default: lease_event(t, RETURN_COMES); break;
    }
    serve_wants(t->p);
}

void look_at_table(struct turn *t)
{
    if (t->c->table_state != TABLE_RETURNED || !is_empty(t))
        return;
    lease_event(t, EMPTY);
    serve_wants(t->p);
}

#endif
