/* Reductions between two groups: each side reduces to its rank 0, and the sum goes across, so that
 * each side gets the other's. */
#include "mpi/coll/inter.h"

int chq_inter_reduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op, int root,
                     struct communicator *comm)
{
    struct bridge bridge;
    struct scratch scratch;
    if (root == MPI_PROC_NULL || count == 0)
        return MPI_SUCCESS;
    if (root == MPI_ROOT)
        return chq_coll_recv(recv, count, type, 0, COLL_REDUCE, comm);
    chq_bridge_of(comm, &bridge);
    void *sum = scratch_elements(&scratch, comm->rank == 0 ? count : 0, type);
    int error = chq_coll_reduce(send, sum, count, type, op, 0, bridge.home);
    if (!error && comm->rank == 0)
        chq_coll_send(sum, count, type, root, COLL_REDUCE, comm);
    scratch_free(&scratch);
    return error;
}

/* The other side's sum, at rank 0, in `theirs`. */
static int trade(const void *send, void *theirs, size_t count, struct datatype *type, const struct op *op,
                 struct communicator *home, struct communicator *comm)
{
    struct scratch scratch;
    void *sum = scratch_elements(&scratch, comm->rank == 0 ? count : 0, type);
    int error = chq_coll_reduce(send, sum, count, type, op, 0, home);
    if (!error && comm->rank == 0)
        error = chq_coll_exchange(sum, count, type, 0, theirs, count, type, 0, COLL_ALLREDUCE, comm);
    scratch_free(&scratch);
    return error;
}

int chq_inter_allreduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                        struct communicator *comm)
{
    struct bridge bridge;
    if (count == 0)
        return MPI_SUCCESS;
    if (send == recv)
        return coll_not_in_place();
    chq_bridge_of(comm, &bridge);
    int error = trade(send, recv, count, type, op, bridge.home, comm);
    return error || comm->local_size == 1 ? error : chq_coll_bcast(recv, count, type, 0, bridge.home);
}

int chq_inter_reduce_scatter(const void *send, void *recv, const int counts[], struct datatype *type,
                             const struct op *op, struct communicator *comm)
{
    struct bridge bridge;
    struct scratch scratch;
    int n = comm->local_size, total = 0;
    if (send == recv)
        return coll_not_in_place();
    chq_bridge_of(comm, &bridge);
    int *starts = chq_malloc((size_t)n * sizeof *starts);
    for (int i = 0; i < n; i++) {
        starts[i] = total;
        total += counts[i];
    }
    void *theirs = scratch_elements(&scratch, comm->rank == 0 ? (size_t)total : 0, type);
    struct side all = {theirs, 0, type, counts, starts}, own = {recv, (size_t)counts[comm->rank], type, NULL, NULL};
    int error = total > 0 ? trade(send, theirs, (size_t)total, type, op, bridge.home, comm) : MPI_SUCCESS;
    if (!error && total > 0)
        error = chq_scatter_linear(&all, &own, 0, bridge.home);
    scratch_free(&scratch);
    free(starts);
    return error;
}
