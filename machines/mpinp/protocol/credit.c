/* Credit (section 3.2): slots of the message table and units of the receive buffer that the sender may use. It comes
 * back with every header that the receiver sends, and an ACK goes for each message that held some.
 */
#include "internal.h"

static uint32_t units_needed(const struct turn *t) { return units_of(t->p, t->send->bytes); }

bool has_credit(const struct turn *t)
{
    return (!RULE(credit_slots) || t->c->credit_slots >= 1) &&
           (!RULE(credit_units) || t->c->credit_units >= units_needed(t));
}

bool has_slot(const struct turn *t) { return t->c->credit_slots >= 1; }

void pay_slot(struct turn *t)
{
    check(t->p, t->c->credit_slots >= 1, "no slot to pay with");
    t->c->credit_slots--;
}

void pay(struct turn *t)
{
    check(t->p, t->c->credit_units >= units_needed(t), "no room to pay with");
    t->c->credit_units -= units_needed(t);
    pay_slot(t);
}

void enter_credit(struct turn *t)
{
    if (t->header->credit_slots == 0 && t->header->credit_units == 0)
        return;
    t->c->credit_slots += t->header->credit_slots;
    t->c->credit_units += t->header->credit_units;
    check(t->p, t->c->credit_slots <= t->p->settings.table_slots, "more slots than there are");
    check(t->p, t->c->credit_units <= t->p->settings.buffer_units, "more room than there is");
    if (RULE(credit_wakes))
        make_ready(t);
}

/* --- the receive side --- */

/* For an eager message that was not paid for. */
bool has_room(const struct turn *t)
{
    return is_leased(t) && t->c->free_slots >= 1 && t->c->free_units >= units_of(t->p, t->header->bytes);
}

void take_room(struct turn *t, bool units)
{
    uint32_t taken = units ? units_of(t->p, t->header->bytes) : 0;
    check(t->p, t->c->free_slots >= 1 && t->c->free_units >= taken, "a message without room");
    t->c->free_slots--;
    t->c->free_units -= taken;
    note_use(t);
}

void owe_slot(struct turn *t) { t->c->owed_slots++; }

void transmit_control(struct turn *t, struct protocol_header header)
{
    if (RULE(credit_returned) && is_leased(t)) {
        header.credit_slots = (uint16_t)t->c->owed_slots;
        header.credit_units = t->c->owed_units;
        t->c->owed_slots = 0;
        t->c->owed_units = 0;
    }
    environment_transmit(t->p, t->channel, &header, NULL);
}

/* --- headers that wait --- */

void protocol_kept(struct protocol *p, unsigned channel, struct protocol_header *header)
{
    struct turn t = turn_of_channel(p, channel);
    t.header = header;
#ifdef PROTOCOL_CACHE
    if (!RULE(kept_credit))
        return;
#endif
    enter_credit(&t);
    header->credit_slots = 0;
    header->credit_units = 0;
}

static bool says_stored(const struct protocol_header *header)
{
    return header->kind == ACK && header->flags & FLAG_STORED;
}

void protocol_put_off(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    struct turn t = turn_of_channel(p, channel);
#ifdef PROTOCOL_CACHE
    if (header->kind == LEASE && RULE(lease_off_alone)) {
        t.c->is_lease_off = true;
        return;
    }
    if (header->kind == RECALL)
        t.c->is_recall_off = true;
#endif
    if (says_stored(header)) {
        t.header = header;
        check(p, find_number(&t), "an eager message is stored in no slot");
        t.c->is_unpaid = true;
        t.c->unpaid_units = units_of(p, t.c->slots[t.slot].bytes);
    }
    if (!RULE(put_off_is_owed))
        return;
    t.c->owed_slots += header->credit_slots;
    t.c->owed_units += header->credit_units;
}

/* Whether the sender may have credit with a header that goes now, or for LEASE its own. */
static bool goes_with_credit(struct protocol *p, struct protocol_channel *c, struct protocol_header *header)
{
#ifdef PROTOCOL_CACHE
    /* That of an empty table, and with LEASE alone: with a header that was put off before it, the sender would have credit and
     * no table. */
    if (header->kind == LEASE && c->is_lease_off) {
        c->is_lease_off = false;
        header->credit_slots = (uint16_t)p->settings.table_slots;
        header->credit_units = p->settings.buffer_units;
        return false;
    }
    /* What goes before RECALL arrives before it: the sender may need the credit, to pay for an eager message. */
    bool is_before_recall = c->is_recall_off && header->kind != RECALL && RULE(pays_before_recall);
    if (header->kind == RECALL)
        c->is_recall_off = false;
    return !c->is_lease_off && (c->table_state == TABLE_LEASED || is_before_recall || !RULE(recall_ends_credit));
#else
    (void)p;
    (void)c;
    (void)header;
    return true;
#endif
}

/* Of `owed`, which goes. An eager message that was stored is `unpaid` until its sender has the ACK. All that the sender has, that
 * is on its way, `owed` and `taken` are then more than there is by what is unpaid. As long as the message lies in the buffer,
 * that is no credit. When it has been received it would be, twice: before the ACK the sender would have more than there is. That
 * part goes behind the ACK, with the one that says that the message was received. */
static uint32_t owed_now(uint32_t owed, uint32_t taken, uint32_t unpaid)
{
    return unpaid > taken && RULE(pays_before_credit) ? owed - (unpaid - taken) : owed;
}

void protocol_goes(struct protocol *p, unsigned channel, struct protocol_header *header)
{
    struct protocol_channel *c = &p->channels[channel];
    if (!goes_with_credit(p, c, header))
        return;
    uint32_t slots = owed_now(c->owed_slots, p->settings.table_slots - c->free_slots, c->is_unpaid),
             units = owed_now(c->owed_units, p->settings.buffer_units - c->free_units, c->unpaid_units);
    header->credit_slots = (uint16_t)slots;
    header->credit_units = units;
    c->owed_slots -= slots;
    c->owed_units -= units;
    if (says_stored(header)) {
        c->is_unpaid = false;
        c->unpaid_units = 0;
    }
}
