/* Pairwise all-to-all, for all its forms: in step i every rank sends to the one i further on and
 * receives from the one i before; n - 1 steps without contention at the ends.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

static struct datatype *block_type(const struct blocks *side, int rank) { return side->types ? type_of(side->types[rank]) : side->type; }

static size_t block_count(const struct blocks *side, int rank) { return side->counts ? (size_t)side->counts[rank] : side->count; }

static char *block_at(const struct blocks *side, int rank)
{
    if (side->types)
        return side->buffer + side->displacements[rank];
    return element(side->buffer, side->counts ? (size_t)(MPI_Aint)side->displacements[rank] : (size_t)rank * side->count, side->type);
}

int chq_alltoall_pairwise(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    chq_copy_typed(block_at(send, rank), block_count(send, rank), block_type(send, rank), block_at(recv, rank), block_count(recv, rank),
                   block_type(recv, rank));
    for (int step = 1; step < n && !error; step++) {
        int to = ring_add(rank, step, n), from = ring_subtract(rank, step, n);
        error = chq_coll_exchange(block_at(send, to), block_count(send, to), block_type(send, to), to, block_at(recv, from),
                                  block_count(recv, from), block_type(recv, from), from, COLL_ALLTOALL, comm);
    }
    return error;
}
