/* What a program does again and again takes no more memory than once: collectives in all forms, those that keep buffers until
 * their operation ends among them, requests that are freed, refusals, communicators, groups, datatypes and operators.
 *
 * Usage: leaks ROUNDS */
#include <stdint.h>

#include "check.h"

/* --- memory in use [bytes] --------------------------------------------------------------------------------- */

#if defined(__SANITIZE_ADDRESS__)

extern size_t __sanitizer_get_current_allocated_bytes(void);
static size_t used(void) { return __sanitizer_get_current_allocated_bytes(); }

#elif defined(__GLIBC__)

#include <malloc.h>
static size_t used(void) { return mallinfo2().uordblks; }

#else

/* Instead of musl's, which doesn't say: blocks of powers of two, those that come back in a list for each size. */
enum { ROOM = 64 << 20, HEAD = 16, SIZES = 32 };
static _Alignas(16) char room[ROOM];
static size_t taken, in_use;
static void *free_blocks[SIZES];

static size_t used(void) { return in_use; }

static unsigned log_of(size_t bytes)
{
    unsigned log = 5;
    while (((size_t)1 << log) < bytes + HEAD)
        log++;
    return log;
}

static size_t *size_of(void *block) { return (size_t *)(void *)((char *)block - HEAD); }

void *malloc(size_t bytes)
{
    if (bytes > ROOM)
        return NULL;
    unsigned log = log_of(bytes);
    void *block = free_blocks[log];
    if (block) {
        free_blocks[log] = *(void **)block;
    } else {
        if (taken + ((size_t)1 << log) > ROOM)
            return NULL;
        block = room + taken + HEAD;
        taken += (size_t)1 << log;
    }
    in_use += bytes;
    *size_of(block) = bytes;
    return block;
}

void free(void *block)
{
    if (!block)
        return;
    size_t bytes = *size_of(block);
    unsigned log = log_of(bytes);
    in_use -= bytes;
    *(void **)block = free_blocks[log];
    free_blocks[log] = block;
}

void *calloc(size_t count, size_t bytes)
{
    if (bytes && count > ROOM / bytes)
        return NULL;
    void *block = malloc(count * bytes);
    return block ? memset(block, 0, count * bytes) : NULL;
}

void *realloc(void *block, size_t bytes)
{
    void *moved = malloc(bytes);
    if (!moved || !block)
        return moved;
    memcpy(moved, block, *size_of(block) < bytes ? *size_of(block) : bytes);
    free(block);
    return moved;
}

#endif

/* --- what is done again and again -------------------------------------------------------------------------- */

enum { RANKS_MAX = 16, WORDS = 600 };
static const MPI_Count FAR = (MPI_Count)1 << 33;
static int in[RANKS_MAX * WORDS], out[RANKS_MAX * WORDS];
static MPI_Count counts[RANKS_MAX], far_counts[RANKS_MAX];
static MPI_Aint places[RANKS_MAX];
static MPI_Datatype types[RANKS_MAX];
static MPI_Comm ring;

static void prepare(void)
{
    for (int r = 0; r < check_size; r++) {
        counts[r] = 3;
        far_counts[r] = FAR;
        places[r] = 4 * r;
        types[r] = MPI_INT;
    }
}

/* Requests of collectives that keep arrays of counts. */
enum { KEEPERS = 9 };

static void start_keepers(MPI_Request r[KEEPERS])
{
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Igatherv_c(in, 3, MPI_INT, out, counts, places, MPI_INT, 0, world, &r[0]);
    MPI_Iscatterv_c(in, counts, places, MPI_INT, out, 3, MPI_INT, 0, world, &r[1]);
    MPI_Iallgatherv_c(in, 3, MPI_INT, out, counts, places, MPI_INT, world, &r[2]);
    MPI_Ialltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, world, &r[3]);
    MPI_Ialltoallw_c(in, counts, places, types, out, counts, places, types, world, &r[4]);
    MPI_Ireduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, world, &r[5]);
    MPI_Ineighbor_allgatherv_c(in, 3, MPI_INT, out, counts, places, MPI_INT, ring, &r[6]);
    MPI_Ineighbor_alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring, &r[7]);
    MPI_Ineighbor_alltoallw_c(in, counts, places, types, out, counts, places, types, ring, &r[8]);
}

