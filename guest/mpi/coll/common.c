/* What the algorithms share. */
#include "mpi/coll/coll.h"
#include "mpi/runtime/mark.h"
#include "mpi/transport/progress.h"

int chq_coll_received(struct request *request)
{
    request_wait(request);
    MARK_DONE(request);
    return request->error;
}

void chq_coll_send(const void *buffer, size_t count, struct datatype *type, int to, int tag, struct communicator *comm)
{
    struct request send;
    coll_isend(&send, buffer, count, type, to, tag, comm);
    request_wait(&send);
}

int chq_coll_recv(void *buffer, size_t count, struct datatype *type, int from, int tag, struct communicator *comm)
{
    struct request receive;
    coll_irecv(&receive, buffer, count, type, from, tag, comm);
    return chq_coll_received(&receive);
}

int chq_coll_exchange(const void *send_buffer, size_t send_count, struct datatype *send_type, int to, void *recv_buffer,
                      size_t recv_count, struct datatype *recv_type, int from, int tag, struct communicator *comm)
{
    struct request send, receive;
    coll_irecv(&receive, recv_buffer, recv_count, recv_type, from, tag, comm);
    coll_isend(&send, send_buffer, send_count, send_type, to, tag, comm);
    int error = chq_coll_received(&receive);
    request_wait(&send);
    return error;
}

void *chq_scratch(struct scratch *scratch, size_t bytes)
{
    scratch->heap = NULL;
    if (likely(bytes <= sizeof scratch->small))
        return scratch->small;
    scratch->heap = chq_malloc(bytes);
    return scratch->heap;
}
