/* Collectives that the cards do: blocking ones of short data, of processes that have one hart each. The others are the library's,
 * and the card counts why.
 *
 * The tree is the one by which the library's recursive doubling combines for its highest rank: so a sum has the same bits. A
 * broadcast goes along it, too: its data up from the root. What has a root otherwise goes along the library's binomial tree from
 * there, a reduction again with the same bits.
 *
 * Functions of the library that few programs need (chq_bcast_binomial, mpi_collective_done) are not called: they would be part
 * of all programs, and move others' places, also on other machines. */
#include "host.h"
#include "mpi/coll/coll.h"
#include "mpi/runtime/error.h"

#define NO_NAME UINT8_MAX

static uint32_t block; /* of the window, for what is contributed */
static size_t longest; /* data [bytes] */
/* The one that is under way. */
static struct {
    struct request *request;
    void *to;
    size_t bytes;
    bool is_refused; /* by some process */
} under_way;

bool mcp_collectives_open(const struct chasqui_ni_identification *ni)
{
    if (!ni->settings[CHASQUI_MPINP_SETTING_COLLECTIVES])
        return false;
    block = mcp_window_take();
    longest = mcp_window_bytes() & ~(size_t)7;
    if (longest > CHASQUI_MPINP_COLLECTIVE_BYTES)
        longest = CHASQUI_MPINP_COLLECTIVE_BYTES;
    return true;
}

/* --- what the card can do --- */

/* What the card calls a type, and an operator; NO_NAME: it has none. */
static uint8_t mcp_type(unsigned class)
{
    switch (class) {
    case CLASS_INT32: return CHASQUI_MPINP_INT32;
    case CLASS_UINT32: return CHASQUI_MPINP_UINT32;
    case CLASS_INT64: return CHASQUI_MPINP_INT64;
    case CLASS_UINT64: return CHASQUI_MPINP_UINT64;
    case CLASS_FLOAT: return CHASQUI_MPINP_FLOAT;
    case CLASS_DOUBLE: return CHASQUI_MPINP_DOUBLE;
    default: return NO_NAME;
    }
}

static const struct {
    MPI_Op op;
    uint8_t name;
    bool has_reals;
} operators[] = {
    {MPI_SUM, CHASQUI_MPINP_SUM, true},         {MPI_MIN, CHASQUI_MPINP_MINIMUM, true},
    {MPI_MAX, CHASQUI_MPINP_MAXIMUM, true},     {MPI_PROD, CHASQUI_MPINP_PRODUCT, false},
    {MPI_BAND, CHASQUI_MPINP_AND, false},       {MPI_BOR, CHASQUI_MPINP_OR, false},
    {MPI_BXOR, CHASQUI_MPINP_XOR, false},       {MPI_LAND, CHASQUI_MPINP_LOGICAL_AND, false},
    {MPI_LOR, CHASQUI_MPINP_LOGICAL_OR, false}, {MPI_LXOR, CHASQUI_MPINP_LOGICAL_XOR, false},
};

static uint8_t mcp_operator(unsigned number, bool is_real)
{
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++)
        if ((uintptr_t)operators[i].op == number + OP_HANDLE_FIRST)
            return !is_real || operators[i].has_reals ? operators[i].name : NO_NAME;
    return NO_NAME;
}

static bool mcp_has_operation(const struct mpi_collective *what)
{
    uint8_t type = mcp_type(what->type);
    return type != NO_NAME && mcp_operator(what->op, type >= CHASQUI_MPINP_FLOAT) != NO_NAME;
}

/* There may be gaps in the data: of which types, the library alone knows. */
static bool mcp_has_gaps(unsigned class) { return class == CLASS_NONE || class >= CLASS_PAIR_FLOAT_INT; }

/* --- the tree --- */

/* Ranks beyond a power of two are leaves: each pair at the beginning has one. Place in the tree of those that are not, and
 * back. */
static uint32_t mcp_rank_at(uint32_t place, uint32_t pairs) { return place < pairs ? place * 2 : place + pairs; }