static void make_keepers(MPI_Request r[KEEPERS])
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Info none = MPI_INFO_NULL;
    MPI_Gatherv_init_c(in, 3, MPI_INT, out, counts, places, MPI_INT, 0, world, none, &r[0]);
    MPI_Scatterv_init_c(in, counts, places, MPI_INT, out, 3, MPI_INT, 0, world, none, &r[1]);
    MPI_Allgatherv_init_c(in, 3, MPI_INT, out, counts, places, MPI_INT, world, none, &r[2]);
    MPI_Alltoallv_init_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, world, none, &r[3]);
    MPI_Alltoallw_init_c(in, counts, places, types, out, counts, places, types, world, none, &r[4]);
    MPI_Reduce_scatter_init_c(in, out, counts, MPI_INT, MPI_SUM, world, none, &r[5]);
    MPI_Neighbor_allgatherv_init_c(in, 3, MPI_INT, out, counts, places, MPI_INT, ring, none, &r[6]);
    MPI_Neighbor_alltoallv_init_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, ring, none, &r[7]);
    MPI_Neighbor_alltoallw_init_c(in, counts, places, types, out, counts, places, types, ring, none, &r[8]);
}

static void nonblocking(void)
{
    MPI_Request requests[KEEPERS];
    start_keepers(requests);
    MPI_Waitall(KEEPERS, requests, MPI_STATUSES_IGNORE);
    start_keepers(requests);
    for (int left = KEEPERS, index; left > 0; left--)
        MPI_Waitany(KEEPERS, requests, &index, MPI_STATUS_IGNORE);
}

/* Alone: some end as they begin. */
static void at_once(void)
{
    MPI_Request requests[3];
    MPI_Iallgatherv_c(in, 3, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_SELF, &requests[0]);
    MPI_Ialltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_SELF, &requests[1]);
    MPI_Ireduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_SELF, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
}

static void persistent(void)
{
    MPI_Request requests[KEEPERS];
    make_keepers(requests);
    for (int i = 0; i < 2; i++) {
        MPI_Startall(KEEPERS, requests);
        MPI_Waitall(KEEPERS, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < KEEPERS; i++)
        MPI_Request_free(&requests[i]);
}

static void never_started(void)
{
    MPI_Request requests[KEEPERS];
    make_keepers(requests);
    for (int i = KEEPERS; i-- > 0;)
        MPI_Request_free(&requests[i]);
}

static void refused(void)
{
    MPI_Request r;
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Info none = MPI_INFO_NULL;
    CHECK(MPI_Alltoallv_c(in, counts, places, MPI_INT, out, far_counts, places, MPI_INT, world));
    CHECK(MPI_Ialltoallv_c(in, counts, places, MPI_INT, out, far_counts, places, MPI_INT, world, &r));
    CHECK(MPI_Alltoallv_init_c(in, far_counts, places, MPI_INT, out, counts, places, MPI_INT, world, none, &r));
    CHECK(MPI_Iallgatherv_c(in, -1, MPI_INT, out, counts, places, MPI_INT, world, &r));
    CHECK(MPI_Iallgatherv_c(in, 3, MPI_DATATYPE_NULL, out, counts, places, MPI_INT, world, &r));
    CHECK(MPI_Allgatherv_init_c(in, 3, MPI_INT, out, far_counts, places, MPI_INT, world, none, &r));
    CHECK(MPI_Ireduce_scatter_c(in, out, far_counts, MPI_INT, MPI_SUM, world, &r));
    CHECK(MPI_Ireduce_scatter_c(in, out, counts, MPI_INT, MPI_OP_NULL, world, &r));
    CHECK(MPI_Ineighbor_alltoallv_c(in, far_counts, places, MPI_INT, out, counts, places, MPI_INT, ring, &r));
    CHECK(MPI_Ineighbor_alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, world, &r));
    CHECK(MPI_Igatherv_c(in, 3, MPI_INT, out, counts, places, MPI_INT, check_size, world, &r));
}

