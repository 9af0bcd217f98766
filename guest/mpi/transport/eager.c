/* A transport in front of the process's own, so that programs are found which end only because their messages are buffered:
 * MPI leaves it to the library whether a standard send waits for its receive (MPI 5.0, section 3.4).
 *
 * Short sends, which ask nobody but chq.send, are refused there, and so come to `send_refused`. That has no mode: ready and
 * buffered sends wait likewise, the latter in the program's buffer. Messages of collectives, and segments of long ones, go
 * as ever. Sends that wait are marked twice; the later mark is theirs. */
#include "mpi/transport/eager.h"

#include "mpi/comm/comm.h"
#include "mpi/transport/transport.h"

static const struct transport *behind;
static bool (*send_behind)(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
static size_t eager_bytes;
static struct transport in_front;

static bool waits(const struct chasqui_envelope *envelope)
{
    return envelope->kind == CHASQUI_PACKET_EAGER && envelope->context % CONTEXTS == CONTEXT_POINT &&
           (envelope->bytes > eager_bytes || eager_bytes == 0);
}

static bool send_short(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    return !waits(envelope) && send_behind(envelope, payload, bytes);
}

static void send(struct request *request, enum send_mode mode)
{
    behind->send(request, waits(&request->envelope) ? MODE_SYNCHRONOUS : mode);
}

static void send_refused(struct request *request)
{
    if (waits(&request->envelope))
        behind->send(request, MODE_SYNCHRONOUS);
    else
        behind->send_refused(request);
}

void chq_eager_up_to(size_t longest)
{
    eager_bytes = longest;
    behind = chq.transport;
    in_front = *behind;
    in_front.send = send;
    in_front.send_refused = send_refused;
    chq.transport = &in_front;
    send_behind = chq.send;
    chq.send = send_short;
}