/* A byte each: the one above, and those below. */
static uint64_t mcp_tree_word(const struct mpi_collective *what, const uint8_t tree[8])
{
    uint64_t word = 0;
    for (unsigned i = 8; i-- > 0;)
        word = word << 8 | (what->world && tree[i] != CHASQUI_MPINP_NO_PROCESS ? what->world[tree[i]] : tree[i]);
    return word;
}

/* Those below in the order of ranks. */
static uint64_t mcp_tree(const struct mpi_collective *what)
{
    uint8_t tree[8], count = 1;
    uint32_t rank = (uint32_t)what->rank, power = 1;
    while (power * 2 <= (uint32_t)what->ranks)
        power *= 2;
    uint32_t pairs = (uint32_t)what->ranks - power;
    uint32_t place = rank < pairs * 2 ? rank / 2 : rank - pairs;
    uint32_t above = place & (place - 1);
    memset(tree, CHASQUI_MPINP_NO_PROCESS, sizeof tree);
    if (rank < pairs * 2 && rank % 2 == 1) {
        tree[0] = (uint8_t)(rank - 1);
    } else {
        if (place > 0)
            tree[0] = (uint8_t)mcp_rank_at(above, pairs);
        if (rank < pairs * 2)
            tree[count++] = (uint8_t)(rank + 1);
        for (uint32_t step = 1; step < power && !(place & step); step *= 2)
            tree[count++] = (uint8_t)mcp_rank_at(place + step, pairs);
    }
    return mcp_tree_word(what, tree);
}

static bool mcp_is_rooted(const struct mpi_collective *what)
{
    return what->kind == MPI_COLLECTIVE_REDUCE || what->kind == MPI_COLLECTIVE_GATHER ||
           what->kind == MPI_COLLECTIVE_SCATTER;
}

/* The binomial tree from the root: those below have 1, 2, 4, … processes, of all that are there. `all`: the process, and all below
 * it. */
static uint64_t mcp_rooted_tree(const struct mpi_collective *what, uint16_t *all)
{
    uint8_t tree[8], count = 1;
    int n = what->ranks, relative = ring_subtract(what->rank, what->root, n), mask = coll_subtree(relative, n);
    memset(tree, CHASQUI_MPINP_NO_PROCESS, sizeof tree);
    if (relative > 0)
        tree[0] = (uint8_t)ring_add(relative - mask, what->root, n);
    for (int step = 1; step < mask && relative + step < n; step *= 2)
        tree[count++] = (uint8_t)ring_add(relative + step, what->root, n);
    *all = (uint16_t)coll_least(mask, n - relative);
    return mcp_tree_word(what, tree);
}

/* What a block takes on the card. */
static size_t mcp_block(const struct mpi_collective *what) { return (what->bytes + 7) & ~(size_t)7; }

/* The rank whose block is so many behind the root's. */
static int mcp_rank_behind(const struct mpi_collective *what, int number)
{
    return ring_add(number, what->root, what->ranks);
}

/* --- one collective --- */

/* Starts it; `given`, so many bytes, null: the process has no data. */
static void mcp_begin(const struct mpi_collective *what, uint16_t flags, const void *given, size_t bytes,
                      struct request *request)
{
    static const uint8_t kinds[] = {
        [MPI_COLLECTIVE_BARRIER] = CHASQUI_MPINP_BARRIER, [MPI_COLLECTIVE_BCAST] = CHASQUI_MPINP_BCAST,
        [MPI_COLLECTIVE_REDUCE] = CHASQUI_MPINP_REDUCE,   [MPI_COLLECTIVE_ALLREDUCE] = CHASQUI_MPINP_ALLREDUCE,
        [MPI_COLLECTIVE_GATHER] = CHASQUI_MPINP_GATHER,   [MPI_COLLECTIVE_SCATTER] = CHASQUI_MPINP_SCATTER};
    bool is_rooted = mcp_is_rooted(what);
    uint16_t blocks = 0;
    uint64_t tree = is_rooted ? mcp_rooted_tree(what, &blocks) : mcp_tree(what);
    uint8_t type = mcp_type(what->type);
    struct chasqui_mpinp_request post = {.kind = is_rooted ? CHASQUI_MPINP_ROOTED : CHASQUI_MPINP_COLLECTIVE,
                                         .flags = kinds[what->kind],
                                         .rank = flags,
                                         .context = what->context,
                                         .tag = (int32_t)what->tag,
                                         .bytes = (uint32_t)what->bytes,
                                         .sequence = (uint32_t)tree,
                                         .offset = (uint32_t)(tree >> 32),
                                         .entry = block,
                                         .valid = blocks};
    if (what->kind == MPI_COLLECTIVE_ALLREDUCE || what->kind == MPI_COLLECTIVE_REDUCE)
        post.valid = (uint16_t)(mcp_operator(what->op, type >= CHASQUI_MPINP_FLOAT) | type << 8);
    if (given) {
        post.rank |= CHASQUI_MPINP_COLLECTIVE_GIVES;
        mcp_window_store(block, given, bytes);
    }
    under_way.request = request;
    under_way.to = what->recv;
    under_way.bytes = flags & CHASQUI_MPINP_COLLECTIVE_TAKES ? what->bytes : 0;
    while (mcp_card_room() == 0) {
        chq_pause();
        mcp_look();
    }
    mcp_card_post(&post);
}