/* Short and long. */
static void blocking(void)
{
    for (int words = 1; words <= WORDS; words += WORDS - 1) {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(in, words, MPI_INT, check_size - 1, MPI_COMM_WORLD);
        MPI_Reduce(in, out, words, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Allreduce(in, out, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Reduce_scatter_block(in, out, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Scan(in, out, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Exscan(in, out, words, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        MPI_Gather(in, words, MPI_INT, out, words, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Scatter(in, words, MPI_INT, out, words, MPI_INT, 0, MPI_COMM_WORLD);
        MPI_Allgather(in, words, MPI_INT, out, words, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoall(in, words, MPI_INT, out, words, MPI_INT, MPI_COMM_WORLD);
        MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    }
}

static void add(void *from, void *to, int *length, MPI_Datatype *type)
{
    (void)type;
    for (int i = 0; i < *length; i++)
        ((int *)to)[i] += ((int *)from)[i];
}

/* Freed while they are in use. */
static void types_and_operators(void)
{
    MPI_Datatype pair;
    MPI_Op op;
    MPI_Request requests[2];
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Op_create(add, 1, &op);
    MPI_Iallreduce(in, out, WORDS, MPI_INT, op, MPI_COMM_WORLD, &requests[0]);
    MPI_Iallgather(in, 2, pair, out + WORDS, 2, pair, MPI_COMM_WORLD, &requests[1]);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static int copy(MPI_Comm comm, int key, void *extra, void *value, void *copied, int *flag)
{
    (void)comm, (void)key, (void)extra;
    *(void **)copied = value;
    *flag = 1;
    return MPI_SUCCESS;
}

static void free_all(MPI_Comm *comms, int count)
{
    for (int i = 0; i < count; i++)
        if (comms[i] != MPI_COMM_NULL)
            MPI_Comm_free(&comms[i]);
}

static void communicators(void)
{
    MPI_Comm made[8];
    MPI_Group group, some;
    MPI_Info info;
    MPI_Request request;
    int key, first = 0, last = check_size - 1;
    MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    MPI_Info_create(&info);
    MPI_Info_set(info, "mpi_assert_no_any_tag", "true");
    MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &made[0]);
    MPI_Comm_set_attr(made[0], key, in);
    MPI_Comm_set_name(made[0], "kept");
    MPI_Comm_idup(made[0], &made[1], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &made[2]);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, info, &made[3]);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    MPI_Group_range_incl(group, 1, (int[][3]){{first, last, 1}}, &some);
    MPI_Comm_create(MPI_COMM_WORLD, some, &made[4]);
    MPI_Comm_create_group(MPI_COMM_WORLD, some, 5, &made[5]);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (const int[]){1}, 0, &made[6]);
    int below = (check_rank + last) % check_size;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &below, MPI_UNWEIGHTED, 1, &below, MPI_UNWEIGHTED, info, 0,
                                   &made[7]);
    MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, made[7]);
    MPI_Ibarrier(made[1], &request);
    MPI_Comm_free(&made[1]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    made[1] = MPI_COMM_NULL;
    free_all(made, 8);
    MPI_Group_free(&some);
    MPI_Group_free(&group);
    MPI_Info_free(&info);
    MPI_Comm_free_keyval(&key);
}

static void intercommunicators(void)
{
    MPI_Comm half, between, both, again;
    if (check_size == 1)
        return;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - check_rank % 2, 3, &between);
    MPI_Comm_dup(between, &again);
    MPI_Intercomm_merge(again, check_rank % 2, &both);
    MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, between);
    MPI_Barrier(both);
    free_all((MPI_Comm[]){half, between, both, again}, 4);
}

/* --- the test ------------------------------------------------------------------------------------------------ */

/* Fewer bytes a round are no leak: no block of the library's is so short. */
enum { LEAST = 16, TRIALS = 3 };

/* Pools of the library grow now and then, if more is under way than before; a leak is one in each trial. */
static void check_memory(const char *what, void (*round)(void), int rounds)
{
    size_t least = SIZE_MAX;
    for (int trial = 0; trial <= TRIALS; trial++) {
        size_t before = used();
        for (int i = 0; i < rounds; i++)
            round();
        MPI_Barrier(MPI_COMM_WORLD);
        size_t now = used(), more = now > before ? now - before : 0;
        if (trial > 0 && more < least)
            least = more;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (least >= (size_t)rounds * LEAST)
        fprintf(stderr, "%s: %zu bytes in %d rounds\n", what, least, rounds);
    CHECK(least < (size_t)rounds * LEAST);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int rounds = argc > 1 ? atoi(argv[1]) : 10;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (const int[]){1}, 0, &ring);
    prepare();
    check_memory("nonblocking", nonblocking, rounds);
    check_memory("at once", at_once, rounds);
    check_memory("persistent", persistent, rounds);
    check_memory("never started", never_started, rounds);
    check_memory("refused", refused, rounds);
    check_memory("blocking", blocking, rounds);
    check_memory("types and operators", types_and_operators, rounds);
    check_memory("communicators", communicators, rounds);
    check_memory("intercommunicators", intercommunicators, rounds);
    MPI_Comm_free(&ring);
    return check_end("leaks");
}
