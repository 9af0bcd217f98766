/* Ring allgather, with equal or differing blocks: n - 1 steps, in each every rank passes on the
 * block it got last. Only neighbours talk.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

int chq_allgather_ring(const struct side *send, const struct side *recv, struct communicator *comm)
{
    int n = comm->size, right = ring_add(comm->rank, 1, n), left = ring_subtract(comm->rank, 1, n), error = MPI_SUCCESS;
    chq_copy_typed(send->buffer, send->count, send->type, side_block(recv, comm->rank), side_count(recv, comm->rank),
                   recv->type);
    int mine = comm->rank;
    for (int step = 1; step < n && !error; step++) {
        int next = ring_subtract(mine, 1, n);
        error =
            chq_coll_exchange(side_block(recv, mine), side_count(recv, mine), recv->type, right, side_block(recv, next),
                              side_count(recv, next), recv->type, left, COLL_ALLGATHER, comm);
        mine = next;
    }
    return error;
}
