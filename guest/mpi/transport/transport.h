/* The transport: what brings messages to the receives that they match.
 *
 * Point-to-point communication, and all that stands on it, asks for no more than this. Behind it lies either host matching
 * (mpi/host), which matches in this process and asks a network interface for packets alone (mpi/device.h), or what a
 * device brings along: an interface that matches by itself takes sends and receives as descriptors and gives back
 * completions. Which one is known at MPI_Init (struct mpi_device, `transport`): one program runs on all machines.
 *
 * Requests belong to the caller that started them, and stay where they are until they are complete. A transport may use `node`,
 * `mask`, `stamp`, `posted`, `expected`, `envelope`, `from` and `left` of one under way as it likes. It completes a request
 * by transport_matched and chq_deliver (a receive), request_complete (a send) or chq_cancelled; but for what a function
 * completes before it returns, with chq_tell, since a waiting loop may look for that.
 *
 * What a transport has still to give to the network it holds as `blocked` (progress.h): MPI_Finalize waits for that. */
#ifndef CHASQUI_TRANSPORT_H
#define CHASQUI_TRANSPORT_H

#include "mpi/runtime/mark.h"
#include "mpi/transport/progress.h"

/* A message that has met no receive, as probing shows it. */
struct message {
    struct chasqui_envelope envelope;
    struct communicator *comm; /* Of the call that claimed it. */
};

struct transport {
    const char *name;

    /* From MPI_Init, once: the device is open; rank, size and threads are known; no communicator exists. Sets chq.send and
     * chq.eager_bytes_max (transport_send), and by chq_set_network the function that looks at the network: it makes all
     * progress that needs no room in the device. */
    void (*init)(void);

    /* Starts a send of request->bytes dense bytes at request->buffer; request->envelope is filled in but for `kind`,
     * `sender` and `receiver`. `mode` is not MODE_BUFFERED's copying: that is done. Messages from here to one process that
     * have the same context are matched in the order of their starts. Marks SEND. The buffer is the transport's until the
     * request is complete: when it may be reused or, synchronous, when the message has met its receive besides. */
    void (*send)(struct request *request, enum send_mode mode);

    /* The same for a message that chq.send has refused, of the mode of transport_send: SEND is marked. */
    void (*send_refused)(struct request *request);

    /* Posts a receive for the earliest message that `key` matches with the wildcards of `pattern` (mpi/runtime/match.h),
     * and for which no receive posted before waits. Data go to request->buffer: up to request->bytes dense bytes, or, where
     * request->type is not null, what unpacking up to so many makes of request->count elements. The buffer is the
     * transport's until the request is complete: with source, tag and got of the message; with MPI_ERR_TRUNCATE if that was
     * longer. It may be complete on return. */
    void (*post)(struct request *request, uint64_t key, int pattern);

    /* The earliest message that a receive of `key` and `pattern` would take now; null: none has come. It is valid until
     * the next look at the network or post. Does not look at the network, though it may ask the network interface. */
    struct message *(*probe)(uint64_t key, int pattern);
    /* Takes a message that `probe` has just shown out of matching: it is the caller's until `receive`. */
    void (*claim)(struct message *message);
    /* Receives a claimed message, as if `post` had met it; the message is gone. */
    void (*receive)(struct request *request, struct message *message);

    /* Takes back a send or receive that is not complete, if it has met nothing yet; it then completes as cancelled, on
     * return or later. Otherwise it completes as it would have. */
    void (*cancel)(struct request *request);
};

/* Host matching (mpi/host/host.c). */
extern const struct transport chq_host_matching;

/* Whether chq.send takes a message: short, to another process. Of others, and where something waits for room, `send` must
 * be asked. */
static inline bool transport_is_short(size_t bytes, uint32_t destination)
{
    return bytes <= chq.eager_bytes_max && destination != chq.rank;
}

/* Starts a send (`send` above). A short one costs no more than a call of chq.send: it takes a marked envelope of kind EAGER
 * and the payload, and returns whether it had room; the buffer may then be reused. */
static inline void transport_send(struct request *request, enum send_mode mode)
{
    struct chasqui_envelope *envelope = &request->envelope;
    if (unlikely(mode == MODE_SYNCHRONOUS || chq_is_blocked() ||
                 !transport_is_short(request->bytes, envelope->destination))) {
        chq.transport->send(request, mode);
        return;
    }
    MARK_SEND(envelope, request->buffer);
    if (likely(chq.send(envelope, request->buffer, request->bytes)))
        request_complete(request);
    else
        chq.transport->send_refused(request);
}

/* Posts a receive (`post` above). Of host matching, the shortest case is written out: the first receive posted is often the
 * only one, and needs no table. A transport that needs them all sets CHQ_POSTS. */
static inline __attribute__((always_inline)) void transport_post(struct request *request, uint64_t key, int pattern)
{
    MARK_POST(request);
    if (unlikely(chq.unexpected_count || chq.lone || chq.posted.keys)) {
        chq.transport->post(request, key, pattern);
        return;
    }
    request->posted = true;
    request->node.key = key;
    request->mask = match_mask(pattern);
    chq.lone = request;
}

/* For transports: a receive has met its message. */
static inline void transport_matched(struct request *request, const struct chasqui_envelope *envelope)
{
    MARK_MATCH(request, envelope);
    request->source = envelope->source;
    request->tag = envelope->tag;
    request->got = envelope->bytes;
    if (unlikely(request->got > request->bytes)) {
        request->error = MPI_ERR_TRUNCATE;
        request->got = request->bytes;
    }
}

/* complete.c, for transports. Completes a receive that is matched: puts `bytes` of packed data where it wants them; `payload`
 * null: takes them from the device. Where a dense receive's data are in its buffer already, `bytes` is 0. */
void chq_deliver(struct request *request, const void *payload, size_t bytes);
/* Completes a request that was taken back. */
void chq_cancelled(struct request *request);

#endif