void mcp_collected(const struct chasqui_mpinp_event *event)
{
    under_way.is_refused = event->result == CHASQUI_MPINP_NOTHING;
    if (!under_way.is_refused && under_way.bytes > 0)
        memcpy(under_way.to, mcp_card_collected(), under_way.bytes);
    request_complete(under_way.request);
}

/* Does one, or refuses it if `flags` say so. False: some process has, or lengths differ. */
static bool mcp_is_together_with(const struct mpi_collective *what, uint16_t flags, const void *given, size_t bytes)
{
    struct request request;
    request_start(&request, REQUEST_COLLECTIVE);
    request.what = "a collective between the cards: the other processes";
    mcp_begin(what, flags, given, bytes, &request);
    request_wait(&request);
    return !under_way.is_refused;
}

static bool mcp_is_together(const struct mpi_collective *what, uint16_t flags, const void *given)
{
    return mcp_is_together_with(what, flags, given, what->bytes);
}

/* As the library's binomial tree does it that of some process has not asked the card to. */
static int mcp_binomial(void *buffer, size_t bytes, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), mask = coll_subtree(relative, n);
    struct request request;
    if (mask < n) {
        coll_irecv(&request, buffer, bytes, type_byte(), ring_add(relative & ~mask, root, n), COLL_BCAST, comm);
        request_wait(&request);
        if (request.error)
            return request.error;
    }
    for (mask >>= 1; mask > 0; mask >>= 1) {
        if (relative + mask >= n)
            continue;
        coll_isend(&request, buffer, bytes, type_byte(), ring_add(relative + mask, root, n), COLL_BCAST, comm);
        request_wait(&request);
    }
    return MPI_SUCCESS;
}

static int mcp_broadcast_by_messages(const struct mpi_collective *what)
{
    struct communicator comm = chq_world;
    comm.size = what->ranks;
    comm.rank = what->rank;
    comm.world = what->world;
    comm.context = (uint16_t)(what->context - CONTEXT_COLLECTIVE);
    comm.head += (uint64_t)(uint16_t)(comm.context - chq_world.context) << 16;
    comm.collective_tag = what->tag - COLL_BCAST;
    mcp_card_count(CHASQUI_MPINP_REASON_UNLIKE);
    return mcp_binomial(what->recv, what->bytes, what->root, &comm);
}

static int mcp_broadcast(const struct mpi_collective *what)
{
    bool is_root = what->rank == what->root;
    if (mcp_is_together(what, is_root ? 0 : CHASQUI_MPINP_COLLECTIVE_TAKES, is_root ? what->send : NULL))
        return MPI_SUCCESS;
    return mcp_broadcast_by_messages(what);
}

/* The error of a collective that was refused if not `is_together`. */
static int mcp_error(bool is_together)
{
    return is_together ? MPI_SUCCESS : chq_reason(MPI_ERR_TRUNCATE, "the processes' counts differ");
}

static int mcp_allreduce(const struct mpi_collective *what)
{
    return mcp_error(mcp_is_together(what, CHASQUI_MPINP_COLLECTIVE_TAKES, what->send));
}

static int mcp_reduce(const struct mpi_collective *what)
{
    return mcp_error(mcp_is_together(what, what->rank == what->root ? CHASQUI_MPINP_COLLECTIVE_TAKES : 0, what->send));
}

