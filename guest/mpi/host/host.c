/* Host matching as a transport. */
#include "mpi/host/host.h"
#include "mpi/transport/packet.h"

static void init(void)
{
    chq.send = chq.device->send;
    chq.eager_bytes_max = chq.device->eager_bytes_max;
    chq_set_network(chq.device->poll);
    chq_post_init();
    chq_unexpected_init();
    chq_arrive_init();
    chq_rendezvous_init();
    chq_cancel_init();
}

/* A message to this very process never sees the device. */
static void send_to_self(struct request *request)
{
    struct chasqui_envelope *envelope = &request->envelope;
    MARK_READY(envelope);
    bool waits = envelope->kind != CHASQUI_PACKET_EAGER;
    mpi_arrived(envelope, request->buffer, envelope->kind == CHASQUI_PACKET_READY_TO_SEND ? 0 : envelope->bytes);
    if (!waits)
        request_complete(request);
}

/* An eager message whose envelope is marked. */
static void send_refused(struct request *request)
{
    if (chq_send_in_order(&request->envelope, request->buffer, request->bytes, request))
        request_complete(request);
}

static void send(struct request *request, enum send_mode mode)
{
    struct chasqui_envelope *envelope = &request->envelope;
    if (request->bytes > chq.eager_bytes_max) {
        envelope->kind = CHASQUI_PACKET_READY_TO_SEND;
        envelope->sender = (uintptr_t)request;
    } else if (mode == MODE_SYNCHRONOUS) {
        envelope->kind = CHASQUI_PACKET_SYNCHRONOUS;
        envelope->sender = (uintptr_t)request;
    }
    MARK_SEND(envelope, request->buffer);
    if (envelope->destination == chq.rank)
        send_to_self(request);
    else if (envelope->kind == CHASQUI_PACKET_READY_TO_SEND)
        chq_send_in_order(envelope, NULL, 0, NULL);
    else if (envelope->kind == CHASQUI_PACKET_SYNCHRONOUS)
        chq_send_in_order(envelope, request->buffer, request->bytes, NULL); /* Complete when MATCHED comes. */
    else
        send_refused(request);
}

static struct message *probe(uint64_t key, int pattern)
{
    struct unexpected *found = chq_unexpected_find(key, pattern);
    if (found)
        return &found->message;
    if (chq.unexpected_count & CHQ_EXPECTS)
        chq.device->listen(key);
    return NULL;
}

static struct unexpected *unexpected_of(struct message *message)
{
    return (struct unexpected *)(void *)((char *)message - offsetof(struct unexpected, message));
}

static void claim(struct message *message) { chq_unexpected_remove(unexpected_of(message)); }

static void receive(struct request *request, struct message *message)
{
    struct unexpected *claimed = unexpected_of(message);
    request->posted = false;
    MARK_POST(request);
    chq_matched(request, &message->envelope, chq_unexpected_payload(claimed));
    chq_unexpected_free(claimed);
}

const struct transport chq_host_matching = {
    .name = "host matching",
    .init = init,
    .send = send,
    .send_refused = send_refused,
    .post = chq_receive_post,
    .probe = probe,
    .claim = claim,
    .receive = receive,
    .cancel = chq_cancel,
};
