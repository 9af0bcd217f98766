/* What the protocol asks for, but for what is about a body that comes (in.c). */
#include "mcp.h"

void environment_transmit(struct protocol *p, unsigned channel, const struct protocol_header *header,
                          const struct protocol_send *send)
{
    (void)p;
    if (!send) {
        out_control(channel, header);
        return;
    }
    struct wire *wire = out_put(channel, WIRE_PROTOCOL, send->request);
    wire->header = *header;
    struct transfer *transfer = transfer_of(send->request);
    transfer->number = header->message;
    transfer->granted = 1;
    transfer->done = 0;
    transfer->is_dropped = false;
    transfer->is_under_way = true;
    transfer->is_leaving = true;
    wire->body = least(transfer->bytes, PART);
}

void environment_deliver(struct protocol *p, const struct protocol_receive *receive)
{
    struct transfer *transfer = transfer_of(receive->request);
    (void)p;
    transfer->number = receive->number;
    matched(receive, stored[table_of(receive->channel)][receive->slot].sequence);
    host_deliver(receive->request);
}

void environment_claim(struct protocol *p, const struct protocol_receive *receive, unsigned slot)
{
    (void)p;
    matched(receive, slot == PROTOCOL_TABLE_SLOTS ? in_sequence() : stored[table_of(receive->channel)][slot].sequence);
}

void environment_release(struct protocol *p, unsigned channel, unsigned slot)
{
    buffer_give(table_of(channel), stored[table_of(channel)][slot].first, p->channels[channel].slots[slot].bytes);
}

/* So many unclaimed messages of a channel are too many: others that are wanted may wait for their places, here or at the
 * sender, whose ring has fewer. */
static uint32_t crowd(const struct protocol *p)
{
    uint32_t few = least(p->settings.table_slots, PROTOCOL_RING_ENTRIES);
    return few - few / 4;
}

void tell_crowded(unsigned channel)
{
    if (peers[channel].is_crowded)
        return;
    peers[channel].is_crowded = true;
    host_event(protocol.channels[channel].process,
               &(struct chasqui_mpinp_event){.kind = CHASQUI_MPINP_CROWDED, .rank = peers[channel].rank});
}

void environment_unclaimed(struct protocol *p, unsigned channel, unsigned slot)
{
    const struct protocol_channel *c = &p->channels[channel];
    struct process *process = &processes[c->process];
    stored[table_of(channel)][slot].is_synchronous = in_is_synchronous();
    stored[table_of(channel)][slot].sequence = in_sequence();
    if (process->listens)
        host_event(c->process,
                   &(struct chasqui_mpinp_event){.kind = CHASQUI_MPINP_UNCLAIMED, .rank = peers[channel].rank});
    process->has_missed = !process->listens;
    process->listens = false;
    bool is_pressed = (int32_t)(c->slots[slot].message - peers[channel].pressed) < 0;
    if (is_pressed || p->settings.table_slots - c->free_slots >= crowd(p))
        tell_crowded(channel);
}

void environment_send_complete(struct protocol *p, unsigned channel, uint32_t request, enum protocol_result result)
{
    struct transfer *transfer = transfer_of(request);
    (void)p;
    (void)channel;
    transfer->kind = 0;
    host_event(request >> 8, &(struct chasqui_mpinp_event){.kind = CHASQUI_MPINP_SENT,
                                                           .result = (uint8_t)result,
                                                           .name = (uint16_t)(request & 0xff),
                                                           .entry = transfer->is_drained});
}

void environment_receive_complete(struct protocol *p, const struct protocol_receive *receive,
                                  enum protocol_result result)
{
    struct process *process = process_of(receive->request);
    struct transfer *transfer = transfer_of(receive->request);
    (void)p;
    transfer->kind = 0;
    process->receives--;
    process->places -= transfer->places;
    struct chasqui_mpinp_event event = {
        .kind = CHASQUI_MPINP_RECEIVED, .result = (uint8_t)result, .name = (uint16_t)(receive->request & 0xff)};
    if (result != PROTOCOL_CANCELLED) {
        event.rank = peers[receive->channel].rank;
        event.tag = receive->tag;
        event.bytes = receive->bytes;
        event.sequence = transfer->sequence;
    }
    host_event(receive->request >> 8, &event);
    host_tell_early();
}

#ifdef PROTOCOL_CACHE

void environment_crowded(struct protocol *p, unsigned channel)
{
    (void)p;
    tell_crowded(channel);
}

void environment_cache(struct protocol *p, enum protocol_cache_event event)
{
    (void)p;
    if (event != CACHE_RING_FREE)
        MARK_COUNT(CHASQUI_NP_COUNT_CHANNEL_HIT + event);
}
_Static_assert(CHASQUI_NP_COUNT_CHANNEL_HIT + CACHE_MISS == CHASQUI_NP_COUNT_CHANNEL_MISS &&
                   CHASQUI_NP_COUNT_CHANNEL_HIT + CACHE_LEASED == CHASQUI_NP_COUNT_CHANNEL_LEASE &&
                   CHASQUI_NP_COUNT_CHANNEL_HIT + CACHE_RECALLED == CHASQUI_NP_COUNT_CHANNEL_RECALL,
               "what is counted");

#endif

_Noreturn void environment_fault(struct protocol *p, const char *reason)
{
    (void)p;
    (void)reason;
    __builtin_trap();
}
_Static_assert((int)PROTOCOL_COMPLETE == (int)CHASQUI_MPINP_COMPLETE &&
                   (int)PROTOCOL_TRUNCATED == (int)CHASQUI_MPINP_TRUNCATED &&
                   (int)PROTOCOL_CANCELLED == (int)CHASQUI_MPINP_CANCELLED,
               "results");
