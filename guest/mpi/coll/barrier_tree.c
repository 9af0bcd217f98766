/* Tree barrier: signals go up a binomial tree and come down again; 2 (n - 1) messages in 2 ceil(log2 n)
 * steps, where dissemination sends n ceil(log2 n) in half the steps.
 * Mellor-Crummey, Scott: Algorithms for Scalable Synchronization on Shared-Memory Multiprocessors. ACM
 * Trans. on Computer Systems 9(1), 1991. */
#include "mpi/coll/coll.h"

int chq_barrier_tree(struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS, mask = 1;
    for (; mask < n && !(rank & mask) && !error; mask <<= 1)
        if (rank + mask < n)
            error = chq_coll_recv(NULL, 0, type_byte(), rank + mask, COLL_BARRIER, comm);
    if (rank != 0 && !error) {
        chq_coll_send(NULL, 0, type_byte(), rank - mask, COLL_BARRIER, comm);
        error = chq_coll_recv(NULL, 0, type_byte(), rank - mask, COLL_BARRIER, comm);
    }
    for (mask >>= 1; mask > 0 && !error; mask >>= 1)
        if (rank + mask < n)
            chq_coll_send(NULL, 0, type_byte(), rank + mask, COLL_BARRIER, comm);
    return error;
}
