/* Receives that are announced to the device before they are posted, so that it can find their message or place it
 * (device.h, `expect`).
 *
 * The device gives the next message of a key to the receive that it has been asked about. The library must match likewise,
 * so it asks only about a receive if nothing else that waits could take that message:
 *
 * - no wildcard: what it takes is known from context, source and tag alone;
 * - no receive with a wildcard waits that was posted before;
 * - of the same key either none waits, or the device waits for the last one, and so for all of them;
 * - the source is another process: messages to oneself come past the device;
 * - no message of the key is among the unexpected ones (post.c).
 *
 * That holds until the receive has its message, since what is posted later comes later. Of all other receives, and of what
 * the program probes for, the device learns that they wait for mpi_arrived (`listen`). */
#include "mpi/host/host.h"

/* All that waits and could take a message of `key` is known to the device. */
static bool all_expected(uint64_t key)
{
    const struct request *lone = chq.lone;
    if (lone)
        return !match_key_pattern(lone->node.key) && (lone->node.key != key || lone->expected);
    if (chq.posted_any_wild)
        return false;
    const struct match_node *first = chq.posted.keys ? match_find(&chq.posted, key) : NULL;
    return !first || ((const struct request *)(const void *)first->last)->expected;
}

/* The message is where the receive wants it. */
static void met(struct request *request, const struct chasqui_envelope *envelope)
{
    request->expected = false;
    transport_matched(request, envelope);
    chq_deliver(request, NULL, 0);
}

bool chq_expect(struct request *request, uint64_t key, int pattern)
{
    struct chasqui_envelope found;
    enum mpi_expected expected = MPI_EXPECTED_NOT;
    request->expected = false;
    if (key >> 48 == chq.rank)
        return false;
    if (pattern == PATTERN_EXACT && !request->type && all_expected(key))
        expected = chq.device->expect(request, key, request->buffer, request->bytes, &found);
    if (expected == MPI_EXPECTED_THERE) {
        request->posted = false;
        met(request, &found);
        return true;
    }
    request->expected = expected == MPI_EXPECTED_WAITS;
    if (!request->expected)
        chq.device->listen(key);
    return false;
}

bool chq_unexpect(struct request *request)
{
    if (!(chq.unexpected_count & CHQ_EXPECTS) || !request->expected)
        return true;
    request->expected = !chq.device->withdraw(request, request->node.key);
    return !request->expected;
}

void mpi_bound(struct request *request, const struct chasqui_envelope *envelope)
{
    chq_tell();
    chq_receive_unpost(request);
    met(request, envelope);
}

bool mpi_awaits(void) { return chq.lone ? !chq.lone->expected : chq.posted.keys > 0; }
