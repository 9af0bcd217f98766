/* Upcalls from the device: what to do with a packet that has come. */
#include "mpi/error.h"
#include "mpi/mark.h"
#include "mpi/point.h"

void chq_deliver(struct request *request, const void *payload, size_t bytes)
{
    if (unlikely(request->type != NULL)) {
        void *packed = NULL;
        if (!payload && bytes > 0) {
            packed = chq_malloc(bytes);
            chq.device->take(packed, bytes);
            payload = packed;
        }
        chq_unpack(payload, bytes, request->buffer, request->count, request->type);
        free(packed);
    } else if (payload) {
        chq_copy(request->buffer, payload, bytes);
    } else if (bytes > 0) {
        chq.device->take(request->buffer, bytes);
    }
    MARK_DELIVER(request);
    request_complete(request);
}

static void send_matched(const struct chasqui_envelope *message)
{
    struct chasqui_envelope reply = {
        .kind = PACKET_MATCHED,
        .context = message->context,
        .source = (uint16_t)chq.rank,
        .destination = message->source,
        .tag = message->tag,
        .sender = message->sender,
    };
    if (message->source == chq.rank)
        request_complete((struct request *)(uintptr_t)message->sender);
    else
        chq_send_control(&reply, NULL, 0);
}

void chq_matched(struct request *request, const struct chasqui_envelope *envelope, const void *payload)
{
    MARK_MATCH(request, envelope);
    request->source = envelope->source;
    request->tag = envelope->tag;
    size_t bytes = envelope->bytes;
    if (unlikely(bytes > request->bytes)) {
        request->error = MPI_ERR_TRUNCATE;
        bytes = request->bytes;
    }
    request->got = bytes;
    if (unlikely(envelope->kind == PACKET_READY_TO_SEND)) {
        chq_rendezvous_accept(request, envelope);
        return;
    }
    chq_deliver(request, payload, bytes);
    /* Last: to oneself, it frees the payload. */
    if (unlikely(envelope->kind == PACKET_SYNCHRONOUS))
        send_matched(envelope);
}

/* The earliest receive in the table that matches, taken out; null: none. */
static struct request *take_filed(uint64_t key)
{
    struct match_node *found = match_find(&chq.posted, key);
    for (int pattern = 1; unlikely(chq.posted_any_wild) && pattern < PATTERNS; pattern++) {
        if (!chq.posted_wild[pattern])
            continue;
        struct match_node *node = match_find(&chq.posted, match_widen(key, pattern));
        if (node && (!found || ((struct request *)node)->stamp < ((struct request *)found)->stamp))
            found = node;
    }
    if (!found)
        return NULL;
    int pattern = match_key_pattern(found->key);
    if (unlikely(pattern)) {
        chq.posted_wild[pattern]--;
        chq.posted_any_wild--;
    }
    match_take_first(&chq.posted, found);
    return (struct request *)found;
}

/* A message that the only posted receive, if there is one, doesn't take. */
static __attribute__((noinline)) void arrived_other(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct request *request = chq.posted.keys ? take_filed(match_envelope_key(envelope)) : NULL;
    if (!request) {
        chq_unexpected_add(envelope, payload, bytes);
        return;
    }
    request->posted = false;
    chq_matched(request, envelope, payload);
}

static __attribute__((noinline)) void arrived_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    switch (envelope->kind) {
    case PACKET_CLEAR_TO_SEND:
        chq_rendezvous_clear(envelope, payload);
        break;
    case PACKET_MATCHED:
        request_complete((struct request *)(uintptr_t)envelope->sender);
        break;
    case PACKET_FINISHED:
        chq_rendezvous_finished(envelope);
        break;
    case PACKET_SEGMENT:
        chq_rendezvous_segment(envelope, payload, bytes);
        break;
    default:
        chq_die("a packet of unknown kind arrived");
    }
}

/* The short path, written out: an eager message for the only posted receive, dense and long enough.
 * It does what chq_matched and chq_deliver do. */
void mpi_arrived(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (unlikely(envelope->kind > PACKET_LAST_MESSAGE)) {
        arrived_control(envelope, payload, bytes);
        return;
    }
    struct request *request = chq.lone;
    if (unlikely(!request || ((request->node.key ^ match_envelope_key(envelope)) & request->mask) != 0)) {
        arrived_other(envelope, payload, bytes);
        return;
    }
    chq.lone = NULL;
    request->posted = false;
    size_t length = envelope->bytes;
    if (unlikely(envelope->kind != PACKET_EAGER || length > request->bytes || request->ends)) {
        chq_matched(request, envelope, payload);
        return;
    }
    MARK_MATCH(request, envelope);
    request->source = envelope->source;
    request->tag = envelope->tag;
    request->got = length;
    if (payload)
        chq_copy(request->buffer, payload, length);
    else if (length > 0)
        chq.device->take(request->buffer, length);
    MARK_DELIVER(request);
    request->complete = true;
}
