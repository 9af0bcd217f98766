/* Posted receives: the only one, or those in the table. */
#include "mpi/host/host.h"

/* Stands where the only posted receive would, where there are threads: a receive of a context that no communicator has. */
static struct request no_receive;

void chq_post_init(void)
{
    chq_match_init(&chq.posted);
    chq_match_init(&chq.unexpected);
    if (chq.device->expect)
        chq.unexpected_count = CHQ_EXPECTS;
    if (!chq.threaded)
        return;
    no_receive.node.key = match_key(UINT16_MAX, MATCH_ANY_SOURCE, MPI_ANY_TAG);
    no_receive.mask = match_mask(PATTERN_EXACT);
    chq.lone = &no_receive;
}

/* The message is there already, perhaps as a device knows that places messages. */
static bool take_unexpected(struct request *request, uint64_t key, int pattern)
{
    bool waits = chq.unexpected_count & ~CHQ_EXPECTS;
    struct unexpected *message = waits ? chq_unexpected_find(key, pattern) : NULL;
    if (!message)
        return chq.unexpected_count & CHQ_EXPECTS && chq_expect(request, key, pattern);
    chq_unexpected_remove(message);
    request->posted = false;
    chq_matched(request, &message->message.envelope, chq_unexpected_payload(message));
    chq_unexpected_free(message);
    return true;
}

static void file(struct request *request, uint64_t key, int pattern)
{
    request->stamp = ++chq.stamp;
    match_append(&chq.posted, &request->node, key);
    if (pattern) {
        chq.posted_wild[pattern]++;
        chq.posted_any_wild++;
    }
}

void chq_receive_post(struct request *request, uint64_t key, int pattern)
{
    if (unlikely(chq.unexpected_count) && take_unexpected(request, key, pattern))
        return;
    struct request *lone = chq.lone;
    request->posted = true;
    if (!lone && !chq.posted.keys) {
        request->node.key = key;
        request->mask = match_mask(pattern);
        chq.lone = request;
        return;
    }
    if (lone && !chq.threaded) {
        chq.lone = NULL;
        file(lone, lone->node.key, match_key_pattern(lone->node.key));
    }
    file(request, key, pattern);
}

void chq_receive_unpost(struct request *request)
{
    int pattern = match_key_pattern(request->node.key);
    request->posted = false;
    if (chq.lone == request) {
        chq.lone = NULL;
        return;
    }
    chq_match_remove(&chq.posted, &request->node);
    if (pattern) {
        chq.posted_wild[pattern]--;
        chq.posted_any_wild--;
    }
}