static int mcp_gather(const struct mpi_collective *what)
{
    int error = mcp_error(mcp_is_together(what, 0, what->send));
    const char *from = mcp_card_collected();
    for (int i = 0; !error && what->rank == what->root && i < what->ranks; i++, from += mcp_block(what))
        memcpy((char *)what->recv + (size_t)mcp_rank_behind(what, i) * what->bytes, from, what->bytes);
    return error;
}

/* The root's blocks, in the order that the card has them. */
static void mcp_line_up(const struct mpi_collective *what, char *to)
{
    for (int i = 0; i < what->ranks; i++, to += mcp_block(what))
        memcpy(to, (const char *)what->send + (size_t)mcp_rank_behind(what, i) * what->bytes, what->bytes);
}

/* What is short is stored to the card, which fetches what is not. */
static bool mcp_scatter_from_root(const struct mpi_collective *what)
{
    size_t bytes = (size_t)what->ranks * mcp_block(what);
    memcpy(what->recv, (const char *)what->send + (size_t)what->root * what->bytes, what->bytes);
    if (bytes > longest) {
        mcp_line_up(what, mcp_card_collected());
        return mcp_is_together_with(what, CHASQUI_MPINP_COLLECTIVE_FETCHES, NULL, 0);
    }
    char blocks[CHASQUI_MPINP_COLLECTIVE_BYTES];
    mcp_line_up(what, blocks);
    return mcp_is_together_with(what, 0, blocks, bytes);
}

static int mcp_scatter(const struct mpi_collective *what)
{
    bool is_root = what->rank == what->root;
    return mcp_error(is_root ? mcp_scatter_from_root(what)
                             : mcp_is_together(what, CHASQUI_MPINP_COLLECTIVE_TAKES, NULL));
}

/* It is the library's. */
static bool mcp_is_not(uint64_t reason)
{
    mcp_card_count(reason);
    return false;
}

/* A broadcast whose data may have gaps here has none for all others perhaps: they hear of it by the card. */
static bool mcp_takes(const struct mpi_collective *what)
{
    if (what->context % CONTEXTS != CONTEXT_COLLECTIVE)
        return mcp_is_not(CHASQUI_MPINP_REASON_NONBLOCKING);
    bool has_blocks = what->kind == MPI_COLLECTIVE_GATHER || what->kind == MPI_COLLECTIVE_SCATTER;
    if (what->bytes > longest || (has_blocks && (size_t)what->ranks * mcp_block(what) > CHASQUI_MPINP_BLOCKS_BYTES))
        return mcp_is_not(CHASQUI_MPINP_REASON_LONG);
    if ((what->kind == MPI_COLLECTIVE_ALLREDUCE || what->kind == MPI_COLLECTIVE_REDUCE) && !mcp_has_operation(what))
        return mcp_is_not(CHASQUI_MPINP_REASON_OPERATION);
    if (what->kind != MPI_COLLECTIVE_BCAST || !mcp_has_gaps(what->type))
        return true;
    mcp_is_together(what, CHASQUI_MPINP_COLLECTIVE_REFUSES, NULL);
    return mcp_is_not(CHASQUI_MPINP_REASON_UNLIKE);
}

static int mcp_do(const struct mpi_collective *what)
{
    switch (what->kind) {
    case MPI_COLLECTIVE_BARRIER: mcp_is_together(what, 0, NULL); return MPI_SUCCESS;
    case MPI_COLLECTIVE_BCAST: return mcp_broadcast(what);
    case MPI_COLLECTIVE_ALLREDUCE: return mcp_allreduce(what);
    case MPI_COLLECTIVE_REDUCE: return mcp_reduce(what);
    case MPI_COLLECTIVE_GATHER: return mcp_gather(what);
    case MPI_COLLECTIVE_SCATTER: return mcp_scatter(what);
    default: __builtin_trap(); /* mcp_takes has refused it. */
    }
}

bool mcp_collective(const struct mpi_collective *what, struct request *request)
{
    if (!request)
        return mcp_takes(what);
    request->error = mcp_do(what);
    request_complete(request);
    return true;
}
