/* Binomial tree broadcast: ceil(log2 n) rounds, each the whole message.
 * Barnett et al.: Interprocessor Collective Communication Library. SHPCC 1994. */
#include "mpi/coll/coll.h"

int chq_bcast_binomial(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), mask = 1, error = MPI_SUCCESS;
    while (mask < n && !(relative & mask))
        mask <<= 1;
    if (mask < n)
        error = chq_coll_recv(buffer, count, type, ring_add(relative & ~mask, root, n), COLL_BCAST, comm);
    for (mask >>= 1; mask > 0 && !error; mask >>= 1)
        if (relative + mask < n)
            chq_coll_send(buffer, count, type, ring_add(relative + mask, root, n), COLL_BCAST, comm);
    return error;
}
