/* Persistent requests (MPI 5.0, section 3.9): the arguments are kept and checked once; MPI_Start
 * runs the same code as the nonblocking call. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/thread.h"

static int persistent_new(const char *call, enum request_kind kind, enum send_mode mode, void *buffer, int count,
                          MPI_Datatype datatype, int peer, int tag, MPI_Comm handle, MPI_Request *result)
{
    struct communicator *comm = comm_of(handle);
    struct datatype *type = type_of(datatype);
    int error = kind == REQUEST_SEND ? chq_send_check(buffer, count, type, peer, tag, comm)
                                     : chq_receive_check(buffer, count, type, peer, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    struct request *request = request_new(kind);
    request->persistent = true;
    request->complete = true;
    request->mode = mode;
    request->comm = comm;
    request->counted = true;
    comm_retain(comm);
    request->user_buffer = buffer;
    request->user_count = (size_t)count;
    request->user_type = type;
    type_retain(type);
    request->peer = peer;
    request->user_tag = tag;
    *result = (MPI_Request)request;
    return MPI_SUCCESS;
}

int PMPI_Send_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    LOCAL_CALL();
    return persistent_new("MPI_Send_init", REQUEST_SEND, MODE_STANDARD, (void *)(uintptr_t)buf, count, datatype, dest,
                          tag, comm, request);
}
MPI_ALIAS(Send_init);

int PMPI_Bsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    LOCAL_CALL();
    return persistent_new("MPI_Bsend_init", REQUEST_SEND, MODE_BUFFERED, (void *)(uintptr_t)buf, count, datatype, dest,
                          tag, comm, request);
}
MPI_ALIAS(Bsend_init);

int PMPI_Ssend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    LOCAL_CALL();
    return persistent_new("MPI_Ssend_init", REQUEST_SEND, MODE_SYNCHRONOUS, (void *)(uintptr_t)buf, count, datatype,
                          dest, tag, comm, request);
}
MPI_ALIAS(Ssend_init);

int PMPI_Rsend_init(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                    MPI_Request *request)
{
    LOCAL_CALL();
    return persistent_new("MPI_Rsend_init", REQUEST_SEND, MODE_READY, (void *)(uintptr_t)buf, count, datatype, dest,
                          tag, comm, request);
}
MPI_ALIAS(Rsend_init);

int PMPI_Recv_init(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                   MPI_Request *request)
{
    LOCAL_CALL();
    return persistent_new("MPI_Recv_init", REQUEST_RECEIVE, MODE_STANDARD, buf, count, datatype, source, tag, comm,
                          request);
}
MPI_ALIAS(Recv_init);

static int start(const char *call, MPI_Request handle)
{
    int error = MPI_SUCCESS;
    struct request *request = chq_request_of(handle, &error);
    if (!request || !request->persistent || request->active)
        return chq_fail(request ? request->comm : NULL, call, MPI_ERR_REQUEST, "not an inactive persistent request");
    request->active = true;
    request->complete = false;
    request->cancelled = false;
    request->error = MPI_SUCCESS;
    if (request->kind == REQUEST_RECEIVE) {
        chq_receive_start(request, request->user_buffer, request->user_count, request->user_type, request->peer,
                          request->user_tag, request->comm, CONTEXT_POINT);
        return MPI_SUCCESS;
    }
    if (request->kind == REQUEST_COLLECTIVE) {
        request->restart(request);
        return MPI_SUCCESS;
    }
    if (request->mode != MODE_BUFFERED) {
        chq_send_start(request, SEND_HOW(request->mode, CONTEXT_POINT), request->user_buffer, request->user_count,
                       request->user_type, request->peer, request->user_tag, request->comm);
        return MPI_SUCCESS;
    }
    error = chq_buffered_send(request->user_buffer, request->user_count, request->user_type, request->peer,
                              request->user_tag, request->comm);
    request_complete(request);
    return error ? chq_fail(request->comm, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Start(MPI_Request *request)
{
    CALL_ENTER(CALL_START);
    int error = start("MPI_Start", *request);
    CALL_LEAVE(CALL_START);
    return error;
}
MPI_ALIAS(Start);

int PMPI_Startall(int count, MPI_Request requests[])
{
    CALL_ENTER(CALL_STARTALL);
    int error = MPI_SUCCESS;
    for (int i = 0; i < count && !error; i++)
        error = start("MPI_Startall", requests[i]);
    CALL_LEAVE(CALL_STARTALL);
    return error;
}
MPI_ALIAS(Startall);
