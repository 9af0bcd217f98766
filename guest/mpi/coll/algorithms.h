/* Generated from crates/abi/src/collectives.rs; change that and run `make headers`. */
#ifndef CHASQUI_ALGORITHMS_H
#define CHASQUI_ALGORITHMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define _Static_assert static_assert
#endif

/* What a case must have for an algorithm to do it. */
enum {
    NEED_COMMUTES = 1, /* The operator commutes. */
    NEED_DENSE = 2, /* The data is one run of bytes. */
    NEED_POWER_OF_TWO = 4, /* The number of ranks is a power of two. */
    NEED_COUNT = 8, /* There is at least one element a rank. */
    NEED_NI = 16, /* The network interface takes the case. */
};

/* The collectives. A tag within the collective context each: collectives of one communicator happen in the
 * same order everywhere and messages don't overtake, so that one is enough. */
enum coll_kind {
    COLL_BARRIER,
    COLL_BCAST,
    COLL_REDUCE,
    COLL_ALLREDUCE,
    COLL_GATHER,
    COLL_SCATTER,
    COLL_GATHERV,
    COLL_SCATTERV,
    COLL_ALLGATHER,
    COLL_ALLGATHERV,
    COLL_ALLTOALL,
    COLL_ALLTOALLW,
    COLL_REDUCE_SCATTER,
    COLL_SCAN,
    COLL_EXSCAN,
    COLL_KINDS
};

/* An entry of a list is the collective, the algorithm's name, its function and what it needs. */
#define CHQ_BARRIER(ALGORITHM) \
    ALGORITHM(barrier, dissemination, chq_barrier_dissemination, 0) \
    ALGORITHM(barrier, tree, chq_barrier_tree, 0) \
    ALGORITHM(barrier, ni, chq_barrier_ni, NEED_NI)
#define CHQ_BCAST(ALGORITHM) \
    ALGORITHM(bcast, binomial, chq_bcast_binomial, 0) \
    ALGORITHM(bcast, scatter_allgather, chq_bcast_scatter_allgather, NEED_DENSE) \
    ALGORITHM(bcast, chain, chq_bcast_chain, NEED_DENSE) \
    ALGORITHM(bcast, ni, chq_bcast_ni, NEED_NI | NEED_DENSE)
#define CHQ_REDUCE(ALGORITHM) \
    ALGORITHM(reduce, binomial, chq_reduce_binomial, 0) \
    ALGORITHM(reduce, rabenseifner, chq_reduce_rabenseifner, NEED_COMMUTES | NEED_COUNT) \
    ALGORITHM(reduce, ni, chq_reduce_ni, NEED_NI | NEED_DENSE)
#define CHQ_ALLREDUCE(ALGORITHM) \
    ALGORITHM(allreduce, recursive_doubling, chq_allreduce_recursive_doubling, 0) \
    ALGORITHM(allreduce, ring, chq_allreduce_ring, NEED_COMMUTES | NEED_COUNT) \
    ALGORITHM(allreduce, rabenseifner, chq_allreduce_rabenseifner, NEED_COMMUTES | NEED_COUNT) \
    ALGORITHM(allreduce, ni, chq_allreduce_ni, NEED_NI | NEED_DENSE)
#define CHQ_GATHER(ALGORITHM) \
    ALGORITHM(gather, binomial, chq_gather_binomial, 0) \
    ALGORITHM(gather, linear, chq_gather_linear, 0) \
    ALGORITHM(gather, ni, chq_gather_ni, NEED_NI)
#define CHQ_SCATTER(ALGORITHM) \
    ALGORITHM(scatter, binomial, chq_scatter_binomial, 0) \
    ALGORITHM(scatter, linear, chq_scatter_linear, 0) \
    ALGORITHM(scatter, ni, chq_scatter_ni, NEED_NI)
#define CHQ_GATHERV(ALGORITHM) \
    ALGORITHM(gatherv, linear, chq_gather_linear, 0) \
    ALGORITHM(gatherv, binomial, chq_gatherv_binomial, 0)
#define CHQ_SCATTERV(ALGORITHM) \
    ALGORITHM(scatterv, linear, chq_scatter_linear, 0) \
    ALGORITHM(scatterv, binomial, chq_scatterv_binomial, 0)
