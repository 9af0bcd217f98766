/* Which algorithm a collective uses: the one table. A row holds up to a number of bytes and ranks;
 * the first row that fits and whose algorithm can do the case wins; the last row of each collective
 * fits always. Bytes are those of the vector of a rank (bcast, reduce, allreduce, scan), of a block
 * (gather, scatter, alltoall) or of the whole result (allgather, reduce_scatter).
 *
 * A program, or a test, can force an algorithm by name (chasqui/collectives.h). There is no silent
 * fallback: a forced algorithm that can't do a case is an error.
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

static const struct collective collectives[COLL_KINDS] = {
    [COLL_BARRIER] = {"barrier", {{"dissemination", 0}}, {{ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_BCAST] = {"bcast",
                    {{"binomial", 0}, {"scatter_allgather", NEED_DENSE}},
                    {{12288, ANY_RANKS, 0}, {ANY_BYTES, 7, 0}, {ANY_BYTES, ANY_RANKS, 1}, {ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_REDUCE] = {"reduce",
                     {{"binomial", 0}, {"rabenseifner", NEED_COMMUTES | NEED_COUNT}},
                     {{2048, ANY_RANKS, 0}, {ANY_BYTES, ANY_RANKS, 1}, {ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_ALLREDUCE] = {"allreduce",
                        {{"recursive_doubling", 0}, {"ring", NEED_COMMUTES | NEED_COUNT}, {"rabenseifner", NEED_COMMUTES | NEED_COUNT}},
                        {{2048, ANY_RANKS, 0}, {1 << 20, ANY_RANKS, 2}, {ANY_BYTES, ANY_RANKS, 1}, {ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_GATHER] = {"gather", {{"binomial", 0}, {"linear", 0}}, {{2048, ANY_RANKS, 0}, {ANY_BYTES, ANY_RANKS, 1}}},
    [COLL_SCATTER] = {"scatter", {{"binomial", 0}, {"linear", 0}}, {{2048, ANY_RANKS, 0}, {ANY_BYTES, ANY_RANKS, 1}}},
    [COLL_ALLGATHER] = {"allgather",
                        {{"ring", 0}, {"recursive_doubling", NEED_POWER_OF_TWO}, {"bruck", 0}},
                        {{524288, ANY_RANKS, 1}, {81920, ANY_RANKS, 2}, {ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_ALLGATHERV] = {"allgatherv", {{"ring", 0}}, {{ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_ALLTOALL] = {"alltoall", {{"bruck", 0}, {"pairwise", 0}}, {{256, 7, 1}, {256, ANY_RANKS, 0}, {ANY_BYTES, ANY_RANKS, 1}}},
    [COLL_ALLTOALLW] = {"alltoallw", {{"pairwise", 0}}, {{ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter",
                             {{"pairwise", NEED_COMMUTES}, {"halving", NEED_COMMUTES | NEED_POWER_OF_TWO}, {"by_reduce", 0}},
                             {{524288, ANY_RANKS, 1}, {ANY_BYTES, ANY_RANKS, 0}, {ANY_BYTES, ANY_RANKS, 2}}},
    [COLL_SCAN] = {"scan", {{"recursive_doubling", 0}, {"linear", 0}}, {{ANY_BYTES, ANY_RANKS, 0}}},
    [COLL_EXSCAN] = {"exscan", {{"recursive_doubling", 0}, {"linear", 0}}, {{ANY_BYTES, ANY_RANKS, 0}}},
};

/* Forced algorithm plus 1; 0: the table decides. */
static uint8_t forced[COLL_KINDS];

static unsigned offers_of(const struct communicator *comm, size_t count, const struct datatype *type, const struct op *op)
{
    return (type_is_dense(type) ? NEED_DENSE : 0u) | (op && op->commutes ? NEED_COMMUTES : 0u) |
           ((comm->size & (comm->size - 1)) == 0 ? NEED_POWER_OF_TWO : 0u) | (count >= (size_t)comm->size ? NEED_COUNT : 0u);
}

static int forced_algorithm(enum coll_kind kind, unsigned offers)
{
    int algorithm = forced[kind] - 1;
    if (!(collectives[kind].algorithms[algorithm].needs & ~offers))
        return algorithm;
    chq_reason(MPI_ERR_UNSUPPORTED_OPERATION, "the forced algorithm can't do this case");
    return -1;
}

int chq_coll_select(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count, const struct datatype *type,
                    const struct op *op)
{
    const struct collective *collective = &collectives[kind];
    const struct row *row = collective->rows;
    if (unlikely(forced[kind]))
        return forced_algorithm(kind, offers_of(comm, count, type, op));
    /* Usually short, and the first row's algorithm can do everything. */
    if (likely(bytes <= row->bytes_max && comm->size <= row->ranks_max && !collective->algorithms[row->algorithm].needs))
        return row->algorithm;
    unsigned offers = offers_of(comm, count, type, op);
    while (bytes > row->bytes_max || comm->size > row->ranks_max || (collective->algorithms[row->algorithm].needs & ~offers))
        row++;
    return row->algorithm;
}

int chasqui_collective_force(const char *collective, const char *algorithm)
{
    for (int kind = 0; kind < COLL_KINDS; kind++) {
        if (!text_equal(collectives[kind].name, collective))
            continue;
        if (!algorithm) {
            forced[kind] = 0;
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
