/* Matching by the host's processor: messages meet receives in tables of this process (mpi/runtime/match.h), long ones wait
 * for their receive at the sender (rendezvous.c). */
#ifndef CHASQUI_HOST_H
#define CHASQUI_HOST_H

#include "mpi/request/request.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/process.h"

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

/* Each part's packets have handlers from its init on, which chq_host_init calls. */

/* post.c. From MPI_Init, when it is known whether there are threads. */
void chq_host_init(void);
/* A receive that can't be the only posted one without a look: meets a message that waits, or joins those in the table. */
void chq_receive_post(struct request *request, uint64_t key, int pattern);
/* Takes the request out of the posted receives. */
void chq_receive_unpost(struct request *request);

/* Meets a waiting message, or joins the posted receives. The first is often the only one: it needs no table. */
static inline __attribute__((always_inline)) void host_post(struct request *request, uint64_t key, int pattern)
{
    MARK_POST(request);
    if (unlikely(chq.unexpected_count || chq.lone || chq.posted.keys)) {
        chq_receive_post(request, key, pattern);
        return;
    }
    request->posted = true;
    request->node.key = key;
    request->mask = match_mask(pattern);
    chq.lone = request;
}

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
void chq_arrive_init(void);

/* rendezvous.c */
void chq_rendezvous_accept(struct request *request, const struct chasqui_envelope *envelope);
void chq_rendezvous_init(void);

/* cancel.c. Take a request back; it is complete when that is done, or when it is too late. */
void chq_cancel_receive(struct request *request);
void chq_cancel_send(struct request *request);
void chq_cancel_init(void);

/* expect.c. Tells the device of a receive that is about to join the posted ones; takes that back, unless the message has
 * come (false). */
void chq_expect(struct request *request, uint64_t key, int pattern);
bool chq_unexpect(struct request *request);

#endif
