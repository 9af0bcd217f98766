/* Matching tables: FIFOs of nodes by key, found by hashing.
 *
 * A key is all that MPI matches on: context, source (world rank) and tag. Wildcards are values of
 * their own that no message has, so a receive with wildcards has a key like any other, and an
 * unexpected message is filed under each pattern of wildcards that the program has used so far.
 * Every operation looks at one bucket and takes the first or last node of one FIFO, however many
 * messages wait (tests: unexpected.c).
 */
#ifndef CHASQUI_MATCH_H
#define CHASQUI_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"
#include "mpi/runtime/public.h"

enum { MATCH_ANY_SOURCE = 0xffff }; /* No world rank: a job has at most 65,535 ranks. */
enum { MATCH_INITIAL_BITS = 6 };

/* Wildcard patterns: which of source and tag are open. */
enum { PATTERN_EXACT = 0, PATTERN_ANY_TAG = 1, PATTERN_ANY_SOURCE = 2, PATTERN_ANY = 3, PATTERNS = 4 };

struct match_node {
    uint64_t key;
    struct match_node *next;     /* Same key, later. */
    struct match_node *previous; /* Same key, earlier; null in the first. */
    struct match_node *last;     /* Of this key; only the first node's is kept. */
    struct match_node *next_key; /* Next key in the bucket; only the first node's is kept. */
};

struct match_table {
    struct match_node **buckets;
    uint32_t shift; /* 64 minus the bits of the bucket number. */
    uint32_t keys;  /* Keys present. */
    struct match_node *initial[1 << MATCH_INITIAL_BITS];
};

void chq_match_init(struct match_table *table);
void chq_match_grow(struct match_table *table);
void chq_match_remove(struct match_table *table, struct match_node *node);

static inline uint64_t match_key(uint32_t context, uint32_t source, int tag)
{
    return chasqui_match_key(source, context, (uint32_t)tag);
}

/* The key of an arrived message; `first` is its first word (kind, flags, context, source). */
static inline uint64_t match_envelope_key(const struct chasqui_envelope *envelope)
{
    uint64_t first;
    __builtin_memcpy(&first, envelope, sizeof first);
    return (first >> 16 << 32) | (uint32_t)envelope->tag;
}

static inline uint32_t match_context(uint64_t key) { return (uint16_t)(key >> 32); }

/* Whether messages of a key may be counted. */
static inline bool match_is_lasting(uint64_t key) { return chasqui_context_is_lasting(match_context(key)); }

static inline int match_pattern(int source, int tag) { return (source == MPI_ANY_SOURCE) << 1 | (tag == MPI_ANY_TAG); }

/* The same key with the wildcards of `pattern`. */
static inline uint64_t match_widen(uint64_t key, int pattern)
{
    if (pattern & PATTERN_ANY_SOURCE)
        key |= (uint64_t)MATCH_ANY_SOURCE << 48;
    if (pattern & PATTERN_ANY_TAG)
        key = (key >> 32 << 32) | (uint32_t)MPI_ANY_TAG;
    return key;
}

/* The bits of a key that `pattern` leaves to match. */
static inline uint64_t match_mask(int pattern)
{
    return ~((pattern & PATTERN_ANY_SOURCE ? (uint64_t)MATCH_ANY_SOURCE << 48 : 0) |
             (pattern & PATTERN_ANY_TAG ? (uint64_t)UINT32_MAX : 0));
}

/* The pattern of wildcards in a receive's key. */
static inline int match_key_pattern(uint64_t key)
{
    return ((key >> 48) == MATCH_ANY_SOURCE) << 1 | ((uint32_t)key == (uint32_t)MPI_ANY_TAG);
}

static inline struct match_node **match_bucket(struct match_table *table, uint64_t key)
{
    /* Fibonacci hashing (Knuth, TAOCP 3, 6.4): the high bits of the product depend on all of the
     * key's bits. */
    return &table->buckets[(key * 0x9e3779b97f4a7c15ull) >> table->shift];
}

static inline struct match_node *match_find(struct match_table *table, uint64_t key)
{
    struct match_node *node = *match_bucket(table, key);
    while (node && unlikely(node->key != key))
        node = node->next_key;
    return node;
}

static inline void match_append(struct match_table *table, struct match_node *node, uint64_t key)
{
    struct match_node **bucket = match_bucket(table, key);
    struct match_node *first = *bucket;
    node->key = key;
    node->next = NULL;
    while (first && first->key != key)
        first = first->next_key;
    if (first) {
        node->previous = first->last;
        first->last->next = node;
        first->last = node;
        return;
    }
    node->previous = NULL;
    node->last = node;
    node->next_key = *bucket;
    *bucket = node;
    if (unlikely(++table->keys >> (64 - table->shift)))
        chq_match_grow(table);
}

/* Takes out the first node of a key, as `match_find` returned it. */
static inline void match_take_first(struct match_table *table, struct match_node *node)
{
    struct match_node **link = match_bucket(table, node->key);
    while (unlikely(*link != node))
        link = &(*link)->next_key;
    struct match_node *next = node->next;
    if (next) {
        next->previous = NULL;
        next->last = node->last;
        next->next_key = node->next_key;
        *link = next;
        return;
    }
    *link = node->next_key;
    table->keys--;
}

#endif
