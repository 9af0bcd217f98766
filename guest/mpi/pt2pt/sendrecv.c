/* MPI_Sendrecv, MPI_Sendrecv_replace and their nonblocking forms (MPI 5.0, section 3.11). */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

/* The receive is posted first, so that the partner's message meets it. */
static int exchange(const char *call, const void *send_buffer, int send_count, struct datatype *send_type,
                    int destination, int send_tag, void *buffer, int count, struct datatype *type, int source, int tag,
                    struct communicator *comm, MPI_Status *status)
{
    int error = chq_send_check(send_buffer, send_count, send_type, destination, send_tag, comm);
    if (!error)
        error = chq_receive_check(buffer, count, type, source, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    struct request receive, send;
    request_start(&receive, REQUEST_RECEIVE);
    request_start(&send, REQUEST_SEND);
    chq_receive_start(&receive, buffer, (size_t)count, type, source, tag, comm, CONTEXT_POINT);
    chq_send_start(&send, SEND_HOW(MODE_STANDARD, CONTEXT_POINT), send_buffer, (size_t)send_count, send_type,
                   destination, send_tag, comm);
    request_wait(&receive);
    request_wait(&send);
    if (status)
        chq_status_of(&receive, status);
    MARK_DONE(&receive);
    return receive.error ? chq_fail(comm, call, receive.error, "message truncated") : MPI_SUCCESS;
}

/* With the lock, where there are threads. */
static __attribute__((noinline)) int exchange_locked(const void *send_buffer, int send_count,
                                                     struct datatype *send_type, int destination, int send_tag,
                                                     void *buffer, int count, struct datatype *type, int source,
                                                     int tag, struct communicator *comm, MPI_Status *status)
{
    chq_lock("MPI_Sendrecv");
    int error = exchange("MPI_Sendrecv", send_buffer, send_count, send_type, destination, send_tag, buffer, count, type,
                         source, tag, comm, status);
    chq_unlock();
    return error;
}

int PMPI_Sendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Status *status)
{
    MARK_CALL(CALL_SENDRECV);
    struct communicator *c = comm_of(comm);
    struct datatype *send_type = type_of(sendtype), *type = type_of(recvtype);
    int error = likely(!chq.threaded) ? exchange("MPI_Sendrecv", sendbuf, sendcount, send_type, dest, sendtag, recvbuf,
                                                 recvcount, type, source, recvtag, c, status)
                                      : exchange_locked(sendbuf, sendcount, send_type, dest, sendtag, recvbuf,
                                                        recvcount, type, source, recvtag, c, status);
    MARK_RETURN(CALL_SENDRECV);
    return error;
}
MPI_ALIAS(Sendrecv);

int PMPI_Sendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                          MPI_Comm comm, MPI_Status *status)
{
    CALL_ENTER(CALL_SENDRECV_REPLACE);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    int error = chq_send_check(buf, count, type, dest, sendtag, c);
    if (error) {
        error = chq_fail(c, "MPI_Sendrecv_replace", error, NULL);
    } else {
        size_t bytes = (size_t)count * type->size;
        uint64_t small[16];
        void *copy = bytes <= sizeof small ? small : chq_malloc(bytes);
        chq_pack(buf, (size_t)count, type, copy, bytes);
        /* Packed data is sent as bytes: the receiver unpacks it by its own type. */
        struct datatype *packed = type_of(MPI_PACKED);
        if (bytes <= INT32_MAX)
            error = exchange("MPI_Sendrecv_replace", copy, (int)bytes, packed, dest, sendtag, buf, count, type, source,
                             recvtag, c, status);
        else
            error = chq_fail(c, "MPI_Sendrecv_replace", MPI_ERR_COUNT, "more than 2 GiB of data");
        if (copy != small)
            free(copy);
    }
    CALL_LEAVE(CALL_SENDRECV_REPLACE);
    return error;
}
MPI_ALIAS(Sendrecv_replace);

/* The data leave from a copy, as a buffered send's do, so that the receive alone is the request and
 * the send ends when it can. */
static int start_exchange(const char *call, const void *send_buffer, int send_count, struct datatype *send_type,
                          int destination, int send_tag, void *buffer, int count, struct datatype *type, int source,
                          int tag, struct communicator *comm, MPI_Request *result)
{
    int error = chq_send_check(send_buffer, send_count, send_type, destination, send_tag, comm);
    if (!error)
        error = chq_receive_check(buffer, count, type, source, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    struct request *receive = request_new(REQUEST_RECEIVE), *send = request_new(REQUEST_SEND);
    size_t bytes = (size_t)send_count * send_type->size;
    send->packed = chq_malloc(bytes);
    send->ends = true;
    chq_pack(send_buffer, (size_t)send_count, send_type, send->packed, bytes);
    receive->counted = true;
    comm_retain(comm);
    chq_receive_start(receive, buffer, (size_t)count, type, source, tag, comm, CONTEXT_POINT);
    chq_send_start(send, SEND_HOW(MODE_STANDARD, CONTEXT_POINT), send->packed, bytes, type_of(MPI_PACKED), destination,
                   send_tag, comm);
    MPI_Request handle = (MPI_Request)send;
    PMPI_Request_free(&handle);
    *result = (MPI_Request)receive;
    return MPI_SUCCESS;
}

int PMPI_Isendrecv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, int dest, int sendtag, void *recvbuf,
                   int recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_ISENDRECV);
    int error = start_exchange("MPI_Isendrecv", sendbuf, sendcount, type_of(sendtype), dest, sendtag, recvbuf,
                               recvcount, type_of(recvtype), source, recvtag, comm_of(comm), request);
    CALL_LEAVE(CALL_ISENDRECV);
    return error;
}
MPI_ALIAS(Isendrecv);

int PMPI_Isendrecv_replace(void *buf, int count, MPI_Datatype datatype, int dest, int sendtag, int source, int recvtag,
                           MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_ISENDRECV_REPLACE);
    struct datatype *type = type_of(datatype);
    int error = start_exchange("MPI_Isendrecv_replace", buf, count, type, dest, sendtag, buf, count, type, source,
                               recvtag, comm_of(comm), request);
    CALL_LEAVE(CALL_ISENDRECV_REPLACE);
    return error;
}
MPI_ALIAS(Isendrecv_replace);
