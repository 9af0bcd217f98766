/* Collectives with a root, along a binomial tree from there (mcp/collective.c). What they contribute goes up, or what the root has
 * goes down, and no process waits for what it does not need. So each hop says by itself that there is a place for it:
 *
 * A contribution to a reduction, and a single block, go up to the place of their channel, as those of other collectives do. That
 * has been used when an answer comes down, and until then the process's next collective waits. Hence of each of those below there
 * is one contribution at most that is not used, here too.
 *
 * Several blocks, and all that go down, go where the other process has its blocks, once it has invited them: then it is at that
 * collective. Which blocks are so does not depend on their length: processes that mean other lengths find that out. */
#include "collective.h"

/* A block has whole doublewords, so that engines move words. */
static uint32_t block_bytes(const struct collective *collective) { return (collective->bytes + 7) & ~7u; }

/* Those of the one below that is number `below`: it comes behind as many. */
static uint32_t count_of(const struct collective *collective, unsigned below)
{
    return least(1u << below, collective->count - (1u << below));
}

/* So many blocks of that length: both ends must mean the same ones. */
static uint16_t shape_of(const struct collective *collective, uint32_t count)
{
    return (uint16_t)(count << 8 | collective->bytes);
}

static char *block_at(uint32_t process, uint32_t number)
{
    return blocks_of(process) + number * block_bytes(&collectives[process]);
}

/* --- to the wire --- */

bool rooted_wait;
char *rooted_body;

static void go_on_with(struct collective *collective, enum collective_state state)
{
    serve(collective, state);
    rooted_wait = true;
}

/* With so many bytes of data, unless the process refuses. */
static void put(uint32_t process, uint32_t rank, uint8_t what, char *data, uint32_t bytes, uint32_t length)
{
    struct collective *collective = &collectives[process];
    unsigned kind = what & COLLECTIVE_GOES_UP ? WIRE_COLLECTIVE : WIRE_ROOTED;
    struct wire *wire = out_put(process * ranks + rank, kind, NONE);
    wire->body = collective->is_refused ? 0 : bytes;
    wire->collective = (uint8_t)(what | (collective->is_refused ? COLLECTIVE_IS_REFUSED : 0));
    wire->part = length;
    wire->header.context = collective->context;
    wire->header.tag = collective->tag;
    collective->leaving++;
    rooted_body = wire->body > 0 ? data : NULL;
}

static void put_blocks(uint32_t process, uint32_t rank, uint8_t what, uint32_t first, uint32_t count)
{
    const struct collective *collective = &collectives[process];
    put(process, rank, what, block_at(process, first), count * block_bytes(collective), shape_of(collective, count));
}

static void put_invitation(uint32_t process, uint32_t rank, uint32_t count)
{
    put(process, rank, COLLECTIVE_INVITES, NULL, 0, shape_of(&collectives[process], count));
}

/* The other process has a place for so many blocks. If it means others, they are refused. */
static bool take_invitation(uint32_t process, uint32_t rank, uint32_t count)
{
    struct collective *collective = &collectives[process];
    struct invitation *from = &invitations[process * ranks + rank];
    if (!from->is_there || from->context != collective->context || from->tag != collective->tag)
        return false;
    from->is_there = false;
    collective->is_refused |= from->shape != shape_of(collective, count);
    return true;
}

/* What has come from below is used, and what the process has to say has left or will by itself. */
static void answer(uint32_t process)
{
    struct collective *collective = &collectives[process];
    collective->next = collective->below_count;
    go_on_with(collective, ANSWERS);
    collective_end_what_is_over(process);
}

static bool leave(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->kind == CHASQUI_MPINP_SCATTER) {
        collective->state = EXPECTS;
        put_invitation(process, collective->above, collective->count);
        return true;
    }
    if (collective->kind == CHASQUI_MPINP_REDUCE)
        put(process, collective->above, COLLECTIVE_GOES_UP, (char *)collective->data, collective->bytes,
            collective->bytes);
    else if (collective->count == 1)
        put_blocks(process, collective->above, COLLECTIVE_GOES_UP, 0, collective->count);
    else if (take_invitation(process, collective->above, collective->count))
        put_blocks(process, collective->above, COLLECTIVE_IS_BLOCKS, 0, collective->count);
    else
        return false;
    collective->leaving++;
    collective->awaits_answer = true;
    answer(process);
    return true;
}

/* Whether one of those below has several blocks, from the next on. */
static bool find_several(struct collective *collective)
{
    while (collective->next < collective->below_count && count_of(collective, collective->next) == 1)
        collective->next++;
    return collective->next < collective->below_count;
}

static void invite_or_collect(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (find_several(collective)) {
        go_on_with(collective, INVITES);
        return;
    }
    collective->next = 0;
    collective->state = COLLECTS;
    rooted_collect(process);
}

