/* Dissemination barrier: in round k every rank signals the one 2^k further on and waits for the one
 * 2^k before; ceil(log2 n) rounds.
 * Hensgen, Finkel, Manber: Two Algorithms for Barrier Synchronization. Int. J. of Parallel
 * Programming 17(1), 1988. */
#include "mpi/coll/coll.h"
#include "mpi/runtime/mark.h"

int chq_barrier_dissemination(struct communicator *comm)
{
    int n = comm->size, error = MPI_SUCCESS;
    for (int distance = 1; distance < n && !error; distance <<= 1)
        error = chq_coll_exchange(NULL, 0, type_byte(), ring_add(comm->rank, distance, n), NULL, 0, type_byte(),
                                  ring_subtract(comm->rank, distance, n), COLL_BARRIER, comm);
    return error;
}
