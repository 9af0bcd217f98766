/* Pairwise all-to-all, for all its forms: in step i every rank sends to the one i further on and
 * receives from the one i before; n - 1 steps without contention at the ends.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

int chq_alltoall_pairwise(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    blocks_copy_own(send, recv, rank);
    for (int step = 1; step < n && !error; step++) {
        int to = ring_add(rank, step, n), from = ring_subtract(rank, step, n);
        error = chq_coll_exchange(blocks_at(send, to), blocks_count(send, to), blocks_type(send, to), to,
                                  blocks_at(recv, from), blocks_count(recv, from), blocks_type(recv, from), from,
                                  COLL_ALLTOALL, comm);
    }
    return error;
}
