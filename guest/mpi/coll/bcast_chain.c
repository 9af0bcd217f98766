/* Pipelined broadcast of very long messages: the ranks are a chain, along which the data goes in
 * segments; each rank passes one on while the next comes in. n - 2 + segments steps; each byte
 * crosses a rank's link once each way.
 * Pjesivac-Grbovic et al.: Performance Analysis of MPI Collective Operations. Cluster Computing
 * 10(2), 2007.
 * Needs dense data: it is cut at bytes. */
#include "mpi/coll/coll.h"
#include "mpi/transport/progress.h"

enum { SEGMENT_BYTES = 32768 };

int chq_bcast_chain(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), error = MPI_SUCCESS;
    int before = ring_subtract(comm->rank, 1, n), behind = ring_add(comm->rank, 1, n);
    size_t total = count * type->size;
    struct request send;
    bool sending = false;
    for (size_t at = 0; at < total && !error; at += SEGMENT_BYTES) {
        size_t bytes = total - at < SEGMENT_BYTES ? total - at : SEGMENT_BYTES;
        char *segment = (char *)buffer + at;
        if (relative > 0)
            error = chq_coll_recv(segment, bytes, type_byte(), before, COLL_BCAST, comm);
        if (sending)
            request_wait(&send);
        sending = relative + 1 < n && !error;
        if (sending)
            coll_isend(&send, segment, bytes, type_byte(), behind, COLL_BCAST, comm);
    }
    if (sending)
        request_wait(&send);
    return error;
}
