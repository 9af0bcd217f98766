/* Which algorithm a collective uses: the one table. A row holds up to a number of bytes and ranks;
 * the first row that fits and whose algorithm can do the case wins; the last row of each collective
 * fits always. Bytes are those of the vector of a rank (bcast, reduce, allreduce, scan), of a block
 * (gather, scatter, alltoall) or of the whole result (allgather, reduce_scatter).
 *
 * A program, or a test, can force an algorithm by name (chasqui/collectives.h). So can
 * the user (--mpi coll.allreduce=ring). There is no silent fallback: a forced algorithm that can't do a
 * case is an error.
 */
#include "chasqui/collectives.h"

#include "mpi/coll/coll.h"
#include "mpi/error.h"
#include "mpi/text.h"

enum { ALGORITHMS_MAX = 4, ROWS_MAX = 5, ANY_RANKS = INT32_MAX };
#define ANY_BYTES SIZE_MAX

struct algorithm {
    const char *name;
    unsigned needs;
};

struct row {
    size_t bytes_max;
    int ranks_max;
    int algorithm;
};

struct collective {
    const char *name;
    struct algorithm algorithms[ALGORITHMS_MAX];
    struct row rows[ROWS_MAX];
};

#define ENTRY(collective, name, function, needs) {#name, needs},
#define ALWAYS(algorithm) {ANY_BYTES, ANY_RANKS, algorithm}

/* An algorithm in the network interface is in no row: a device that has it is asked first. */
static const struct collective collectives[COLL_KINDS] = {
    [COLL_BARRIER] = {"barrier", {CHQ_BARRIER(ENTRY)}, {ALWAYS(barrier_is_dissemination)}},
    [COLL_BCAST] = {"bcast",
                    {CHQ_BCAST(ENTRY)},
                    {{12288, ANY_RANKS, bcast_is_binomial},
                     {ANY_BYTES, 7, bcast_is_binomial},
                     ALWAYS(bcast_is_scatter_allgather),
                     ALWAYS(bcast_is_binomial)}},
    [COLL_REDUCE] = {"reduce",
                     {CHQ_REDUCE(ENTRY)},
                     {{2048, ANY_RANKS, reduce_is_binomial}, ALWAYS(reduce_is_rabenseifner), ALWAYS(reduce_is_binomial)}},
    [COLL_ALLREDUCE] = {"allreduce",
                        {CHQ_ALLREDUCE(ENTRY)},
                        {{2048, ANY_RANKS, allreduce_is_recursive_doubling},
                         {1 << 20, ANY_RANKS, allreduce_is_rabenseifner},
                         ALWAYS(allreduce_is_ring),
                         ALWAYS(allreduce_is_recursive_doubling)}},
    [COLL_GATHER] = {"gather", {CHQ_GATHER(ENTRY)}, {{2048, ANY_RANKS, gather_is_binomial}, ALWAYS(gather_is_linear)}},
    [COLL_SCATTER] = {"scatter", {CHQ_SCATTER(ENTRY)}, {{2048, ANY_RANKS, scatter_is_binomial}, ALWAYS(scatter_is_linear)}},
    [COLL_ALLGATHER] = {"allgather",
                        {CHQ_ALLGATHER(ENTRY)},
                        {{524288, ANY_RANKS, allgather_is_recursive_doubling}, {81920, ANY_RANKS, allgather_is_bruck}, ALWAYS(allgather_is_ring)}},
    [COLL_ALLGATHERV] = {"allgatherv", {CHQ_ALLGATHERV(ENTRY)}, {{81920, ANY_RANKS, allgatherv_is_bruck}, ALWAYS(allgatherv_is_ring)}},
    [COLL_ALLTOALL] = {"alltoall",
                       {CHQ_ALLTOALL(ENTRY)},
                       {{256, 7, alltoall_is_pairwise}, {256, ANY_RANKS, alltoall_is_bruck}, ALWAYS(alltoall_is_pairwise)}},
    [COLL_ALLTOALLW] = {"alltoallw", {CHQ_ALLTOALLW(ENTRY)}, {ALWAYS(alltoallw_is_pairwise)}},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter",
                             {CHQ_REDUCE_SCATTER(ENTRY)},
                             {{524288, ANY_RANKS, reduce_scatter_is_halving}, ALWAYS(reduce_scatter_is_pairwise), ALWAYS(reduce_scatter_is_by_reduce)}},
    [COLL_SCAN] = {"scan", {CHQ_SCAN(ENTRY)}, {ALWAYS(scan_is_recursive_doubling)}},
    [COLL_EXSCAN] = {"exscan", {CHQ_EXSCAN(ENTRY)}, {ALWAYS(exscan_is_recursive_doubling)}},
};

