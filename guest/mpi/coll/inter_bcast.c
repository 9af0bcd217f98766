/* Barrier and broadcast between two groups. Barrier: each side meets, the leaders exchange a message,
 * and each leader releases its side. Broadcast: the root sends to the other side's rank 0, which
 * broadcasts to its own. */
#include "mpi/coll/inter.h"

int chq_inter_barrier(struct communicator *comm)
{
    struct bridge bridge;
    chq_bridge_of(comm, &bridge);
    int error = chq_coll_barrier(bridge.home);
    return error ? error : chq_bridge_exchange(&bridge, NULL, 0, NULL, 0);
}

int chq_inter_bcast(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    struct bridge bridge;
    if (root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (root == MPI_ROOT) {
        chq_coll_send(buffer, count, type, 0, COLL_BCAST, comm);
        return MPI_SUCCESS;
    }
    chq_bridge_of(comm, &bridge);
    int error = comm->rank == 0 ? chq_coll_recv(buffer, count, type, root, COLL_BCAST, comm) : MPI_SUCCESS;
    return error || comm->local_size == 1 ? error : chq_coll_bcast(buffer, count, type, 0, bridge.home);
}
