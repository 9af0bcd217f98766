/* Sends that wait for a send ring, as all are other channels': in one order, so that those of a channel keep theirs. A ring is
 * free when no message is in it. Those that wait for a receive that comes late are pressed: their receivers' hosts take them. */
#include "mcp/channels/image.h"

#include "mcp/mcp.h"

static uint32_t first = NONE,
                last; /* requests, linked by `next`; of a channel no more than its ring would have room for */
static uint32_t looked; /* ring */

bool rings_press;

bool rings_lack(unsigned channel) { return first != NONE || !protocol_has_ring(&protocol, channel); }

bool rings_await(unsigned channel, const struct protocol_send *send)
{
    const struct protocol_channel *c = &protocol.channels[channel];
    uint32_t request = send->request;
    struct transfer *transfer = transfer_of(request);
    if (c->newest - c->oldest + peers[channel].ring_waits == PROTOCOL_RING_ENTRIES)
        return false;
    peers[channel].ring_waits++;
    transfer->awaits_ring = true;
    transfer->granted = (uint32_t)send->tag;
    transfer->done = send->context;
    transfer->told = send->flags;
    transfer->next = NONE;
    if (first == NONE)
        first = request;
    else
        transfer_of(last)->next = request;
    last = request;
    rings_press = true;
    MARK_COUNT(CHASQUI_NP_COUNT_RING_AWAITED);
    return true;
}

static void take_first(void)
{
    uint32_t request = first;
    struct transfer *transfer = transfer_of(request);
    first = transfer->next;
    transfer->awaits_ring = false;
    peers[transfer->channel].ring_waits--;
    struct protocol_send send = {.flags = (uint16_t)transfer->told,
                                 .context = transfer->done,
                                 .tag = (int32_t)transfer->granted,
                                 .bytes = transfer->bytes,
                                 .request = request};
    transfer->granted = transfer->done = transfer->told = 0;
    check(protocol_post_send(&protocol, transfer->channel, &send));
}

void rings_go_on(void)
{
    while (first != NONE && protocol_has_ring(&protocol, transfer_of(first)->channel))
        take_first();
}

bool rings_withdraw(uint32_t request)
{
    struct transfer *transfer = transfer_of(request);
    if (!transfer->awaits_ring)
        return false;
    uint32_t before = NONE;
    for (uint32_t at = first; at != request; at = transfer_of(at)->next)
        before = at;
    if (before == NONE)
        first = transfer->next;
    else
        transfer_of(before)->next = transfer->next;
    if (last == request)
        last = before;
    transfer->awaits_ring = false;
    peers[transfer->channel].ring_waits--;
    /* Its name is free now: `granted`, `done` and `told` are the next request's, which fills all of it (fill_transfer, claim). */
    environment_send_complete(&protocol, transfer->channel, request, PROTOCOL_CANCELLED);
    return true;
}

/* --- messages that hold rings --- */

void rings_look(void) { rings_press = first != NONE; }

/* Its oldest message awaits its receive, and the receiver has not been told. */
static bool is_to_be_pressed(unsigned channel)
{
    const struct protocol_channel *c = &protocol.channels[channel];
    return c->sends[c->oldest % PROTOCOL_RING_ENTRIES].state & (SEND_ANNOUNCED | SEND_UNCOLLECTED) &&
           peers[channel].has_pressed != c->newest;
}

bool rings_put(void)
{
    for (uint32_t i = 0; i < protocol.settings.places; i++) {
        looked = looked + 1 < protocol.settings.places ? looked + 1 : 0;
        unsigned channel = protocol.cache.ring_owners[looked];
        if (channel == PROTOCOL_NONE || !is_to_be_pressed(channel))
            continue;
        peers[channel].has_pressed = protocol.channels[channel].newest;
        out_put(channel, WIRE_PRESS, NONE)->header.message = peers[channel].has_pressed;
        return true;
    }
    rings_press = false;
    return false;
}
