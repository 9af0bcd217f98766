/* Upcalls from the device: what to do with a packet that has come. */
#include "mpi/host/host.h"
#include "mpi/transport/packet.h"

static void send_matched(const struct chasqui_envelope *message)
{
    struct chasqui_envelope reply = {
        .kind = CHASQUI_PACKET_MATCHED,
        .context = message->context,
        .source = (uint16_t)chq.rank,
        .destination = message->source,
        .tag = message->tag,
        .sender = message->sender,
    };
    if (message->source == chq.rank) {
        chq_tell(); /* Another thread may wait for it. */
        request_complete((struct request *)(uintptr_t)message->sender);
    } else {
        chq_send_control(&reply, NULL, 0);
    }
}

void chq_matched(struct request *request, const struct chasqui_envelope *envelope, const void *payload)
{
    transport_matched(request, envelope);
    if (unlikely(envelope->kind == CHASQUI_PACKET_READY_TO_SEND)) {
        chq_rendezvous_accept(request, envelope);
        return;
    }
    chq_deliver(request, payload, request->got);
    /* Last: to oneself, it frees the payload. */
    if (unlikely(envelope->kind == CHASQUI_PACKET_SYNCHRONOUS))
        send_matched(envelope);
}

/* The earliest receive in the table that matches; null: none. */
static struct match_node *find_filed(uint64_t key)
{
    if (!chq.posted.keys)
        return NULL;
    struct match_node *found = match_find(&chq.posted, key);
    for (int pattern = 1; unlikely(chq.posted_any_wild) && pattern < PATTERNS; pattern++) {
        if (!chq.posted_wild[pattern])
            continue;
        struct match_node *node = match_find(&chq.posted, match_widen(key, pattern));
        if (node && (!found || ((struct request *)node)->stamp < ((struct request *)found)->stamp))
            found = node;
    }
    return found;
}

/* Takes what find_filed has found out of the table. */
static struct request *take_filed(struct match_node *found)
{
    int pattern = match_key_pattern(found->key);
    if (unlikely(pattern)) {
        chq.posted_wild[pattern]--;
        chq.posted_any_wild--;
    }
    match_take_first(&chq.posted, found);
    struct request *request = (struct request *)found;
    request->posted = false;
    return request;
}

/* A message that the only posted receive, if there is one, doesn't take. */
static __attribute__((noinline)) void arrived_other(const struct chasqui_envelope *envelope, const void *payload,
                                                    size_t bytes)
{
    chq_tell();
    struct match_node *found = find_filed(match_envelope_key(envelope));
    if (found)
        chq_matched(take_filed(found), envelope, payload);
    else
        chq_unexpected_add(envelope, payload, bytes);
}

/* Notifies the sender of a synchronous message that it has met its receive. */
static void sender_matched(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)payload, (void)bytes;
    request_complete((struct request *)(uintptr_t)envelope->sender);
}

void chq_arrive_init(void) { chq_packet_register(CHASQUI_PACKET_MATCHED, sender_matched); }

/* Whether the only posted receive, if there is one, takes a message. */
static inline bool is_lones(const struct request *lone, const struct chasqui_envelope *envelope)
{
    return lone && ((lone->node.key ^ match_envelope_key(envelope)) & lone->mask) == 0;
}

static inline void matched(struct request *request, const struct chasqui_envelope *envelope)
{
    MARK_MATCH(request, envelope);
    request->source = envelope->source;
    request->tag = envelope->tag;
    request->got = envelope->bytes;
}

/* The short path, written out: an eager message for the only posted receive, dense and long enough.
 * It does what chq_matched and chq_deliver do. */
void mpi_arrived(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (unlikely(envelope->kind > CHASQUI_PACKET_LAST_MESSAGE)) {
        chq_packet_arrived(envelope, payload, bytes);
        return;
    }
    struct request *request = chq.lone;
    if (unlikely(!is_lones(request, envelope))) {
        arrived_other(envelope, payload, bytes);
        return;
    }
    chq.lone = NULL;
    request->posted = false;
    size_t length = envelope->bytes;
    if (unlikely(envelope->kind != CHASQUI_PACKET_EAGER || length > request->bytes || request->ends)) {
        chq_matched(request, envelope, payload);
        return;
    }
    matched(request, envelope);
    if (payload)
        chq_copy(request->buffer, payload, length);
    else if (length > 0)
        chq.device->take(request->buffer, length);
    MARK_DELIVER(request);
    request->complete = true;
}

struct request *mpi_begins(const struct chasqui_envelope *envelope, void **to)
{
    if (envelope->kind != CHASQUI_PACKET_EAGER)
        return NULL; /* its sender must be notified when it is matched */
    struct request *lone = chq.lone;
    struct match_node *found = is_lones(lone, envelope) ? &lone->node : find_filed(match_envelope_key(envelope));
    struct request *request = (struct request *)found;
    /* Data to be cut off or unpacked wait until they are complete. */
    if (!request || envelope->bytes > request->bytes || request->type)
        return NULL;
    if (request == lone) {
        chq.lone = NULL;
        request->posted = false;
    } else {
        take_filed(found);
    }
    matched(request, envelope);
    *to = request->buffer;
    return request;
}

void mpi_placed(struct request *request)
{
    chq_tell();
    MARK_DELIVER(request);
    request_complete(request);
}
