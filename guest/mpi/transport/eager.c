/* A transport in front of the process's own, so that programs are found which end only because their messages are buffered:
 * MPI leaves it to the library whether a standard send waits for its receive (MPI 5.0, section 3.4).
 *
 * Short sends, which ask nobody but chq.send, are refused there, and so come to `send_refused`. That has no mode: ready and
 * buffered sends wait likewise, the latter in the program's buffer. Messages of collectives, and segments of long ones, go
 * as ever. Sends that wait are marked twice; the later mark is theirs.
 *
 * Functions have names that no other file has: layout.txt goes by names. */
#include "mpi/transport/eager.h"

#include "chasqui/collectives.h"
#include "mpi/comm/comm.h"
#include "mpi/runtime/text.h"
#include "mpi/transport/transport.h"

static const struct transport *behind;
static bool (*send_behind)(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
static size_t eager_bytes;
static struct transport in_front;

static bool eager_waits(const struct chasqui_envelope *envelope)
{
    return envelope->kind == CHASQUI_PACKET_EAGER && envelope->context % CONTEXTS == CONTEXT_POINT &&
           (envelope->bytes > eager_bytes || eager_bytes == 0);
}

static bool eager_send_short(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    return !eager_waits(envelope) && send_behind(envelope, payload, bytes);
}

static void eager_send(struct request *request, enum send_mode mode)
{
    behind->send(request, eager_waits(&request->envelope) ? MODE_SYNCHRONOUS : mode);
}

static void eager_send_refused(struct request *request)
{
    if (eager_waits(&request->envelope))
        behind->send(request, MODE_SYNCHRONOUS);
    else
        behind->send_refused(request);
}

int chq_eager_set(const char *name, const char *value)
{
    if (!text_equal(name, "eager"))
        return chasqui_collective_force(name, value);
    for (eager_bytes = 0; *value; value++)
        eager_bytes = 10 * eager_bytes + (size_t)(*value - '0');
    behind = chq.transport;
    in_front = *behind;
    in_front.send = eager_send;
    in_front.send_refused = eager_send_refused;
    chq.transport = &in_front;
    send_behind = chq.send;
    chq.send = eager_send_short;
    return 1;
}
