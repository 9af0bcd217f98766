/* Matching (section 3.4): the message table and the expected list of a channel, both in order. */
#include "internal.h"

/* --- expected lists --- */

static struct protocol_receive *receive_at(struct turn *t, unsigned link)
{
    return &t->p->receives[t->p->links[link].receive];
}

bool find_expected(struct turn *t)
{
    uint32_t context = t->header->context;
    int32_t tag = t->header->tag;
    for (unsigned link = t->c->expected_first; link != PROTOCOL_NONE; link = t->p->links[link].next) {
        struct protocol_receive *receive = receive_at(t, link);
        if (!matches(receive->context, receive->tag, context, tag))
            continue;
        t->receive = receive;
        t->link = link;
        if (RULE(receives_in_order))
            break;
    }
    return t->receive != NULL;
}

/* Of the receives before t->link none matches. */
bool is_asked_for(struct turn *t)
{
    for (unsigned link = t->link; link != PROTOCOL_NONE; link = t->p->links[link].next) {
        const struct protocol_receive *receive = receive_at(t, link);
        if ((receive->state & (RECEIVE_ASKING | RECEIVE_CANCELLING)) &&
            (!RULE(crossing_by_number) || receive->message == t->header->message) &&
            matches(receive->context, receive->tag, t->header->context, t->header->tag))
            return true;
    }
    return false;
}

bool has_links(const struct protocol *p, unsigned process, unsigned source)
{
    if (source != PROTOCOL_ANY_SOURCE)
        return p->free_links >= 1;
    uint32_t needed = 0;
    unsigned first = p->searched[process], channel = first;
    do {
        needed++;
        channel = p->channels[channel].process_next;
    } while (channel != first);
    return p->free_links >= needed;
}

/* At the end of the list of t's channel. */
static void add_link(struct turn *t)
{
    struct protocol *p = t->p;
    unsigned added = p->free_link;
    check(p, added != PROTOCOL_NONE, "no link is free");
    struct protocol_link *link = &p->links[added];
    p->free_link = link->next;
    p->free_links--;
    link->receive = index_of(t->receive);
    link->channel = (uint16_t)t->channel;
    link->chain = t->receive->link;
    link->next = PROTOCOL_NONE;
    link->previous = t->c->expected_last;
    t->receive->link = (uint16_t)added;
    if (link->previous == PROTOCOL_NONE)
        t->c->expected_first = (uint16_t)added;
    else
        p->links[link->previous].next = (uint16_t)added;
    t->c->expected_last = (uint16_t)added;
}

void link_one(struct turn *t) { add_link(t); }

void link_all(struct turn *t)
{
    unsigned first = t->p->searched[t->receive->process], channel = first;
    do {
        struct turn at = turn_of_channel(t->p, channel);
        at.receive = t->receive;
        add_link(&at);
        channel = at.c->process_next;
    } while (channel != first);
}

static void remove_link(struct protocol *p, unsigned removed)
{
    struct protocol_link *link = &p->links[removed];
    struct protocol_channel *c = &p->channels[link->channel];
    check(p, link->receive != PROTOCOL_NONE, "a link in no list");
    *(link->previous == PROTOCOL_NONE ? &c->expected_first : &p->links[link->previous].next) = link->next;
    *(link->next == PROTOCOL_NONE ? &c->expected_last : &p->links[link->next].previous) = link->previous;
    *link = (struct protocol_link){.next = p->free_link, .receive = PROTOCOL_NONE};
    p->free_link = (uint16_t)removed;
    p->free_links++;
}

void unlink_all(struct turn *t)
{
    unsigned link = t->receive->link;
    while (link != PROTOCOL_NONE) {
        unsigned next = t->p->links[link].chain;
        if (RULE(any_source_chain) || t->p->links[link].channel == t->channel)
            remove_link(t->p, link);
        link = next;
    }
    t->receive->link = PROTOCOL_NONE;
}

/* --- message tables --- */

bool find_unclaimed(struct turn *t, uint32_t context, int32_t tag)
{
    bool is_found = false;
    for (unsigned slot = t->c->table_first; slot < PROTOCOL_TABLE_SLOTS; slot = t->c->slots[slot].next) {
        if (!matches(context, tag, t->c->slots[slot].context, t->c->slots[slot].tag))
            continue;
        t->slot = slot;
        is_found = true;
        if (RULE(envelopes_in_order))
            break;
    }
    return is_found;
}

bool find_number(struct turn *t)
{
    t->slot = t->c->table_first;
    while (t->slot < PROTOCOL_TABLE_SLOTS && t->c->slots[t->slot].message != t->header->message)
        t->slot = t->c->slots[t->slot].next;
    return t->slot < PROTOCOL_TABLE_SLOTS;
}

bool search_unclaimed(struct turn *t, unsigned process, unsigned source, uint32_t context, int32_t tag)
{
    if (source != PROTOCOL_ANY_SOURCE) {
        t->channel = source;
        t->c = &t->p->channels[source];
        return find_unclaimed(t, context, tag);
    }
    if (!RULE(any_source_search))
        return false;
    unsigned last = t->p->searched[process];
    t->channel = last;
    do {
        t->channel = t->p->channels[t->channel].process_next;
        t->c = &t->p->channels[t->channel];
        if (find_unclaimed(t, context, tag))
            return true;
    } while (t->channel != last);
    return false;
}

void keep_slot(struct turn *t, enum slot_state state)
{
    unsigned slot = 0;
    while (slot < PROTOCOL_TABLE_SLOTS && t->c->slots[slot].state != SLOT_FREE)
        slot++;
    check(t->p, slot < t->p->settings.table_slots, "no slot is free");
    uint8_t *end = &t->c->table_first;
    while (*end < PROTOCOL_TABLE_SLOTS)
        end = &t->c->slots[*end].next;
    *end = (uint8_t)slot;
    const struct protocol_header *header = t->header;
    t->c->slots[slot] = (struct protocol_slot){.state = (uint8_t)state,
                                               .next = PROTOCOL_TABLE_SLOTS,
                                               .message = header->message,
                                               .context = header->context,
                                               .tag = header->tag,
                                               .bytes = header->bytes};
    t->slot = slot;
}

void unlink_slot(struct turn *t)
{
    uint8_t *place = &t->c->table_first;
    while (*place != t->slot) {
        check(t->p, *place < PROTOCOL_TABLE_SLOTS, "a slot in no list");
        place = &t->c->slots[*place].next;
    }
    *place = t->c->slots[t->slot].next;
    t->c->slots[t->slot].next = PROTOCOL_TABLE_SLOTS;
}
