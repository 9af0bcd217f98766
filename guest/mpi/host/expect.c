/* Receives that are announced to the device before their message comes, so that it can place it (device.h, `expect`).
 *
 * The device gives the next message of a key to the oldest announced receive with that key. The library must
 * match likewise, so it announces a receive only if nothing else that waits could take that message:
 *
 * - no wildcard: what it takes is known from context, source and tag alone;
 * - no receive with a wildcard waits that was posted before;
 * - of the same key either none waits, or the last one was announced, and so all of them;
 * - the source is another process: messages to oneself come past the device.
 *
 * That holds until the receive has its message, since what is posted later comes later. */
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

void chq_expect(struct request *request, uint64_t key, int pattern)
{
    /* None at all wraps round, and does not fit. */
    bool fits = request->bytes - 1 < chq.device->expect_bytes_max;
    request->expected = fits && pattern == PATTERN_EXACT && !request->type && key >> 48 != chq.rank &&
                        all_expected(key) && chq.device->expect(key, request->buffer, request->bytes);
}

bool chq_unexpect(struct request *request)
{
    if (!(chq.unexpected_count & CHQ_EXPECTS) || !request->expected)
        return true;
    request->expected = false;
    return chq.device->withdraw(request->node.key, request->buffer);
}
