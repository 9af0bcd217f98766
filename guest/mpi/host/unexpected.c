/* Messages that came before their receive. Each is filed under its own key, and under its key with
 * wildcards for each pattern of wildcards that the program has used: a program without wildcards
 * pays for one. */
#include "mpi/host/host.h"

enum { SIZE_CLASSES = 3 };
static const size_t class_bytes[SIZE_CLASSES] = {64, 512, 4096};
static struct pool pools[SIZE_CLASSES] = {
    {NULL, sizeof(struct unexpected) + 64, 32},
    {NULL, sizeof(struct unexpected) + 512, 16},
    {NULL, sizeof(struct unexpected) + 4096, 4},
};

void chq_unexpected_init(void)
{
    for (int class = 0; class < SIZE_CLASSES; class++)
        chq_pool_refill(&pools[class]);
}

static struct unexpected *unexpected_new(size_t bytes)
{
    uint8_t class = 0;
    while (class < SIZE_CLASSES && bytes > class_bytes[class])
        class++;
    struct unexpected *message = class < SIZE_CLASSES ? pool_take(&pools[class]) : chq_malloc(sizeof *message + bytes);
    message->size_class = class;
    return message;
}

void chq_unexpected_free(struct unexpected *message)
{
    if (message->held)
        chq.device->drop(message->payload);
    if (message->size_class < SIZE_CLASSES)
        pool_give(&pools[message->size_class], message);
    else
        free(message);
}

static void file(struct unexpected *message, int pattern)
{
    uint64_t key = match_widen(match_envelope_key(&message->message.envelope), pattern);
    match_append(&chq.unexpected, &message->nodes[pattern], key);
}

/* The data of a message, which the device does not keep. */
static void copy_aside(struct unexpected *message, const void *payload, size_t bytes)
{
    MARK_COPIED(&message->message.envelope);
    if (payload)
        memcpy(message->payload, payload, bytes);
    else
        chq.device->take(message->payload, bytes);
}

void chq_unexpected_add(const struct chasqui_envelope *envelope, const void *payload, size_t bytes)
{
    uint64_t held[MPI_HELD_WORDS];
    bool holds = bytes > 0 && chq.device->hold && chq.device->hold(payload, held);
    struct unexpected *message = unexpected_new(holds ? sizeof held : bytes);
    message->message.envelope = *envelope;
    MARK_QUEUED(&message->message.envelope);
    message->stored = bytes;
    message->held = holds;
    if (holds)
        memcpy(message->payload, held, sizeof held);
    else if (bytes)
        copy_aside(message, payload, bytes);

    message->next = NULL;
    message->previous = chq.unexpected_last;
    if (chq.unexpected_last)
        chq.unexpected_last->next = message;
    else
        chq.unexpected_first = message;
    chq.unexpected_last = message;
    chq.unexpected_count++;

    file(message, PATTERN_EXACT);
    for (int pattern = 1; unlikely(chq.unexpected_patterns >> pattern); pattern++)
        if (chq.unexpected_patterns >> pattern & 1)
            file(message, pattern);
}

/* The program's first receive or probe with this pattern: file what is there. */
static void pattern_begin(int pattern)
{
    chq.unexpected_patterns |= 1u << pattern;
    for (struct unexpected *message = chq.unexpected_first; message; message = message->next)
        file(message, pattern);
}

const void *chq_unexpected_payload(const struct unexpected *message)
{
    return message->held ? chq.device->resume(message->payload) : message->payload;
}

struct unexpected *chq_unexpected_find(uint64_t key, int pattern)
{
    if (pattern != PATTERN_EXACT && !(chq.unexpected_patterns >> pattern & 1))
        pattern_begin(pattern);
    struct match_node *node = match_find(&chq.unexpected, key);
    if (!node)
        return NULL;
    return (struct unexpected *)(void *)(node - pattern);
}

void chq_unexpected_remove(struct unexpected *message)
{
    chq_match_remove(&chq.unexpected, &message->nodes[PATTERN_EXACT]);
    for (int pattern = 1; unlikely(chq.unexpected_patterns >> pattern); pattern++)
        if (chq.unexpected_patterns >> pattern & 1)
            chq_match_remove(&chq.unexpected, &message->nodes[pattern]);
    if (message->previous)
        message->previous->next = message->next;
    else
        chq.unexpected_first = message->next;
    if (message->next)
        message->next->previous = message->previous;
    else
        chq.unexpected_last = message->previous;
    chq.unexpected_count--;
}
