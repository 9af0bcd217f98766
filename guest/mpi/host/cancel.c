/* Taking requests back (MPI 5.0, section 3.8.4). A receive is taken back when it has no message yet. A send is
 * taken back when its message has met no receive: the sender asks, and the receiver, which alone
 * knows, throws the message away and says so. A message that has met its receive is on its way to
 * completion and needs no answer. So a wait ends whatever the other program does later, as the
 * standard wants. Sends that end when their data has left have nothing to take back. */
#include "mpi/host/host.h"
#include "mpi/transport/packet.h"

/* Throws the message of `sender` in process `source` away. False: it has met its receive. */
static bool withdraw(uint64_t sender, uint32_t source)
{
    struct unexpected *message = chq.unexpected_first;
    while (message && (message->message.envelope.sender != sender || message->message.envelope.source != source))
        message = message->next;
    if (!message)
        return false;
    chq_unexpected_remove(message);
    chq_unexpected_free(message);
    return true;
}

static void send_about(uint8_t kind, uint32_t destination, uint64_t sender)
{
    struct chasqui_envelope envelope = {
        .kind = (uint8_t)kind,
        .source = (uint16_t)chq.rank,
        .destination = (uint16_t)destination,
        .sender = sender,
    };
    chq_send_control(&envelope, NULL, 0);
}

static void cancel_receive(struct request *request)
{
    if (!request->posted || !chq_unexpect(request))
        return; /* It has its message. */
    chq_receive_unpost(request);
    chq_cancelled(request);
}

/* Goes the way of the message, so it comes after it and before any other of a request of this name. */
static void cancel_send(struct request *request)
{
    uint64_t sender = request->envelope.sender;
    if (!sender)
        return; /* There is no answer: it ends when its data have left. */
    if (request->envelope.destination != chq.rank)
        send_about(CHASQUI_PACKET_CANCEL, request->envelope.destination, sender);
    else if (withdraw(sender, chq.rank))
        chq_cancelled(request);
}

void chq_cancel(struct request *request)
{
    if (request->kind == REQUEST_RECEIVE)
        cancel_receive(request);
    else
        cancel_send(request);
}

/* The other side cancels its message. */
static void asked(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)payload, (void)bytes;
    if (withdraw(envelope->sender, envelope->source))
        send_about(CHASQUI_PACKET_CANCELLED, envelope->source, envelope->sender);
}

/* It gave ours back. */
static void done(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    (void)payload, (void)bytes;
    chq_cancelled((struct request *)(uintptr_t)envelope->sender);
}

void chq_cancel_init(void)
{
    chq_packet_register(CHASQUI_PACKET_CANCEL, asked);
    chq_packet_register(CHASQUI_PACKET_CANCELLED, done);
}
