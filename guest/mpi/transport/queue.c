/* Packets for which the device had no room: kept in order for each destination and tried again
 * whenever the library looks at the network. A destination that is full holds up no other. */
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/thread.h"

struct pending {
    struct pending *next;
    struct chasqui_envelope envelope;
    const void *payload;
    size_t bytes;
    struct request *request; /* Completed when the payload is gone; null: none. */
    uint64_t copy;           /* Payload of a packet of the library. */
};

struct send_queue {
    struct pending *first, *last;
    struct send_queue *next; /* In chq.blocked_queues. */
};

static struct pool pendings = {NULL, sizeof(struct pending), 32};

bool chq_queue_is_blocked(uint32_t destination)
{
    return chq.blocked_queues && chq.queues[destination].first;
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
        queue->next = NULL;
        /* At the end: chq_retry may be under way and hold a link into this list. */
        struct send_queue **link = &chq.blocked_queues;
        while (*link)
            link = &(*link)->next;
        *link = queue;
    }
    queue->last = pending;
    return pending;
}

bool chq_send_in_order(const struct chasqui_envelope *envelope, const void *payload, size_t bytes,
                       struct request *request)
{
    if (likely(!chq_queue_is_blocked(envelope->destination)) && chq.send(envelope, payload, bytes))
        return true;
    enqueue(envelope, payload, bytes, request);
    return false;
}

void chq_send_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    if (likely(!chq_queue_is_blocked(envelope->destination)) && chq.send(envelope, payload, bytes))
        return;
    struct pending *pending = enqueue(envelope, payload, bytes, NULL);
    if (bytes) {
        memcpy(&pending->copy, payload, bytes);
        pending->payload = &pending->copy;
    }
}

/* An upcall out of chq.send may append to this queue and to the list of queues, nothing else; so
 * the first packet is the same after the call. */
static void retry_queue(struct send_queue *queue)
{
    struct pending *pending;
    while ((pending = queue->first) && chq.send(&pending->envelope, pending->payload, pending->bytes)) {
        queue->first = pending->next;
        struct request *request = pending->request;
        chq_tell(); /* MPI_Finalize waits for packets without a request, too. */
        /* A synchronous message is complete when CHASQUI_PACKET_MATCHED comes. */
        if (request && pending->envelope.kind == CHASQUI_PACKET_EAGER)
            request_complete(request);
        pool_give(&pendings, pending);
    }
}

void chq_retry(void)
{
    struct send_queue **link = &chq.blocked_queues;
    struct send_queue *queue;
    while ((queue = *link)) {
        retry_queue(queue);
        if (queue->first)
            link = &queue->next;
        else
            *link = queue->next;
    }
    chq_transfers_retry();
}