/* Forced algorithm plus 1; ASK_NI: the table, unless the network interface takes the case; 0: the
 * table. One byte, so that what is usual costs one test. */
enum { ASK_NI = 0xff };
static uint8_t forced[COLL_KINDS];

static unsigned offers_of(const struct communicator *comm, size_t count, const struct datatype *type, const struct op *op)
{
    return (type_is_dense(type) ? NEED_DENSE : 0u) | (op && op->commutes ? NEED_COMMUTES : 0u) |
           ((comm->size & (comm->size - 1)) == 0 ? NEED_POWER_OF_TWO : 0u) | (count >= (size_t)comm->size ? NEED_COUNT : 0u);
}

/* The algorithm of the network interface; -1: the collective has none. */
static int ni_algorithm(enum coll_kind kind)
{
    for (int i = 0; i < ALGORITHMS_MAX && collectives[kind].algorithms[i].name; i++)
        if (collectives[kind].algorithms[i].needs & NEED_NI)
            return i;
    return -1;
}

static int from_table(enum coll_kind kind, size_t bytes, int ranks, unsigned offers)
{
    const struct collective *collective = &collectives[kind];
    const struct row *row = collective->rows;
    while (bytes > row->bytes_max || ranks > row->ranks_max || (collective->algorithms[row->algorithm].needs & ~offers))
        row++;
    return row->algorithm;
}

static __attribute__((noinline)) int select_unusual(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count,
                                                    const struct datatype *type, const struct op *op)
{
    int algorithm = forced[kind] == ASK_NI ? ni_algorithm(kind) : forced[kind] - 1;
    unsigned needs = collectives[kind].algorithms[algorithm].needs, offers = offers_of(comm, count, type, op);
    if ((needs & NEED_NI) && chq_ni_takes(kind, count, type, op, comm))
        offers |= NEED_NI;
    if (!(needs & ~offers))
        return algorithm;
    if (forced[kind] == ASK_NI)
        return from_table(kind, bytes, comm->size, offers);
    chq_reason(MPI_ERR_UNSUPPORTED_OPERATION, "the forced algorithm can't do this case");
    return -1;
}

int chq_coll_select(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count, const struct datatype *type,
                    const struct op *op)
{
    const struct collective *collective = &collectives[kind];
    const struct row *row = collective->rows;
    if (unlikely(forced[kind]))
        return select_unusual(kind, bytes, comm, count, type, op);
    /* Usually short, and the first row's algorithm can do everything. */
    if (likely(bytes <= row->bytes_max && comm->size <= row->ranks_max && !collective->algorithms[row->algorithm].needs))
        return row->algorithm;
    return from_table(kind, bytes, comm->size, offers_of(comm, count, type, op));
}

/* What decides when nothing is forced. */
static uint8_t unforced(enum coll_kind kind)
{
    return chq.device && chq.device->collective && ni_algorithm(kind) >= 0 ? ASK_NI : 0;
}

void chq_coll_ask_device(void)
{
    for (int kind = 0; kind < COLL_KINDS; kind++)
        forced[kind] = unforced(kind);
}

void chq_coll_force_all(const char *pairs)
{
    while (*pairs) {
        const char *algorithm = pairs + text_length(pairs) + 1;
        if (!chasqui_collective_force(pairs, algorithm))
            chq_die("this library lacks an algorithm that --mpi names: link the program again");
        pairs = algorithm + text_length(algorithm) + 1;
    }
}

int chasqui_collective_force(const char *collective, const char *algorithm)
{
    for (int kind = 0; kind < COLL_KINDS; kind++) {
        if (!text_equal(collectives[kind].name, collective))
            continue;
        if (!algorithm) {
            forced[kind] = unforced(kind);
            return 1;
        }
        for (int i = 0; i < ALGORITHMS_MAX && collectives[kind].algorithms[i].name; i++) {
            if (!text_equal(collectives[kind].algorithms[i].name, algorithm))
                continue;
            forced[kind] = (uint8_t)(i + 1);
            return 1;
        }
    }
    return 0;
}

const char *chasqui_collective_algorithm(const char *collective, int index)
{
    for (int kind = 0; kind < COLL_KINDS; kind++)
        if (text_equal(collectives[kind].name, collective))
            return index >= 0 && index < ALGORITHMS_MAX ? collectives[kind].algorithms[index].name : NULL;
    return NULL;
}
