/* Probing (MPI 5.0, section 3.8). A matched probe takes the message out of matching; its handle is
 * the message itself. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/transport.h"

static struct message *find(int source, int tag, const struct communicator *comm)
{
    uint32_t world = source == MPI_ANY_SOURCE ? MATCH_ANY_SOURCE : comm_world_rank(comm, source);
    return chq.transport->probe(match_key(comm->context, world, tag), match_pattern(source, tag));
}

static void message_status(const struct message *message, const struct communicator *comm, MPI_Status *status)
{
    if (status)
        chq_status_set(status, comm_rank_of_world(comm, message->envelope.source), message->envelope.tag,
                       message->envelope.bytes, false);
}

/* Blocking: waits. Not: looks, polls once, looks again. */
static struct message *probe(int source, int tag, const struct communicator *comm, bool blocking)
{
    struct message *message = find(source, tag, comm);
    if (message)
        return message;
    if (!blocking) {
        chq_look();
        return find(source, tag, comm);
    }
    MARK_WAITING("MPI_Probe: a message");
    do {
        chq_progress();
        message = find(source, tag, comm);
    } while (!message);
    MARK_WAITED();
    return message;
}

/* The four calls in one: `flag` null: blocking; `handle` null: the message stays. */
static int probe_call(const char *call, int source, int tag, MPI_Comm comm_handle, int *flag, MPI_Message *handle,
                      MPI_Status *status)
{
    struct communicator *comm = comm_of(comm_handle);
    int error = chq_receive_check(NULL, 0, type_of(MPI_BYTE), source, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    if (source == MPI_PROC_NULL) {
        if (flag)
            *flag = 1;
        if (handle)
            *handle = MPI_MESSAGE_NO_PROC;
        if (status)
            chq_status_set(status, MPI_PROC_NULL, MPI_ANY_TAG, 0, false);
        return MPI_SUCCESS;
    }
    struct message *message = probe(source, tag, comm, !flag);
    if (flag)
        *flag = message != NULL;
    if (handle)
        *handle = MPI_MESSAGE_NULL;
    if (!message)
        return MPI_SUCCESS;
    message_status(message, comm, status);
    if (handle) {
        chq.transport->claim(message);
        message->comm = comm; /* For Mrecv's status. */
        comm_retain(comm);
        *handle = (MPI_Message)message;
    }
    return MPI_SUCCESS;
}

int PMPI_Probe(int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    CALL_ENTER(CALL_PROBE);
    int error = probe_call("MPI_Probe", source, tag, comm, NULL, NULL, status);
    CALL_LEAVE(CALL_PROBE);
    return error;
}
MPI_ALIAS(Probe);

int PMPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    CALL_ENTER(CALL_IPROBE);
    int error = probe_call("MPI_Iprobe", source, tag, comm, flag, NULL, status);
    CALL_LEAVE(CALL_IPROBE);
    return error;
}
MPI_ALIAS(Iprobe);

int PMPI_Mprobe(int source, int tag, MPI_Comm comm, MPI_Message *message, MPI_Status *status)
{
    CALL_ENTER(CALL_MPROBE);
    int error = probe_call("MPI_Mprobe", source, tag, comm, NULL, message, status);
    CALL_LEAVE(CALL_MPROBE);
    return error;
}
MPI_ALIAS(Mprobe);

int PMPI_Improbe(int source, int tag, MPI_Comm comm, int *flag, MPI_Message *message, MPI_Status *status)
{
    CALL_ENTER(CALL_IMPROBE);
    int error = probe_call("MPI_Improbe", source, tag, comm, flag, message, status);
    CALL_LEAVE(CALL_IMPROBE);
    return error;
}
MPI_ALIAS(Improbe);

/* Receives a probed message into a request that request_start has prepared. */
static int receive_message(struct request *request, void *buffer, int count, MPI_Datatype datatype, MPI_Message *handle)
{
    struct datatype *type = type_of(datatype);
    if (*handle == MPI_MESSAGE_NULL)
        return chq_reason(MPI_ERR_REQUEST, "null message");
    struct message *message = (struct message *)*handle;
    struct communicator *comm = *handle == MPI_MESSAGE_NO_PROC ? &chq_self : message->comm;
    int error = chq_receive_check(buffer, count, type, MPI_PROC_NULL, 0, comm);
    if (error)
        return error;
    if (*handle == MPI_MESSAGE_NO_PROC) {
        chq_receive_start(request, buffer, (size_t)count, type, MPI_PROC_NULL, 0, comm, CONTEXT_POINT);
    } else {
        request->comm = comm;
        request->counted = true;
        request->buffer = buffer;
        request->bytes = (size_t)count * type->size;
        request->count = (size_t)count;
        if (!type_is_dense(type)) {
            request->type = type;
            request->ends = true;
            type_retain(type);
        }
        chq.transport->receive(request, message);
    }
    *handle = MPI_MESSAGE_NULL;
    return MPI_SUCCESS;
}

int PMPI_Mrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Status *status)
{
    CALL_ENTER(CALL_MRECV);
    struct request request;
    request_start(&request, REQUEST_RECEIVE);
    int error = receive_message(&request, buf, count, datatype, message);
    if (error) {
        error = chq_fail(NULL, "MPI_Mrecv", error, NULL);
    } else {
        request_wait(&request);
        if (status)
            chq_status_of(&request, status);
        MARK_DONE(&request);
        if (request.error)
            error = chq_fail(request.comm, "MPI_Mrecv", request.error, "message truncated");
        if (request.counted)
            comm_release(request.comm);
    }
    CALL_LEAVE(CALL_MRECV);
    return error;
}
MPI_ALIAS(Mrecv);

int PMPI_Imrecv(void *buf, int count, MPI_Datatype datatype, MPI_Message *message, MPI_Request *request)
{
    CALL_ENTER(CALL_IMRECV);
    struct request *receive = request_new(REQUEST_RECEIVE);
    int error = receive_message(receive, buf, count, datatype, message);
    if (error) {
        chq_request_release(receive);
        error = chq_fail(NULL, "MPI_Imrecv", error, NULL);
    } else {
        *request = (MPI_Request)receive;
    }
    CALL_LEAVE(CALL_IMRECV);
    return error;
}
MPI_ALIAS(Imrecv);
