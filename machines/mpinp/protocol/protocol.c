/* Beginning, and what arrives. */
#include "internal.h"

void protocol_begin(struct protocol *p, const struct protocol_settings *settings)
{
    check(p, settings->table_slots >= 1 && settings->table_slots <= PROTOCOL_TABLE_SLOTS, "slots of the message table");
    p->settings = *settings;
    p->unit_shift = 0;
    while (p->unit_shift < 31 && UINT32_C(1) << p->unit_shift < settings->unit_bytes)
        p->unit_shift++;
    check(p, UINT32_C(1) << p->unit_shift == settings->unit_bytes, "units of the receive buffer");
    p->ready_first = p->ready_last = PROTOCOL_NONE;
    p->free_receive = p->free_link = 0;
    p->free_links = PROTOCOL_LINKS;
    p->free_receives = PROTOCOL_RECEIVES;
    for (unsigned i = 0; i < PROTOCOL_PROCESSES; i++)
        p->searched[i] = PROTOCOL_NONE;
#ifdef PROTOCOL_CACHE
    cache_begin(p);
#else
    for (unsigned i = 0; i < PROTOCOL_CHANNELS; i++)
        p->channels[i].is_open = false;
#endif
    for (unsigned i = 0; i < PROTOCOL_RECEIVES; i++)
        p->receives[i] = (struct protocol_receive){
            .state = RECEIVE_FREE, .next = (uint16_t)(i + 1 < PROTOCOL_RECEIVES ? i + 1 : PROTOCOL_NONE), .number = i};
    for (unsigned i = 0; i < PROTOCOL_LINKS; i++)
        p->links[i] = (struct protocol_link){.receive = PROTOCOL_NONE,
                                             .next = (uint16_t)(i + 1 < PROTOCOL_LINKS ? i + 1 : PROTOCOL_NONE)};
}

void protocol_open(struct protocol *p, unsigned channel, unsigned process)
{
    struct protocol_channel *c = &p->channels[channel];
    *c = (struct protocol_channel){.process = (uint16_t)process,
                                   .process_next = (uint16_t)channel,
                                   .ready_next = PROTOCOL_NONE,
                                   .is_open = true,
                                   .credit_slots = p->settings.table_slots,
                                   .credit_units = p->settings.buffer_units,
                                   .free_slots = p->settings.table_slots,
                                   .free_units = p->settings.buffer_units,
                                   .expected_first = PROTOCOL_NONE,
                                   .expected_last = PROTOCOL_NONE,
                                   .claimed_first = PROTOCOL_NONE,
                                   .table_first = PROTOCOL_TABLE_SLOTS};
#ifdef PROTOCOL_CACHE
    cache_open(c);
#else
    for (unsigned i = 0; i < PROTOCOL_RING_ENTRIES; i++)
        c->sends[i].state = SEND_DONE;
#endif
    unsigned first = p->searched[process];
    if (first != PROTOCOL_NONE) {
        c->process_next = p->channels[first].process_next;
        p->channels[first].process_next = (uint16_t)channel;
    }
    p->searched[process] = (uint16_t)channel;
}

void protocol_arrived(struct protocol *p, unsigned channel, const struct protocol_header *header)
{
    check(p, channel < PROTOCOL_CHANNELS && p->channels[channel].is_open, "no such channel");
    struct turn t = turn_of_channel(p, channel);
    t.header = header;
    enter_credit(&t);
    switch (header->kind) {
    case SEND_REQ:
    case ACK:
    case NACK:
    case RETRACTED: send_side_arrived(&t); break;
    case MESSAGE_ON_CREDIT:
    case MESSAGE_EAGER:
    case MESSAGE_ASKED:
    case RECV_REQ:
    case NACK_REQUEST:
    case RETRACT: receive_side_arrived(&t); break;
#ifdef PROTOCOL_CACHE
    case WANT:
    case LEASE:
    case RECALL:
    case RETURN: lease_arrived(&t); break;
#endif
    default: environment_fault(p, "no such kind of header");
    }
    look_at_table(&t);
}
