/* The parts of the matching tables that are not on the short path. */
#include "mpi/runtime/match.h"

#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

void chq_match_init(struct match_table *table)
{
    table->buckets = table->initial;
    table->shift = 64 - MATCH_INITIAL_BITS;
    table->keys = 0;
}

/* Four times the buckets when there are as many keys as buckets, so that a chain stays about one
 * node long. The work is spread over the insertions that made it necessary. */
void chq_match_grow(struct match_table *table)
{
    uint32_t old_buckets = 1u << (64 - table->shift);
    struct match_node **old = table->buckets;
    size_t bytes = (size_t)old_buckets * 4 * sizeof *old;
    struct match_node **grown = chq_malloc(bytes);
    memset(grown, 0, bytes);
    table->buckets = grown;
    table->shift -= 2;
    for (uint32_t i = 0; i < old_buckets; i++) {
        struct match_node *node = old[i];
        while (node) {
            struct match_node *next = node->next_key;
            struct match_node **bucket = match_bucket(table, node->key);
            node->next_key = *bucket;
            *bucket = node;
            node = next;
        }
    }
    if (old != table->initial)
        free(old);
}

void chq_match_remove(struct match_table *table, struct match_node *node)
{
    if (!node->previous) {
        match_take_first(table, node);
        return;
    }
    node->previous->next = node->next;
    if (node->next)
        node->next->previous = node->previous;
    else
        match_find(table, node->key)->last = node->previous;
}
