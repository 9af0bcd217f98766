/* All-to-all between two groups, for all its forms: as many steps as the larger group has ranks; in
 * step i rank r sends to the other side's r + i and receives from its r - i, modulo that number,
 * where there is such a rank. */
#include "mpi/coll/inter.h"
#include "mpi/transport/progress.h"

int chq_inter_alltoall(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int steps = comm->size > comm->local_size ? comm->size : comm->local_size, error = MPI_SUCCESS;
    for (int step = 0; step < steps && !error; step++) {
        int to = ring_add(comm->rank, step, steps), from = ring_subtract(comm->rank, step, steps);
        struct request out, in;
        if (from < comm->size)
            coll_irecv(&in, blocks_at(recv, from), blocks_count(recv, from), blocks_type(recv, from), from,
                       COLL_ALLTOALL, comm);
        if (to < comm->size) {
            coll_isend(&out, blocks_at(send, to), blocks_count(send, to), blocks_type(send, to), to, COLL_ALLTOALL,
                       comm);
            request_wait(&out);
        }
        if (from < comm->size)
            error = chq_coll_received(&in);
    }
    return error;
}
