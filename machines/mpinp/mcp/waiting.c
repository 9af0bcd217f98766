/* What waits on the host: receives for which the card has no room, and messages that were drained. Both are in order, and are
 * found by hash (mpi/runtime/match.h), however many there are. */
#include "host.h"

struct request *mcp_kept_first;
struct mcp_held *mcp_held_first;

static struct match_table kept_table, held_table;
static struct request *kept_last;
static struct mcp_held *held_last;
static uint64_t kept_stamp; /* order among receives */
static uint32_t kept_of[PATTERNS]; /* receives that wait, by their wildcards */
static unsigned held_patterns = 1 << PATTERN_EXACT; /* of wildcards, under which messages are filed: a bit each */

void mcp_waiting_init(void)
{
    chq_match_init(&kept_table);
    chq_match_init(&held_table);
}

/* --- receives: `from` names the next, `left` the one before --- */

static struct request *mcp_kept_after(const struct request *request) { return (struct request *)(void *)request->from; }

/* NOLINTNEXTLINE(performance-no-int-to-ptr) */
static struct request *mcp_kept_before(const struct request *request) { return (struct request *)request->left; }

void mcp_kept_add(struct request *request)
{
    request->posted = true;
    request->stamp = ++kept_stamp;
    request->from = NULL;
    request->left = (size_t)kept_last;
    if (kept_last)
        kept_last->from = (char *)(void *)request;
    else
        mcp_kept_first = request;
    kept_last = request;
    kept_of[match_key_pattern(request->node.key)]++;
    match_append(&kept_table, &request->node, request->node.key);
}

void mcp_kept_remove(struct request *request)
{
    struct request *before = mcp_kept_before(request), *after = mcp_kept_after(request);
    request->posted = false;
    if (before)
        before->from = request->from;
    else
        mcp_kept_first = after;
    if (after)
        after->left = request->left;
    else
        kept_last = before;
    kept_of[match_key_pattern(request->node.key)]--;
    chq_match_remove(&kept_table, &request->node);
}

struct request *mcp_kept_for(const struct chasqui_envelope *envelope)
{
    uint64_t key = match_envelope_key(envelope);
    struct request *oldest = NULL;
    for (int pattern = 0; pattern < PATTERNS; pattern++) {
        if (kept_of[pattern] == 0)
            continue;
        struct request *request = (struct request *)(void *)match_find(&kept_table, match_widen(key, pattern));
        if (request && (!oldest || request->stamp < oldest->stamp))
            oldest = request;
    }
    return oldest;
}
_Static_assert(offsetof(struct request, node) == 0, "a request's node is where it is");

/* --- messages --- */

static void mcp_held_file(struct mcp_held *message, int pattern)
{
    uint64_t key = match_widen(match_envelope_key(&message->message.envelope), pattern);
    match_append(&held_table, &message->nodes[pattern], key);
}

void mcp_held_add(struct mcp_held *message)
{
    message->after = NULL;
    message->before = held_last;
    if (held_last)
        held_last->after = message;
    else
        mcp_held_first = message;
    held_last = message;
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        if (held_patterns >> pattern & 1)
            mcp_held_file(message, pattern);
}

void mcp_held_remove(struct mcp_held *message)
{
    if (message->before)
        message->before->after = message->after;
    else
        mcp_held_first = message->after;
    if (message->after)
        message->after->before = message->before;
    else
        held_last = message->before;
    for (int pattern = 0; pattern < PATTERNS; pattern++)
        if (held_patterns >> pattern & 1)
            chq_match_remove(&held_table, &message->nodes[pattern]);
}

struct mcp_held *mcp_held_for(uint64_t key)
{
    int pattern = match_key_pattern(key);
    if (!mcp_held_first)
        return NULL;
    if (!(held_patterns >> pattern & 1)) { /* The first look with such wildcards. */
        held_patterns |= 1u << pattern;
        for (struct mcp_held *message = mcp_held_first; message; message = message->after)
            mcp_held_file(message, pattern);
    }
    struct match_node *node = match_find(&held_table, key);
    return node ? (struct mcp_held *)(void *)(node - pattern) : NULL;
}
_Static_assert(offsetof(struct mcp_held, nodes) == 0, "a message's nodes are where it is");

struct mcp_held *mcp_held_of(uint32_t rank, uint32_t sequence)
{
    struct mcp_held *message = mcp_held_first;
    while (message && (message->message.envelope.source != rank || message->message.envelope.sequence != sequence))
        message = message->after;
    return message;
}
