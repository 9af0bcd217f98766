/* Matching by the host's processor: messages meet receives in tables of this process (mpi/runtime/match.h), long ones wait
 * for their receive at the sender (rendezvous.c). */
#ifndef CHASQUI_HOST_H
#define CHASQUI_HOST_H

#include "mpi/transport/transport.h"

/* A message that no receive has met. */
struct unexpected {
    struct match_node nodes[PATTERNS]; /* First: the pool's link may overwrite it. */
    struct unexpected *next, *previous;
    struct message message;
    size_t stored; /* Bytes of payload. */
    uint8_t size_class;
    bool held; /* The device holds the payload; what it finds that by is in its place. */
    uint64_t payload[]; /* Aligned for words. */
};

/* Each part's packets have handlers from its init on. */

/* post.c */
void chq_post_init(void);
void chq_receive_post(struct request *request, uint64_t key, int pattern);
/* Takes the request out of the posted receives. */
void chq_receive_unpost(struct request *request);

/* unexpected.c */
void chq_unexpected_init(void);
void chq_unexpected_add(const struct chasqui_envelope *envelope, const void *payload, size_t bytes);
struct unexpected *chq_unexpected_find(uint64_t key, int pattern);
void chq_unexpected_remove(struct unexpected *message);
/* The payload as chq_matched wants it; chq_unexpected_free follows. */
const void *chq_unexpected_payload(const struct unexpected *message);
void chq_unexpected_free(struct unexpected *message);

/* arrive.c. The message has met its receive, which is in no table any more. */
void chq_matched(struct request *request, const struct chasqui_envelope *envelope, const void *payload);
void chq_arrive_init(void);

/* rendezvous.c */
void chq_rendezvous_accept(struct request *request, const struct chasqui_envelope *envelope);
void chq_rendezvous_init(void);

/* cancel.c */
void chq_cancel(struct request *request);
void chq_cancel_init(void);

/* expect.c. Announces a receive that is about to join the posted ones to the device; true: it has its message. Takes that
 * back, unless the message has come (false). */
bool chq_expect(struct request *request, uint64_t key, int pattern);
bool chq_unexpect(struct request *request);

#endif