static void invite(uint32_t process)
{
    struct collective *collective = &collectives[process];
    uint32_t below = collective->next++;
    put_invitation(process, collective->below[below], count_of(collective, below));
    invite_or_collect(process);
}

/* The most first, of those that have a place for them. */
static bool hand_out(uint32_t process)
{
    struct collective *collective = &collectives[process];
    for (unsigned below = collective->below_count; below-- > 0;) {
        uint32_t count = count_of(collective, below);
        bool was_refused = collective->is_refused;
        if (!(collective->waiting & 1u << below) || !take_invitation(process, collective->below[below], count))
            continue;
        put_blocks(process, collective->below[below], COLLECTIVE_IS_BLOCKS, 1u << below, count);
        /* One that means others is alone in that. */
        collective->is_refused = was_refused;
        collective->waiting &= (uint8_t)~(1u << below);
        collective->next--;
        return true;
    }
    return false;
}

/* Those below may go on; the root's host goes first. */
static bool put_answer(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->next == 0 || collective->is_moving)
        return false;
    put(process, collective->below[--collective->next], COLLECTIVE_ANSWERS, NULL, 0, 0);
    return true;
}

/* One header; false: this process has none. */
static bool serve_one(uint32_t process)
{
    switch (collectives[process].state) {
    case LEAVES: return leave(process);
    case INVITES: invite(process); return true;
    case ANSWERS: return put_answer(process);
    case HANDS_OUT: return hand_out(process);
    default: return false;
    }
}

bool rooted_put(void)
{
    static uint32_t served;
    for (uint32_t i = 0; i < process_count; i++) {
        served = served + 1 < process_count ? served + 1 : 0;
        if (serve_one(served))
            return true;
    }
    rooted_wait = collectives_wait = false;
    return false;
}

/* --- what comes --- */

static void add_blocks(uint32_t process, unsigned below, const struct contribution *other)
{
    struct collective *collective = &collectives[process];
    uint32_t count = count_of(collective, below);
    collective->is_refused |= other->is_refused || other->bytes != shape_of(collective, count);
    if (!collective->is_refused && count == 1)
        memcpy(block_at(process, 1u << below), other->data, block_bytes(collective));
}

/* All there is goes up, or to the root's host. */
static void end_collecting(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->above != CHASQUI_MPINP_NO_PROCESS) {
        go_on_with(collective, LEAVES);
        return;
    }
    bool is_gather = collective->kind == CHASQUI_MPINP_GATHER;
    uint32_t bytes = is_gather ? collective->count * block_bytes(collective) : collective->bytes;
    collective->is_moving = !collective->is_refused && bytes > 0;
    if (collective->is_moving)
        host_collected(process, is_gather ? blocks_of(process) : (char *)collective->data, bytes);
    answer(process);
}

void rooted_collect(uint32_t process)
{
    struct collective *collective = &collectives[process];
    for (; collective->next < collective->below_count; collective->next++) {
        struct contribution *other = &contributions[process * ranks + collective->below[collective->next]];
        if (!other->is_there || other->context != collective->context || other->tag != collective->tag)
            return;
        other->is_there = false;
        if (collective->kind == CHASQUI_MPINP_GATHER)
            add_blocks(process, collective->next, other);
        else
            collective_add(collective, other);
    }
    end_collecting(process);
}

/* Blocks are here for all below, or refused. */
static void go_out(uint32_t process)
{
    struct collective *collective = &collectives[process];
    collective->next = collective->below_count;
    collective->waiting = (uint8_t)((1u << collective->below_count) - 1);
    go_on_with(collective, HANDS_OUT);
    collective_end_what_is_over(process);
}

void rooted_moved(uint32_t process)
{
    struct collective *collective = &collectives[process];
    if (collective->state == FETCHES)
        go_out(process);
    else if (collective->state == ANSWERS)
        go_on_with(collective, ANSWERS);
}

static bool is_about(const struct collective *collective, const struct wire *wire)
{
    return collective->context == wire->header.context && collective->tag == wire->header.tag;
}

/* It has been invited, and so the process is still there, unless processes mean different roots. */
char *rooted_place(unsigned channel, const struct wire *wire)
{
    uint32_t process = protocol.channels[channel].process;
    const struct collective *collective = &collectives[process];
    if (!is_about(collective, wire))
        return NULL;
    if (collective->state == EXPECTS) {
        bool is_mine =
            collective->above == peers[channel].rank && wire->part == shape_of(collective, collective->count);
        return is_mine ? blocks_of(process) : NULL;
    }
    if (collective->state != INVITES && collective->state != COLLECTS)
        return NULL;
    for (unsigned below = 0; below < collective->below_count; below++)
        if (collective->below[below] == peers[channel].rank &&
            wire->part == shape_of(collective, count_of(collective, below)))
            return block_at(process, 1u << below);
    return NULL;
}

