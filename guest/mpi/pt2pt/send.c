/* Sending: MPI_Send and its modes, blocking and not (MPI 5.0, sections 3.2, 3.4 and 3.7).
 *
 * MPI_Send of dense data that is short, with room in the device, is the short path: it is written
 * out in PMPI_Send and costs no request. Everything else goes through chq_send_start.
 */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/transport.h"

int chq_send_check(const void *buffer, int count, const struct datatype *type, int destination, int tag,
                   const struct communicator *comm)
{
    int error = chq_comm_check(comm);
    if (error)
        return error;
    if (count < 0)
        return chq_reason(MPI_ERR_COUNT, "negative count");
    error = destination == MPI_PROC_NULL ? MPI_SUCCESS : chq_type_check(type); /* No data: any type will do. */
    if (error)
        return error;
    if (destination != MPI_PROC_NULL && (unsigned)destination >= (unsigned)comm->size)
        return chq_reason(MPI_ERR_RANK, "destination is not a rank of the communicator");
    if (tag < 0)
        return chq_reason(MPI_ERR_TAG, "negative tag");
    return point_check_buffer(buffer, count, type);
}

static inline void fill_envelope(struct chasqui_envelope *envelope, uint64_t head, uint32_t destination, int tag,
                                 size_t bytes)
{
    uint64_t words[2] = {head | (uint64_t)destination << 48, (uint64_t)++chq.sequence << 32 | (uint32_t)tag};
    __builtin_memcpy(envelope, words, sizeof words);
    envelope->bytes = bytes;
    envelope->sender = 0;
    envelope->receiver = 0;
}

void chq_send_start(struct request *request, uint32_t how, const void *buffer, size_t count, struct datatype *type,
                    int destination, int tag, struct communicator *comm)
{
    request->comm = comm;
    if (destination == MPI_PROC_NULL) {
        request_complete(request);
        return;
    }
    size_t bytes = count * type->size;
    const void *data = buffer;
    if (!type_is_dense(type) && bytes > 0) {
        if ((type->state & TYPE_RUN) && count == 1) {
            data = (const char *)buffer + type->true_lb;
        } else {
            request->packed = chq_malloc(bytes);
            request->ends = true;
            chq_pack(buffer, count, type, request->packed, bytes);
            data = request->packed;
        }
    }
    fill_envelope(&request->envelope, comm->head + (how & ~(uint32_t)0xffff), comm_world_rank(comm, destination), tag,
                  bytes);
    request->buffer = (void *)data;
    request->bytes = bytes;
    transport_send(request, (enum send_mode)(uint8_t)how);
}

static int send_blocking(const char *call, enum send_mode mode, const void *buffer, int count, MPI_Datatype datatype,
                         int destination, int tag, MPI_Comm handle)
{
    struct communicator *comm = comm_of(handle);
    struct datatype *type = type_of(datatype);
    int error = chq_send_check(buffer, count, type, destination, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    struct request request;
    request_start(&request, REQUEST_SEND);
    chq_send_start(&request, SEND_HOW(mode, CONTEXT_POINT), buffer, (size_t)count, type, destination, tag, comm);
    request_wait(&request);
    return MPI_SUCCESS;
}

/* The short path met a full device: the marked envelope must go out as it is. */
static void send_marked(struct request *request, const struct chasqui_envelope *envelope, const void *buffer)
{
    request->envelope = *envelope;
    request->buffer = (void *)(uintptr_t)buffer;
    request->bytes = envelope->bytes;
    chq.transport->send_refused(request);
}

static __attribute__((noinline)) void send_marked_and_wait(const struct chasqui_envelope *envelope, const void *buffer)
{
    struct request request;
    request_start(&request, REQUEST_SEND);
    send_marked(&request, envelope, buffer);
    request_wait(&request);
}

/* Arguments that the short path takes: valid, dense, not null, not to oneself. */
static inline bool send_is_short(const void *buffer, int count, const struct datatype *type, int destination, int tag,
                                 const struct communicator *comm)
{
    return comm->valid == COMM_VALID && type->state == TYPE_DENSE_COMMITTED &&
           (uint32_t)destination < (uint32_t)comm->size && (count | tag) >= 0 && point_is_buffer(buffer) &&
           !chq_is_blocked();
}

static inline bool send_short(struct chasqui_envelope *envelope, const void *buffer, int count,
                              const struct datatype *type, int destination, int tag, const struct communicator *comm)
{
    if (unlikely(!send_is_short(buffer, count, type, destination, tag, comm)))
        return false;
    size_t bytes = (size_t)count * type->size;
    uint32_t world = comm_world_rank(comm, destination);
    if (unlikely(!transport_is_short(bytes, world)))
        return false;
    fill_envelope(envelope, comm->head, world, tag, bytes);
    MARK_SEND(envelope, buffer);
    return true;
}

/* Any arguments. Not inline: its registers would be the short path's, too. */
static __attribute__((noinline)) int send_general(const void *buffer, int count, MPI_Datatype datatype, int destination,
                                                  int tag, MPI_Comm comm)
{
    chq_enter("MPI_Send");
    int error = send_blocking("MPI_Send", MODE_STANDARD, buffer, count, datatype, destination, tag, comm);
    chq_leave();
    return error;
}

int PMPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    MARK_CALL(CALL_SEND);
    int error = MPI_SUCCESS;
    struct chasqui_envelope envelope;
    if (likely(send_short(&envelope, buf, count, type_of(datatype), dest, tag, comm_of(comm)))) {
        if (unlikely(!chq.send(&envelope, buf, envelope.bytes)))
            send_marked_and_wait(&envelope, buf);
    } else {
        error = send_general(buf, count, datatype, dest, tag, comm);
    }
    MARK_RETURN(CALL_SEND);
    return error;
}
MPI_ALIAS(Send);

