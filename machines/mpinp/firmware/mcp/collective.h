/* Collectives between cards: what those of all processes (collective.c) and those with a root (rooted.c) share. */
#ifndef COLLECTIVE_H
#define COLLECTIVE_H

#include "mcp.h"
#include "memory.h"

#define WORDS (CHASQUI_MPINP_COLLECTIVE_BYTES / 8)

/* From GOES_DOWN on its process may hear that it is over. */
enum collective_state {
    FREE,
    GATHERS, /* from below */
    COLLECTS, /* the same, with a root */
    FETCHES, /* the root's blocks, from the host */
    EXPECTS, /* blocks, from above */
    AWAITS, /* from above */
    GOES_UP,
    INVITES, /* blocks, from below */
    LEAVES, /* with a root: upwards */
    GOES_DOWN,
    ANSWERS, /* with a root: those below */
    HANDS_OUT /* blocks, to those below */
};

struct collective {
    enum collective_state state;
    uint8_t kind, operation, type;
    uint8_t above, below[CHASQUI_MPINP_COLLECTIVE_BELOW], below_count; /* ranks */
    uint8_t next; /* of those below, that it deals with; of HANDS_OUT: how many are left */
    uint8_t leaving; /* headers in the queue to the wire, and an answer from above */
    bool has_data, takes_data, is_refused;
    bool is_moving, is_told; /* data to the host; the host */
    bool has_next; /* request: while the last headers leave */
    bool awaits_answer; /* from above: its contribution is used */
    uint8_t waiting; /* of those below, a bit each: they have no blocks yet */
    uint8_t count; /* blocks: its own, and those of all below */
    uint32_t context;
    int32_t tag;
    uint32_t bytes;
    uint64_t data[WORDS];
    struct chasqui_mpinp_request request;
};
extern struct collective collectives[PROTOCOL_PROCESSES];

/* What has come on each channel. */
struct contribution {
    bool is_there, has_data, is_refused;
    uint32_t context;
    int32_t tag;
    uint32_t bytes; /* what its header says: a length, or a shape of blocks */
    uint64_t data[WORDS];
};

/* The other process of a channel has a place for blocks. */
struct invitation {
    uint32_t context;
    int32_t tag;
    uint16_t shape; /* of the blocks */
    bool is_there;
};
#ifdef PROTOCOL_CACHE
extern struct contribution *contributions;
extern struct invitation *invitations;
extern uint64_t *blocks;
#else
extern struct contribution contributions[PROTOCOL_CHANNELS];
extern struct invitation invitations[PROTOCOL_CHANNELS];
extern uint64_t blocks[PROTOCOL_CHANNELS * WORDS];
#endif

static inline void serve(struct collective *collective, enum collective_state state)
{
    collective->state = state;
    collectives_wait = true;
}

/* A process's blocks, with those of all below it behind its own. */
static inline char *blocks_of(uint32_t process) { return (char *)(blocks + process * ranks * WORDS); }

/* What it is about, but for data. */
static inline void collective_fill(struct collective *collective, const struct chasqui_mpinp_request *request)
{
    collective->kind = request->flags;
    collective->operation = (uint8_t)request->valid;
    collective->type = (uint8_t)(request->valid >> 8);
    collective->has_data = request->rank & CHASQUI_MPINP_COLLECTIVE_GIVES;
    collective->takes_data = request->rank & CHASQUI_MPINP_COLLECTIVE_TAKES;
    collective->is_refused = request->rank & CHASQUI_MPINP_COLLECTIVE_REFUSES;
    collective->bytes = request->bytes;
    collective->context = request->context;
    collective->tag = request->tag;
}

static inline void collective_start(struct collective *collective)
{
    MARK_COUNT(collective->kind);
    collective->next = 0;
    collective->leaving = 0;
    collective->is_told = false;
}

/* Ranks that its process may name. */
#ifdef SEVERAL_JOBS
#define RANKS_FOR(collective) ranks_for((unsigned)((collective) - collectives))
#else
#define RANKS_FOR(collective) ranks
#endif

/* False: they are no ranks. */
static inline bool collective_find_tree(struct collective *collective, const struct chasqui_mpinp_request *request)
{
    uint64_t tree = request->sequence | (uint64_t)request->offset << 32;
    collective->above = (uint8_t)tree;
    collective->below_count = 0;
    while (collective->below_count < CHASQUI_MPINP_COLLECTIVE_BELOW) {
        tree >>= 8;
        if ((uint8_t)tree == CHASQUI_MPINP_NO_PROCESS)
            break;
        if ((uint8_t)tree >= RANKS_FOR(collective))
            return false;
        collective->below[collective->below_count++] = (uint8_t)tree;
    }
    return collective->above < RANKS_FOR(collective) || collective->above == CHASQUI_MPINP_NO_PROCESS;
}

static inline void collective_add(struct collective *collective, const struct contribution *other)
{
    bool are_two = other->has_data && collective->has_data && collective->kind < CHASQUI_MPINP_ALLREDUCE;
    collective->is_refused |= other->is_refused || other->bytes != collective->bytes || are_two;
    if (!other->has_data || collective->is_refused)
        return;
    if (collective->has_data)
        combine(collective->operation, collective->type, collective->data, other->data, collective->bytes);
    else
        memcpy(collective->data, other->data, collective->bytes);
    collective->has_data = true;
}

/* --- collective.c --- */

void collective_end_what_is_over(uint32_t process);
/* A request that comes before the last one's headers have left; false: it may not. */
bool collective_put_aside(struct collective *collective, const struct chasqui_mpinp_request *request);

/* --- rooted.c --- */

bool rooted_begin(uint32_t process, const struct chasqui_mpinp_request *request); /* false: it may not */
void rooted_collect(uint32_t process);
extern bool rooted_wait; /* perhaps, to put headers into the queue, as collectives_wait */
bool rooted_put(void); /* one; false: there is none, of other collectives neither */
extern char *rooted_body; /* of the only header in the queue; NULL: that has none, or is another collective's */
void rooted_moved(uint32_t process); /* data, to the host or from there */

#endif
