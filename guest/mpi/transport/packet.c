/* See packet.h. */
#include "mpi/transport/packet.h"

#include "mpi/runtime/error.h"

packet_handler *chq_packet_handlers[CHASQUI_PACKET_KINDS];

void chq_packet_arrived(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    chq_tell();
    unsigned kind = envelope->kind;
    if (unlikely(kind >= CHASQUI_PACKET_KINDS || !chq_packet_handlers[kind]))
        chq_die("a packet of unknown kind arrived");
    chq_packet_handlers[kind](envelope, payload, bytes);
}

void chq_packet_take(void *to, const void *payload, size_t bytes)
{
    if (bytes == 0)
        return;
    if (payload)
        memcpy(to, payload, bytes);
    else
        chq.device->take(to, bytes);
}
