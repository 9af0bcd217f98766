/* Breadth-first search: the first world that is wrong is found on a shortest path. */
#include <stdlib.h>
#include <string.h>

#include "explorer.h"

/* What is kept of every world; the worlds themselves only while their steps are to be taken. */
struct node {
    uint32_t parent;
    struct step step;
};

struct hash {
    uint64_t a, b;
};

static struct node *nodes;
static struct hash *table;
static size_t node_capacity, node_total, table_capacity;
static size_t world_bytes; /* of the NICs that there are; whole turns of the lanes of `hash_of` */
enum { LANES = WORLD_ALIGN / 8 };

static void *grown(void *old, size_t bytes)
{
    void *new = realloc(old, bytes);
    if (!new)
        abort();
    return new;
}

/* Most of the time goes here: no sanitizer looks on. */
#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

UNCHECKED static inline uint64_t mixed(uint64_t hash, uint64_t word, uint64_t factor)
{
    hash = (hash ^ word) * factor;
    return hash ^ hash >> 32;
}

/* Of every fourth word each: a multiplication does not wait for the one before. */
UNCHECKED static struct hash hash_of(const struct world *world)
{
    const uint64_t factor = 0x9fb21c651e98df25, other = 0xd6e8feb86659fd93;
    uint64_t lanes[LANES] = {0x9e3779b97f4a7c15, 0xc2b2ae3d27d4eb4f, 0x165667b19e3779f9, 0x27d4eb2f165667c5};
    const char *bytes = (const char *)world;
    for (size_t i = 0; i < world_bytes; i += sizeof lanes)
        for (unsigned lane = 0; lane < LANES; lane++) {
            uint64_t word;
            memcpy(&word, bytes + i + lane * sizeof word, sizeof word);
            lanes[lane] = mixed(lanes[lane], word, factor);
        }
    struct hash hash = {0, 0};
    for (unsigned lane = 0; lane < LANES; lane++) {
        hash.a = mixed(hash.a, lanes[lane], factor);
        hash.b = mixed(hash.b, lanes[lane], other);
    }
    hash.a += hash.a == 0;
    return hash;
}

static bool place(struct hash *in, size_t capacity, struct hash hash)
{
    size_t i = hash.a & (capacity - 1);
    for (; in[i].a; i = (i + 1) & (capacity - 1))
        if (in[i].a == hash.a && in[i].b == hash.b)
            return false;
    in[i] = hash;
    return true;
}

/* True: it is new. */
static bool add(const struct world *world, uint32_t parent, struct step step)
{
    if (2 * (node_total + 1) > table_capacity) {
        size_t capacity = table_capacity * 2;
        struct hash *larger = calloc(capacity, sizeof *larger);
        if (!larger)
            abort();
        for (size_t i = 0; i < table_capacity; i++)
            if (table[i].a)
                place(larger, capacity, table[i]);
        free(table);
        table = larger;
        table_capacity = capacity;
    }
    if (!place(table, table_capacity, hash_of(world)))
        return false;
    if (node_total == node_capacity) {
        node_capacity = node_capacity ? node_capacity * 2 : 1024;
        nodes = grown(nodes, node_capacity * sizeof *nodes);
    }
    nodes[node_total++] = (struct node){parent, step};
    return true;
}

struct frontier {
    char *worlds;
    uint32_t *ids;
    size_t count, capacity;
};

static void append(struct frontier *frontier, const struct world *world, uint32_t id)
{
    if (frontier->count == frontier->capacity) {
        frontier->capacity = frontier->capacity ? frontier->capacity * 2 : 64;
        frontier->worlds = grown(frontier->worlds, frontier->capacity * world_bytes);
        frontier->ids = grown(frontier->ids, frontier->capacity * sizeof *frontier->ids);
    }
    memcpy(frontier->worlds + frontier->count * world_bytes, world, world_bytes);
    frontier->ids[frontier->count++] = id;
}

static void find_path(struct result *result, uint32_t id)
{
    result->path_length = 0;
    for (uint32_t at = id; at != 0; at = nodes[at].parent)
        result->path_length++;
    unsigned i = result->path_length;
    for (uint32_t at = id; at != 0; at = nodes[at].parent)
        if (--i < sizeof result->path / sizeof result->path[0])
            result->path[i] = nodes[at].step;
}

/* Takes all steps of a world. False: something is wrong. */
static bool expand(const struct world *world, uint32_t id, struct frontier *next, struct result *result)
{
    static struct world work; /* static: after longjmp it has what was written */
    struct step steps[STEPS_MAX];
    memcpy(&work, world, world_bytes);
    unsigned count = steps_of(&work, steps);
    if (count == 0) {
        result->ends++;
        result->wrong = wrong_at_end(&work);
        find_path(result, id);
        return !result->wrong;
    }
    for (unsigned i = 0; i < count; i++) {
        memcpy(&work, world, world_bytes);
        result->wrong = take(&work, steps[i]) ? wrong_anywhere(&work) : fault;
        if (result->wrong) {
            find_path(result, id);
            if (result->path_length < sizeof result->path / sizeof result->path[0])
                result->path[result->path_length++] = steps[i];
            return false;
        }
        if (add(&work, id, steps[i]))
            append(next, &work, (uint32_t)(node_total - 1));
    }
    return true;
}

void search(const struct program *program, uint64_t states_max, struct result *result)
{
    static struct world first;
    struct frontier now = {0}, next = {0};
    running = program;
    *result = (struct result){0};
    node_total = 0;
    table_capacity = 1 << 12;
    table = calloc(table_capacity, sizeof *table);
    begin_world(&first);
    world_bytes = (offsetof(struct world, nics) + node_count() * sizeof(struct protocol) + WORLD_ALIGN - 1) &
                  -(size_t)WORLD_ALIGN;
    add(&first, 0, (struct step){0});
    append(&now, &first, 0);
    while (now.count > 0 && !result->wrong && !result->is_cut) {
        next.count = 0;
        for (size_t i = 0; i < now.count && !result->wrong; i++) {
            static struct world copy;
            memcpy(&copy, now.worlds + i * world_bytes, world_bytes);
            expand(&copy, now.ids[i], &next, result);
        }
        result->is_cut = node_total > states_max;
        struct frontier swapped = now;
        now = next;
        next = swapped;
    }
    result->states = node_total;
    free(now.worlds);
    free(now.ids);
    free(next.worlds);
    free(next.ids);
    free(table);
}