/* Blocks from above. */
static void blocks_came(uint32_t process, const struct wire *wire)
{
    struct collective *collective = &collectives[process];
    collective->is_refused = wire->collective & COLLECTIVE_IS_REFUSED;
    collective->is_moving = !collective->is_refused && collective->bytes > 0;
    if (collective->is_moving)
        host_collected(process, blocks_of(process), collective->bytes);
    go_out(process);
}

/* ... and from below. */
static void blocks_came_up(unsigned channel, const struct wire *wire)
{
    struct contribution *contribution = &contributions[channel];
    uint32_t process = protocol.channels[channel].process;
    contribution->is_there = true;
    contribution->is_refused = wire->collective & COLLECTIVE_IS_REFUSED;
    contribution->context = wire->header.context;
    contribution->tag = wire->header.tag;
    contribution->bytes = wire->part;
    if (collectives[process].state == COLLECTS)
        rooted_collect(process);
}

static void invitation_came(unsigned channel, const struct wire *wire)
{
    invitations[channel] = (struct invitation){
        .context = wire->header.context, .tag = wire->header.tag, .shape = (uint16_t)wire->part, .is_there = true};
    rooted_wait = collectives_wait = true;
}

/* Its contribution has been used. */
static void answer_came(uint32_t process)
{
    struct collective *collective = &collectives[process];
    collective->awaits_answer = false;
    collective->leaving--;
    collective_end_what_is_over(process);
}

void rooted_came(unsigned channel, const struct wire *wire)
{
    uint32_t process = protocol.channels[channel].process;
    struct collective *collective = &collectives[process];
    bool is_above = collective->above == peers[channel].rank && is_about(collective, wire);
    if (wire->collective & COLLECTIVE_INVITES)
        invitation_came(channel, wire);
    else if (wire->collective & COLLECTIVE_ANSWERS) {
        /* It came behind all invitations of that collective. One that is left was for a process that meant another root. */
        invitations[channel].is_there = false;
        if (is_above && collective->awaits_answer)
            answer_came(process);
    } else if (collective->state == EXPECTS) {
        if (is_above)
            blocks_came(process, wire);
    } else
        blocks_came_up(channel, wire);
}

/* --- requests --- */

/* Blocks of a process and all below it. */
static bool has_place(struct collective *collective, uint32_t count)
{
    uint32_t below = collective->below_count;
    collective->count = (uint8_t)count;
    return count > 0 && count <= RANKS_FOR(collective) && count <= 1u << below &&
           (below == 0 || count > 1u << (below - 1)) && count * block_bytes(collective) <= CHASQUI_MPINP_BLOCKS_BYTES;
}

static bool begin_reduce(uint32_t process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    if (!combines(collective->operation, collective->type, request->bytes) ||
        !window_read(process, request, collective->data))
        return false;
    collective_start(collective);
    collective->has_data = true;
    collective->state = COLLECTS;
    rooted_collect(process);
    return true;
}

static bool begin_gather(uint32_t process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    if (!has_place(collective, request->valid) ||
        !window_read(process, request, (uint64_t *)(void *)blocks_of(process)))
        return false;
    collective_start(collective);
    invite_or_collect(process);
    return true;
}

static bool begin_scatter(uint32_t process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    if (!has_place(collective, request->valid))
        return false;
    struct chasqui_mpinp_request all = *request;
    all.bytes = collective->count * block_bytes(collective);
    bool is_root = collective->above == CHASQUI_MPINP_NO_PROCESS;
    bool is_fetched = request->rank & CHASQUI_MPINP_COLLECTIVE_FETCHES;
    if (is_root && !is_fetched && !window_read(process, &all, (uint64_t *)(void *)blocks_of(process)))
        return false;
    collective_start(collective);
    if (!is_root)
        go_on_with(collective, LEAVES);
    else if (is_fetched && all.bytes > 0) {
        collective->state = FETCHES;
        host_scatters(process, blocks_of(process), all.bytes);
    } else
        go_out(process);
    return true;
}

bool rooted_begin(uint32_t process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    collective_fill(collective, request);
    collective->awaits_answer = collective->is_moving = false;
    if (request->bytes > CHASQUI_MPINP_COLLECTIVE_BYTES || !collective_find_tree(collective, request))
        return false;
    switch (collective->kind) {
    case CHASQUI_MPINP_REDUCE: return begin_reduce(process, request);
    case CHASQUI_MPINP_GATHER: return begin_gather(process, request);
    case CHASQUI_MPINP_SCATTER: return begin_scatter(process, request);
    default: return false;
    }
}

bool rooted_take(unsigned process, const struct chasqui_mpinp_request *request)
{
    struct collective *collective = &collectives[process];
    return collective->state == FREE ? rooted_begin(process, request) : collective_put_aside(collective, request);
}