int PMPI_Ssend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    CALL_ENTER(CALL_SSEND);
    int error = send_blocking("MPI_Ssend", MODE_SYNCHRONOUS, buf, count, datatype, dest, tag, comm);
    CALL_LEAVE(CALL_SSEND);
    return error;
}
MPI_ALIAS(Ssend);

/* A ready send whose receive is not posted is the program's error; like a standard send it is
 * then delivered all the same. */
int PMPI_Rsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    CALL_ENTER(CALL_RSEND);
    int error = send_blocking("MPI_Rsend", MODE_READY, buf, count, datatype, dest, tag, comm);
    CALL_LEAVE(CALL_RSEND);
    return error;
}
MPI_ALIAS(Rsend);

static int send_nonblocking(const char *call, enum send_mode mode, const void *buffer, int count, MPI_Datatype datatype,
                            int destination, int tag, MPI_Comm handle, MPI_Request *result)
{
    struct communicator *comm = comm_of(handle);
    struct datatype *type = type_of(datatype);
    int error = chq_send_check(buffer, count, type, destination, tag, comm);
    if (error)
        return chq_fail(comm, call, error, NULL);
    struct request *request = request_new(REQUEST_SEND);
    chq_send_start(request, SEND_HOW(mode, CONTEXT_POINT), buffer, (size_t)count, type, destination, tag, comm);
    if (request->complete) {
        chq_request_release(request);
        request = &chq_sent;
    }
    *result = (MPI_Request)request;
    return MPI_SUCCESS;
}

static __attribute__((noinline)) int isend_general(const void *buffer, int count, MPI_Datatype datatype,
                                                   int destination, int tag, MPI_Comm comm, MPI_Request *result)
{
    chq_enter("MPI_Isend");
    int error = send_nonblocking("MPI_Isend", MODE_STANDARD, buffer, count, datatype, destination, tag, comm, result);
    chq_leave();
    return error;
}

int PMPI_Isend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
               MPI_Request *request)
{
    MARK_CALL(CALL_ISEND);
    int error = MPI_SUCCESS;
    struct chasqui_envelope envelope;
    if (likely(send_short(&envelope, buf, count, type_of(datatype), dest, tag, comm_of(comm)))) {
        struct request *sent = &chq_sent;
        if (unlikely(!chq.send(&envelope, buf, envelope.bytes))) {
            sent = request_new(REQUEST_SEND);
            send_marked(sent, &envelope, buf);
        }
        *request = (MPI_Request)sent;
    } else {
        error = isend_general(buf, count, datatype, dest, tag, comm, request);
    }
    MARK_RETURN(CALL_ISEND);
    return error;
}
MPI_ALIAS(Isend);

int PMPI_Issend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    CALL_ENTER(CALL_ISSEND);
    int error = send_nonblocking("MPI_Issend", MODE_SYNCHRONOUS, buf, count, datatype, dest, tag, comm, request);
    CALL_LEAVE(CALL_ISSEND);
    return error;
}
MPI_ALIAS(Issend);

int PMPI_Irsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    CALL_ENTER(CALL_IRSEND);
    int error = send_nonblocking("MPI_Irsend", MODE_READY, buf, count, datatype, dest, tag, comm, request);
    CALL_LEAVE(CALL_IRSEND);
    return error;
}
MPI_ALIAS(Irsend);
