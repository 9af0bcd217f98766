/* Linear gather and scatter: the root talks to each rank directly; all its messages are under way
 * at once. Serves the forms with counts too. */
#include "mpi/coll/coll.h"
#include "mpi/transport/progress.h"

int chq_gather_linear(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size, error = MPI_SUCCESS;
    if (comm->rank != root) {
        chq_coll_send(send->buffer, send->count, send->type, root, COLL_GATHER, comm);
        return MPI_SUCCESS;
    }
    struct request *requests = chq_malloc((size_t)n * sizeof *requests);
    for (int i = 0; i < n; i++)
        if (i != root)
            coll_irecv(&requests[i], side_block(recv, i), side_count(recv, i), recv->type, i, COLL_GATHER, comm);
    chq_copy_typed(send->buffer, send->count, send->type, side_block(recv, root), side_count(recv, root), recv->type);
    for (int i = 0; i < n; i++) {
        int failed = i == root ? MPI_SUCCESS : chq_coll_received(&requests[i]);
        if (failed)
            error = failed;
    }
    free(requests);
    return error;
}

int chq_scatter_linear(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size;
    if (comm->rank != root)
        return chq_coll_recv(recv->buffer, recv->count, recv->type, root, COLL_SCATTER, comm);
    struct request *requests = chq_malloc((size_t)n * sizeof *requests);
    for (int i = 0; i < n; i++)
        if (i != root)
            coll_isend(&requests[i], side_block(send, i), side_count(send, i), send->type, i, COLL_SCATTER, comm);
    chq_copy_typed(side_block(send, root), side_count(send, root), send->type, recv->buffer, recv->count, recv->type);
    for (int i = 0; i < n; i++)
        if (i != root)
            request_wait(&requests[i]);
    free(requests);
    return MPI_SUCCESS;
}
