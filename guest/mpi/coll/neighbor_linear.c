/* Linear neighbourhood exchange: all messages under way at once. It is the definition itself
 * (MPI 5.0, section 8.6), and with few neighbours there is little to gain. */
#include "mpi/coll/neighbor.h"
#include "mpi/transport/progress.h"

int chq_neighbor_linear(const struct neighbor_side *send, const struct neighbor_side *recv,
                        const struct neighbors *neighbors, struct communicator *comm)
{
    int error = MPI_SUCCESS, in = neighbors->in, out = neighbors->out;
    struct request *requests = chq_malloc((size_t)(in + out) * sizeof *requests);
    for (int i = 0; i < in; i++)
        coll_irecv(&requests[i], neighbor_block(recv, i), neighbor_count(recv, i), neighbor_type(recv, i),
                   neighbors->sources[i], COLL_NEIGHBOR, comm);
    for (int place = 0; place < out; place++) {
        int i = neighbors_sent(neighbors, place);
        coll_isend(&requests[in + i], neighbor_block(send, i), neighbor_count(send, i), neighbor_type(send, i),
                   neighbors->destinations[i], COLL_NEIGHBOR, comm);
    }
    for (int i = 0; i < in; i++) {
        int failed = chq_coll_received(&requests[i]);
        if (failed)
            error = failed;
    }
    for (int i = 0; i < out; i++)
        request_wait(&requests[in + i]);
    free(requests);
    return error;
}
