/* Packets for which the device had no room: kept in order for each destination and tried again
 * whenever the library looks at the network. A destination that is full holds up no other. */
#include "mpi/transport/packet.h"

struct pending {
    struct pending *next;
    struct chasqui_envelope envelope;
    const void *payload;
    size_t bytes;
    struct request *request; /* Completed when the payload is gone; null: none. */
    uint64_t copy;           /* Payload of a packet of the library. */
};

struct send_queue {
    struct blocked blocked;
    struct pending *first, *last;
};

static struct pool pendings = {NULL, sizeof(struct pending), 32};

static inline bool is_blocked(uint32_t destination)
{
    return unlikely(chq.queues != NULL) && chq.queues[destination].first;
}

/* An upcall out of `send` may append to this queue, nothing else; so the first packet is the same after the call. */
static bool send_waiting(struct blocked *blocked)
{
    struct send_queue *queue = (struct send_queue *)blocked;
    struct pending *pending;
    while ((pending = queue->first) && chq.device->send(&pending->envelope, pending->payload, pending->bytes)) {
        queue->first = pending->next;
        chq_tell(); /* MPI_Finalize waits for packets without a request, too. */
        if (pending->request)
            request_complete(pending->request);
        pool_give(&pendings, pending);
    }
    return !queue->first;
}

static struct pending *enqueue(const struct chasqui_envelope *envelope, const void *payload, size_t bytes,
                               struct request *request)
{
    if (!chq.queues) {
        size_t table = chq.size * sizeof *chq.queues;
        chq.queues = chq_malloc(table);
        memset(chq.queues, 0, table);
    }
    struct pending *pending = pool_take(&pendings);
    pending->next = NULL;
    pending->envelope = *envelope;
    pending->payload = payload;
    pending->bytes = bytes;
    pending->request = request;
    struct send_queue *queue = &chq.queues[envelope->destination];
    if (queue->first) {
        queue->last->next = pending;
    } else {
        queue->first = pending;
        queue->blocked.step = send_waiting;
        chq_block(&queue->blocked);
    }
    queue->last = pending;
    return pending;
}

bool chq_send_in_order(const struct chasqui_envelope *envelope, const void *payload, size_t bytes,
                       struct request *request)
{
    if (!is_blocked(envelope->destination) && chq.device->send(envelope, payload, bytes))
        return true;
    enqueue(envelope, payload, bytes, request);
    return false;
}

void chq_send_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (!is_blocked(envelope->destination) && chq.device->send(envelope, payload, bytes))
        return;
    struct pending *pending = enqueue(envelope, payload, bytes, NULL);
    if (bytes) {
        memcpy(&pending->copy, payload, bytes);
        pending->payload = &pending->copy;
    }
}
