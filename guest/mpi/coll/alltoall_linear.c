/* Linear all-to-all, for all its forms: every message is under way at once, each rank beginning with
 * the one after it so that they don't all send to the same. Fewest steps where nodes and network can
 * keep many messages apart. */
#include "mpi/coll/coll.h"
#include "mpi/transport/progress.h"

int chq_alltoall_linear(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    struct request *receives = chq_malloc(2 * (size_t)n * sizeof *receives), *sends = receives + n;
    for (int step = 1; step < n; step++) {
        int from = ring_subtract(rank, step, n);
        coll_irecv(&receives[step], blocks_at(recv, from), blocks_count(recv, from), blocks_type(recv, from), from,
                   COLL_ALLTOALL, comm);
    }
    for (int step = 1; step < n; step++) {
        int to = ring_add(rank, step, n);
        coll_isend(&sends[step], blocks_at(send, to), blocks_count(send, to), blocks_type(send, to), to, COLL_ALLTOALL,
                   comm);
    }
    blocks_copy_own(send, recv, rank);
    for (int step = 1; step < n; step++) {
        int failed = chq_coll_received(&receives[step]);
        error = failed ? failed : error;
    }
    for (int step = 1; step < n; step++)
        request_wait(&sends[step]);
    free(receives);
    return error;
}
