/* Which algorithm a collective uses: the one table. A row holds up to a number of bytes and ranks;
 * the first row that fits and whose algorithm can do the case wins; the last row of each collective
 * fits always. Bytes are those of the vector of a rank (bcast, reduce, allreduce, scan), of a block
 * (gather, scatter, alltoall) or of the whole result (allgather, reduce_scatter). In a gatherv or scatterv
 * most ranks know no bytes but their own, so the rows ask for ranks alone: up to some number the tree's
 * rounds, each of two messages, take longer than the root's messages to each rank (where, depends on the
 * machine: an assumption of ours).
 *
 * The table is here so that what is constant of it is constant in the caller: usually no more is left of
 * a choice than whether something is forced and whether the data is short.
 */
#ifndef CHASQUI_SELECT_H
#define CHASQUI_SELECT_H

#include "mpi/coll/coll.h"

enum { ALGORITHMS_MAX = 4, ROWS_MAX = 6, ANY_RANKS = INT32_MAX };
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
static const struct collective coll_table[COLL_KINDS] = {
    [COLL_BARRIER] = {"barrier", {CHQ_BARRIER(ENTRY)}, {ALWAYS(barrier_is_dissemination)}},
    [COLL_BCAST] = {"bcast",
                    {CHQ_BCAST(ENTRY)},
                    {{12288, ANY_RANKS, bcast_is_binomial},
                     {(1 << 19) - 1, 7, bcast_is_binomial},
                     {(1 << 19) - 1, ANY_RANKS, bcast_is_scatter_allgather},
                     {ANY_BYTES, 8, bcast_is_chain},
                     ALWAYS(bcast_is_scatter_allgather),
                     ALWAYS(bcast_is_binomial)}},
    [COLL_REDUCE] = {"reduce",
                     {CHQ_REDUCE(ENTRY)},
                     {{2048, ANY_RANKS, reduce_is_binomial},
                      ALWAYS(reduce_is_rabenseifner),
                      ALWAYS(reduce_is_binomial)}},
    [COLL_ALLREDUCE] = {"allreduce",
                        {CHQ_ALLREDUCE(ENTRY)},
                        {{2048, ANY_RANKS, allreduce_is_recursive_doubling},
                         {1 << 20, ANY_RANKS, allreduce_is_rabenseifner},
                         ALWAYS(allreduce_is_ring),
                         ALWAYS(allreduce_is_recursive_doubling)}},
    [COLL_GATHER] = {"gather", {CHQ_GATHER(ENTRY)}, {{2048, ANY_RANKS, gather_is_binomial}, ALWAYS(gather_is_linear)}},
    [COLL_SCATTER] = {"scatter",
                      {CHQ_SCATTER(ENTRY)},
                      {{2048, ANY_RANKS, scatter_is_binomial}, ALWAYS(scatter_is_linear)}},
    [COLL_GATHERV] = {"gatherv",
                      {CHQ_GATHERV(ENTRY)},
                      {{ANY_BYTES, 64, gatherv_is_linear}, ALWAYS(gatherv_is_binomial)}},
    [COLL_SCATTERV] = {"scatterv",
                       {CHQ_SCATTERV(ENTRY)},
                       {{ANY_BYTES, 64, scatterv_is_linear}, ALWAYS(scatterv_is_binomial)}},
    [COLL_ALLGATHER] = {"allgather",
                        {CHQ_ALLGATHER(ENTRY)},
                        {{524288, ANY_RANKS, allgather_is_recursive_doubling},
                         {81920, ANY_RANKS, allgather_is_bruck},
                         ALWAYS(allgather_is_ring)}},
    [COLL_ALLGATHERV] = {"allgatherv",
                         {CHQ_ALLGATHERV(ENTRY)},
                         {{81920, ANY_RANKS, allgatherv_is_bruck}, ALWAYS(allgatherv_is_ring)}},
    [COLL_ALLTOALL] = {"alltoall",
                       {CHQ_ALLTOALL(ENTRY)},
                       {{256, 7, alltoall_is_pairwise},
                        {256, ANY_RANKS, alltoall_is_bruck},
                        ALWAYS(alltoall_is_pairwise)}},
    [COLL_ALLTOALLW] = {"alltoallw", {CHQ_ALLTOALLW(ENTRY)}, {ALWAYS(alltoallw_is_pairwise)}},
    [COLL_REDUCE_SCATTER] = {"reduce_scatter",
                             {CHQ_REDUCE_SCATTER(ENTRY)},
                             {{524288, ANY_RANKS, reduce_scatter_is_halving},
                              ALWAYS(reduce_scatter_is_pairwise),
                              ALWAYS(reduce_scatter_is_by_reduce)}},
    [COLL_SCAN] = {"scan", {CHQ_SCAN(ENTRY)}, {ALWAYS(scan_is_recursive_doubling)}},
    [COLL_EXSCAN] = {"exscan", {CHQ_EXSCAN(ENTRY)}, {ALWAYS(exscan_is_recursive_doubling)}},
};

/* By collective, what is forced; 0: nothing (select.c). */
extern uint8_t chq_coll_forced[COLL_KINDS];

/* The rest of coll_select, for all but the most usual cases. */
int chq_coll_select(enum coll_kind kind, size_t bytes, const struct communicator *comm, size_t count,
                    const struct datatype *type, const struct op *op);

/* The algorithm for a case of `bytes`; -1: the program forces one that can't do it. */
static inline __attribute__((always_inline)) int coll_select(enum coll_kind kind, size_t bytes,
                                                             const struct communicator *comm, size_t count,
                                                             const struct datatype *type, const struct op *op)
{
    const struct collective *collective = &coll_table[kind];
    const struct row *row = collective->rows;
    /* Usually short, and the first row's algorithm can do everything. */
    if (likely(!chq_coll_forced[kind] && bytes <= row->bytes_max && comm->size <= row->ranks_max &&
               !collective->algorithms[row->algorithm].needs))
        return row->algorithm;
    return chq_coll_select(kind, bytes, comm, count, type, op);
}

#endif
