/* Receiving (MPI 5.0, sections 3.2.4 and 3.7). MPI_Recv of dense data from a named source with a
 * named tag is the short path. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/transport.h"

int chq_receive_check(const void *buffer, int count, const struct datatype *type, int source, int tag,
                      const struct communicator *comm)
{
    int error = chq_comm_check(comm);
    if (error)
        return error;
    if (count < 0)
        return chq_reason(MPI_ERR_COUNT, "negative count");
    error = source == MPI_PROC_NULL ? MPI_SUCCESS : chq_type_check(type); /* No data: any type will do. */
    if (error)
        return error;
    if (source != MPI_PROC_NULL && source != MPI_ANY_SOURCE && (unsigned)source >= (unsigned)comm->size)
        return chq_reason(MPI_ERR_RANK, "source is not a rank of the communicator");
    if (tag < 0 && tag != MPI_ANY_TAG)
        return chq_reason(MPI_ERR_TAG, "negative tag");
    return point_check_buffer(buffer, count, type);
}

void chq_receive_start(struct request *request, void *buffer, size_t count, struct datatype *type, int source, int tag,
                       struct communicator *comm, int context)
{
    request->comm = comm;
    request->buffer = buffer;
    request->bytes = count * type->size;
    request->count = count;
    if (source == MPI_PROC_NULL) {
        request->source = MATCH_ANY_SOURCE;
        request->tag = MPI_ANY_TAG;
        request->got = 0;
        request_complete(request);
        return;
    }
    if (!type_is_dense(type)) {
        if ((type->state & TYPE_RUN) && count == 1) {
            request->buffer = (char *)buffer + type->true_lb;
        } else {
            request->type = type;
            request->ends = true;
            type_retain(type);
        }
    }
    uint32_t world = source == MPI_ANY_SOURCE ? MATCH_ANY_SOURCE : comm_world_rank(comm, source);
    transport_post(request, match_key((uint32_t)comm->context + (uint32_t)context, world, tag),
                   match_pattern(source, tag));
}

/* Arguments of the short path: valid, dense, no wildcard. */
static inline bool receive_is_short(const void *buffer, int count, const struct datatype *type, int source, int tag,
                                    const struct communicator *comm)
{
    return comm->valid == COMM_VALID && type->state == TYPE_DENSE_COMMITTED &&
           (uint32_t)source < (uint32_t)comm->size && (count | tag) >= 0 && point_is_buffer(buffer);
}

static inline __attribute__((always_inline)) void start_short(struct request *request, void *buffer, int count,
                                                              const struct datatype *type, int source, int tag,
                                                              struct communicator *comm)
{
    request->comm = comm;
    request->buffer = buffer;
    request->bytes = (size_t)count * type->size;
    transport_post(request, match_key(comm->context, comm_world_rank(comm, source), tag), PATTERN_EXACT);
}

static int start_general(struct request *request, void *buffer, int count, struct datatype *type, int source, int tag,
                         struct communicator *comm)
{
    int error = chq_receive_check(buffer, count, type, source, tag, comm);
    if (!error)
        chq_receive_start(request, buffer, (size_t)count, type, source, tag, comm, CONTEXT_POINT);
    return error;
}

/* chq_request_spin, without the call. */
static inline __attribute__((always_inline)) void request_spin(struct request *request)
{
    MARK_BLOCKED(request);
    do
        chq_progress();
    while (!request->complete);
    MARK_UNBLOCKED();
}

static inline void status_of_receive(const struct request *request, MPI_Status *status)
{
    if (unlikely(request->source == MATCH_ANY_SOURCE || request->comm->world)) {
        chq_status_of(request, status);
        return;
    }
    status->MPI_SOURCE = (int)request->source;
    status->MPI_TAG = request->tag;
    uint64_t length = request->got;
    __builtin_memcpy(&status->MPI_internal[0], &length, sizeof length);
    status->MPI_internal[2] = false;
}

/* Waits for a receive that has begun, unless it began with an error. */
static inline __attribute__((always_inline)) int finish(struct request *request, int error, struct communicator *comm,
                                                        MPI_Status *status)
{
    if (likely(error == MPI_SUCCESS)) {
        if (!request->complete)
            request_spin(request);
        if (status)
            status_of_receive(request, status);
        error = request->error;
        MARK_DONE(request);
    }
    if (unlikely(error))
        error = chq_fail(comm, "MPI_Recv", error, error == MPI_ERR_TRUNCATE ? "message truncated" : NULL);
    return error;
}

static __attribute__((noinline)) int receive_general(void *buffer, int count, struct datatype *type, int source,
                                                     int tag, struct communicator *comm, MPI_Status *status)
{
    struct request request;
    request_start(&request, REQUEST_RECEIVE);
    chq_enter("MPI_Recv");
    int error = finish(&request, start_general(&request, buffer, count, type, source, tag, comm), comm, status);
    chq_leave();
    return error;
}

int PMPI_Recv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Status *status)
{
    MARK_CALL(CALL_RECV);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    int error;
    if (likely(receive_is_short(buf, count, type, source, tag, c))) {
        struct request request;
        request_start(&request, REQUEST_RECEIVE);
        start_short(&request, buf, count, type, source, tag, c);
        error = finish(&request, MPI_SUCCESS, c, status);
    } else {
        error = receive_general(buf, count, type, source, tag, c, status);
    }
    MARK_RETURN(CALL_RECV);
    return error;
}
MPI_ALIAS(Recv);

static int receive_nonblocking(void *buffer, int count, struct datatype *type, int source, int tag,
                               struct communicator *comm, MPI_Request *result)
{
    struct request *request = request_new(REQUEST_RECEIVE);
    int error = start_general(request, buffer, count, type, source, tag, comm);
    if (error) {
        chq_request_release(request);
        return chq_fail(comm, "MPI_Irecv", error, NULL);
    }
    request->counted = true;
    comm_retain(comm);
    *result = (MPI_Request)request;
    return MPI_SUCCESS;
}

static __attribute__((noinline)) int irecv_general(void *buffer, int count, struct datatype *type, int source, int tag,
                                                   struct communicator *comm, MPI_Request *result)
{
    chq_enter("MPI_Irecv");
    int error = receive_nonblocking(buffer, count, type, source, tag, comm, result);
    chq_leave();
    return error;
}

int PMPI_Irecv(void *buf, int count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
    MARK_CALL(CALL_IRECV);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    int error = MPI_SUCCESS;
    if (likely(receive_is_short(buf, count, type, source, tag, c))) {
        struct request *receive = request_new(REQUEST_RECEIVE);
        start_short(receive, buf, count, type, source, tag, c);
        receive->counted = true;
        comm_retain(c);
        *request = (MPI_Request)receive;
    } else {
        error = irecv_general(buf, count, type, source, tag, c, request);
    }
    MARK_RETURN(CALL_IRECV);
    return error;
}
MPI_ALIAS(Irecv);
