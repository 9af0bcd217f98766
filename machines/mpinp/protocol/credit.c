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
    enter_credit(&t);
    header->credit_slots = 0;
    header->credit_units = 0;
}

/* LEASE's credit is that of an empty table, and goes with it alone: with a header that was put off before it, its sender would
 * have credit and no table. */
void protocol_put_off(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    struct protocol_channel *c = &p->channels[channel];
#ifdef PROTOCOL_CACHE
    if (header->kind == LEASE) {
        c->is_lease_off = true;
        return;
    }
#endif
    c->owed_slots += header->credit_slots;
    c->owed_units += header->credit_units;
}

void protocol_goes(struct protocol *p, unsigned channel, struct protocol_header *header)
{
    struct protocol_channel *c = &p->channels[channel];
#ifdef PROTOCOL_CACHE
    if (header->kind == LEASE) {
        c->is_lease_off = false;
        header->credit_slots = (uint16_t)p->settings.table_slots;
        header->credit_units = p->settings.buffer_units;
        return;
    }
    if (c->is_lease_off || c->table_state != TABLE_LEASED)
        return;
#endif
    header->credit_slots = (uint16_t)c->owed_slots;
    header->credit_units = c->owed_units;
    c->owed_slots = c->owed_units = 0;
}
