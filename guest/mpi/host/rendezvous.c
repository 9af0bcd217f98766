/* Messages longer than the device's eager limit: the sender announces the message, the receiver
 * answers when its receive is there and says where the data goes, the data follows by `put` or, on
 * devices without it, in segments. Segments of one message arrive in the order they were sent
 * (device.h), so they need no offset. */
#include "mpi/host/host.h"
#include "mpi/transport/packet.h"

/* The sender's side, from the receiver's answer on. */
struct transfer {
    struct blocked blocked;
    struct request *request;
    char *from;
    size_t left;
    uint64_t address; /* Where `put` shall write. */
    struct chasqui_envelope envelope;
};
static struct pool transfers = {NULL, sizeof(struct transfer), 16};

/* Within one process: one copy, from buffer to buffer. */
static void accept_own(struct request *request, struct request *sender)
{
    chq_deliver(request, sender->buffer, request->got);
    chq_tell(); /* Another thread may wait for it. */
    request_complete(sender);
}

void chq_rendezvous_accept(struct request *request, const struct chasqui_envelope *message)
{
    if (message->source == chq.rank) {
        accept_own(request, (struct request *)(uintptr_t)message->sender);
        return;
    }
    size_t bytes = request->got;
    void *landing = request->buffer;
    if (request->type && bytes > 0) {
        request->packed = chq_malloc(bytes);
        request->ends = true;
        landing = request->packed;
    }
    request->from = landing;
    request->left = bytes;
    struct chasqui_envelope clear = {
        .kind = CHASQUI_PACKET_CLEAR_TO_SEND,
        .context = message->context,
        .source = (uint16_t)chq.rank,
        .destination = message->source,
        .tag = message->tag,
        .bytes = bytes,
        .sender = message->sender,
        .receiver = (uintptr_t)request,
    };
    uint64_t address = bytes > 0 && chq.device->expose ? chq.device->expose(landing, bytes) : (uintptr_t)landing;
    chq_send_control(&clear, &address, chq.device->put ? sizeof address : 0);
    if (bytes == 0)
        chq_deliver(request, landing, 0);
}

/* The data is in `packed`, or in the program's buffer already. */
static void arrived_whole(struct request *request)
{
    if (request->type)
        chq_unpack(request->packed, request->got, request->buffer, request->count, request->type);
    MARK_DELIVER(request);
    request_complete(request);
}

static void segment(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    struct request *request = (struct request *)(uintptr_t)envelope->receiver;
    chq_packet_take(request->from, payload, bytes);
    request->from += bytes;
    request->left -= bytes;
    if (request->left == 0)
        arrived_whole(request);
}

static void finished(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)payload, (void)bytes;
    struct request *request = (struct request *)(uintptr_t)envelope->receiver;
    if (chq.device->conceal)
        chq.device->conceal(request->from, request->left);
    arrived_whole(request);
}

void mpi_put_done(uint64_t sender)
{
    chq_tell();
    request_complete((struct request *)(uintptr_t)sender);
}

/* Upcalls out of chq.send or a put may complete the request, so the transfer is an object of its own. */
static bool transfer_step(struct blocked *blocked)
{
    struct transfer *transfer = (struct transfer *)blocked;
    struct chasqui_envelope *envelope = &transfer->envelope;
    if (chq.device->put)
        return chq.device->put(envelope, transfer->from, transfer->address, transfer->left);
    while (transfer->left > 0) {
        size_t bytes = transfer->left < chq.eager_bytes_max ? transfer->left : chq.eager_bytes_max;
        envelope->bytes = bytes;
        if (!chq.send(envelope, transfer->from, bytes))
            return false;
        transfer->from += bytes;
        transfer->left -= bytes;
    }
    return true;
}

static void transfer_gone(struct blocked *blocked)
{
    struct transfer *transfer = (struct transfer *)blocked;
    chq_tell();
    if (!chq.device->put)
        request_complete(transfer->request);
    pool_give(&transfers, transfer);
}

static void clear_to_send(const struct chasqui_envelope *clear, const void *payload, size_t bytes)
{
    struct request *request = (struct request *)(uintptr_t)clear->sender;
    uint64_t address = 0;
    if (bytes > 0)
        chq_packet_take(&address, payload, sizeof address);
    if (clear->bytes == 0) {
        request_complete(request);
        return;
    }
    struct transfer *transfer = pool_take(&transfers);
    transfer->request = request;
    transfer->from = request->buffer;
    transfer->left = clear->bytes;
    transfer->address = address;
    transfer->envelope = request->envelope;
    transfer->envelope.kind = chq.device->put ? CHASQUI_PACKET_FINISHED : CHASQUI_PACKET_SEGMENT;
    transfer->envelope.bytes = clear->bytes;
    transfer->envelope.receiver = clear->receiver;
    transfer->blocked.step = transfer_step;
    transfer->blocked.gone = transfer_gone;
    chq_block(&transfer->blocked);
}

void chq_rendezvous_init(void)
{
    chq_pool_refill(&transfers);
    chq_packet_register(CHASQUI_PACKET_CLEAR_TO_SEND, clear_to_send);
    chq_packet_register(CHASQUI_PACKET_SEGMENT, segment);
    chq_packet_register(CHASQUI_PACKET_FINISHED, finished);
}