#define CHQ_ALLGATHER(ALGORITHM) \
    ALGORITHM(allgather, ring, chq_allgather_ring, 0) \
    ALGORITHM(allgather, recursive_doubling, chq_allgather_recursive_doubling, NEED_POWER_OF_TWO) \
    ALGORITHM(allgather, bruck, chq_allgather_bruck, 0)
#define CHQ_ALLGATHERV(ALGORITHM) \
    ALGORITHM(allgatherv, ring, chq_allgather_ring, 0) \
    ALGORITHM(allgatherv, bruck, chq_allgatherv_bruck, 0)
#define CHQ_ALLTOALL(ALGORITHM) \
    ALGORITHM(alltoall, bruck, chq_alltoall_bruck, 0) \
    ALGORITHM(alltoall, pairwise, chq_alltoall_pairwise, 0) \
    ALGORITHM(alltoall, linear, chq_alltoall_linear, 0)
#define CHQ_ALLTOALLW(ALGORITHM) \
    ALGORITHM(alltoallw, pairwise, chq_alltoall_pairwise, 0) \
    ALGORITHM(alltoallw, linear, chq_alltoall_linear, 0)
#define CHQ_REDUCE_SCATTER(ALGORITHM) \
    ALGORITHM(reduce_scatter, pairwise, chq_reduce_scatter_pairwise, NEED_COMMUTES) \
    ALGORITHM(reduce_scatter, halving, chq_reduce_scatter_halving, NEED_COMMUTES | NEED_POWER_OF_TWO) \
    ALGORITHM(reduce_scatter, by_reduce, chq_reduce_scatter_by_reduce, 0)
#define CHQ_SCAN(ALGORITHM) \
    ALGORITHM(scan, recursive_doubling, chq_scan_recursive_doubling, 0) \
    ALGORITHM(scan, linear, chq_scan_linear, 0)
#define CHQ_EXSCAN(ALGORITHM) \
    ALGORITHM(exscan, recursive_doubling, chq_exscan_recursive_doubling, 0) \
    ALGORITHM(exscan, linear, chq_exscan_linear, 0)

/* The number of an algorithm among its collective's: bcast_is_binomial. */
#define CHQ_ALGORITHM_NUMBER(collective, name, function, needs) collective##_is_##name,
enum { CHQ_BARRIER(CHQ_ALGORITHM_NUMBER) BARRIER_ALGORITHMS };
enum { CHQ_BCAST(CHQ_ALGORITHM_NUMBER) BCAST_ALGORITHMS };
enum { CHQ_REDUCE(CHQ_ALGORITHM_NUMBER) REDUCE_ALGORITHMS };
enum { CHQ_ALLREDUCE(CHQ_ALGORITHM_NUMBER) ALLREDUCE_ALGORITHMS };
enum { CHQ_GATHER(CHQ_ALGORITHM_NUMBER) GATHER_ALGORITHMS };
enum { CHQ_SCATTER(CHQ_ALGORITHM_NUMBER) SCATTER_ALGORITHMS };
enum { CHQ_GATHERV(CHQ_ALGORITHM_NUMBER) GATHERV_ALGORITHMS };
enum { CHQ_SCATTERV(CHQ_ALGORITHM_NUMBER) SCATTERV_ALGORITHMS };
enum { CHQ_ALLGATHER(CHQ_ALGORITHM_NUMBER) ALLGATHER_ALGORITHMS };
enum { CHQ_ALLGATHERV(CHQ_ALGORITHM_NUMBER) ALLGATHERV_ALGORITHMS };
enum { CHQ_ALLTOALL(CHQ_ALGORITHM_NUMBER) ALLTOALL_ALGORITHMS };
enum { CHQ_ALLTOALLW(CHQ_ALGORITHM_NUMBER) ALLTOALLW_ALGORITHMS };
enum { CHQ_REDUCE_SCATTER(CHQ_ALGORITHM_NUMBER) REDUCE_SCATTER_ALGORITHMS };
enum { CHQ_SCAN(CHQ_ALGORITHM_NUMBER) SCAN_ALGORITHMS };
enum { CHQ_EXSCAN(CHQ_ALGORITHM_NUMBER) EXSCAN_ALGORITHMS };

/* An entry of a dispatch table. */
#define CHQ_ALGORITHM_FUNCTION(collective, name, function, needs) function,

#endif
