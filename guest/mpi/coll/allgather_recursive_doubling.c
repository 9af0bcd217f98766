/* Recursive doubling allgather: in round k partners at distance 2^k exchange all they have; log2 n
 * rounds. Needs a power of two of ranks.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

int chq_allgather_recursive_doubling(const struct side *send, const struct side *recv, struct communicator *comm)
{
    int error = MPI_SUCCESS;
    chq_copy_typed(send->buffer, send->count, send->type, side_block(recv, comm->rank), recv->count, recv->type);
    for (int mask = 1; mask < comm->size && !error; mask <<= 1) {
        int partner = comm->rank ^ mask, mine = comm->rank & ~(mask - 1), theirs = mine ^ mask;
        error = chq_coll_exchange(side_block(recv, mine), (size_t)mask * recv->count, recv->type, partner,
                                  side_block(recv, theirs), (size_t)mask * recv->count, recv->type, partner,
                                  COLL_ALLGATHER, comm);
    }
    return error;
}
