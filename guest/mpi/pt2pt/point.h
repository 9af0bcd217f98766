/* Point-to-point communication inside the library. All return error classes and raise nothing:
 * the public function that was called does, with its own name. */
#ifndef CHASQUI_POINT_H
#define CHASQUI_POINT_H

#include "mpi/request/request.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/process.h"

static inline struct request *request_new(enum request_kind kind)
{
    struct request *request = pool_take(&chq.requests);
    request_start(request, kind);
    request->valid = REQUEST_VALID;
    return request;
}

/* For the short paths: neither null nor MPI_IN_PLACE, the only values below any address, by one comparison. */
static inline bool point_is_buffer(const void *buffer) { return (uintptr_t)buffer > (uintptr_t)MPI_IN_PLACE; }

/* Part of chq_send_check and chq_receive_check: the rest is known to be right. */
static inline int point_check_buffer(const void *buffer, int count, const struct datatype *type)
{
    if (buffer == MPI_IN_PLACE)
        return chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for collectives");
    if (!buffer && count > 0 && type->size > 0 && type_is_predefined(type))
        return chq_reason(MPI_ERR_BUFFER, "null buffer");
    return MPI_SUCCESS;
}

/* A message that no receive has met. */
struct unexpected {
    struct match_node nodes[PATTERNS]; /* First: the pool's link may overwrite it. */
    struct unexpected *next, *previous;
    struct chasqui_envelope envelope;
    size_t stored; /* Bytes of payload. */
    uint8_t size_class;
    bool held;          /* The device holds the payload; what it finds that by is in its place. */
    uint64_t payload[]; /* Aligned for words. */
};

/* unexpected.c */
void chq_unexpected_add(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
struct unexpected *chq_unexpected_find(uint64_t key, int pattern);
void chq_unexpected_remove(struct unexpected *message);
/* The payload as chq_matched wants it; chq_unexpected_free follows. */
const void *chq_unexpected_payload(const struct unexpected *message);
void chq_unexpected_free(struct unexpected *message);

/* arrive.c. The message has met its receive, which is in no table any more. */
void chq_matched(struct request *request, const struct chasqui_envelope *envelope, const void *payload);
/* Completes a receive: puts packed data where the receive wants it; `payload` null: take it from the device. */
void chq_deliver(struct request *request, const void *payload, size_t bytes);

/* queue.c. Sends now if the device has room and nothing to that destination waits, else in order
 * later; `request` (or null) is completed when the payload has been taken unless it waits for
 * more. False: queued. */
bool chq_send_in_order(const struct chasqui_envelope *envelope, const void *payload, size_t bytes, struct request *request);
/* Likewise, for packets of the library; up to 8 bytes of payload are copied. */
void chq_send_control(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
bool chq_queue_is_blocked(uint32_t destination);

/* rendezvous.c */
void chq_rendezvous_accept(struct request *request, const struct chasqui_envelope *envelope);
void chq_rendezvous_clear(const struct chasqui_envelope *envelope, const void *payload);
void chq_rendezvous_segment(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
void chq_rendezvous_finished(const struct chasqui_envelope *envelope);
void chq_transfers_retry(void);

/* cancel.c: the other side wants its message back; it gave ours back. */
void chq_cancel_asked(const struct chasqui_envelope *envelope);
void chq_cancel_done(const struct chasqui_envelope *envelope);

/* send.c. Starts a send in a request that request_start has prepared. The arguments are checked.
 * On return the request may be complete already. `how`: SEND_HOW of the mode and the context's
 * place among its communicator's (CONTEXT_*), in one word, so that all arguments are in registers. */
#define SEND_HOW(mode, context) ((uint32_t)(mode) | (uint32_t)(context) << 16)
void chq_send_start(struct request *request, uint32_t how, const void *buffer, size_t count,
                    struct datatype *type, int destination, int tag, struct communicator *comm);
int chq_send_check(const void *buffer, int count, const struct datatype *type, int destination, int tag,
                   const struct communicator *comm);

/* recv.c */
void chq_receive_start(struct request *request, void *buffer, size_t count, struct datatype *type,
                       int source, int tag, struct communicator *comm, int context);
int chq_receive_check(const void *buffer, int count, const struct datatype *type, int source, int tag,
                      const struct communicator *comm);
/* Joins the table of posted receives. */
void chq_receive_file(struct request *request, uint64_t key, int pattern);
/* Takes the request out of the posted receives. */
void chq_receive_unpost(struct request *request);

/* expect.c. Tells the device of a receive that is about to join the posted ones; takes that back, unless the message has
 * come (false). */
void chq_expect(struct request *request, uint64_t key, int pattern);
bool chq_unexpect(struct request *request);

/* bsend.c. The attached buffer's copy of a message is freed at completion of its request. */
int chq_buffered_send(const void *buffer, size_t count, struct datatype *type, int destination, int tag,
                      struct communicator *comm);
void chq_buffer_flush(void);

/* grequest.c: calls of the program's functions; their results. */
int chq_grequest_query(const struct request *request, MPI_Status *status);
int chq_grequest_cancel(const struct request *request);
int chq_grequest_free(struct request *request);

/* Completion of a nonblocking request as the program sees it: status, handle, release. */
int chq_request_finish(MPI_Request *handle, struct request *request, MPI_Status *status);

#endif
