/* Life of requests. */
#include "mpi/coll/coll.h"
#include "mpi/pt2pt/point.h"
#include "mpi/request/coroutine.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"

struct request chq_sent = {.valid = REQUEST_VALID, .complete = true, .kind = REQUEST_SEND, .comm = &chq_world};

static void forget_arguments(struct request *request)
{
    if (request->kind == REQUEST_COLLECTIVE)
        chq_coll_forget(request);
    else if (request->kind == REQUEST_GENERALIZED)
        chq_grequest_free(request);
    else
        chq_type_release(request->user_type);
}

void chq_request_release(struct request *request)
{
    if (request == &chq_sent)
        return;
    if (request->counted)
        comm_release(request->comm);
    if (request->persistent)
        forget_arguments(request);
    request->kind = REQUEST_FREE;
    pool_give(&chq.requests, request);
}

void chq_request_end(struct request *request)
{
    free(request->packed);
    request->packed = NULL;
    if (request->type)
        chq_type_release(request->type);
    request->type = NULL;
    request->ends = false;
    request->complete = true;
    if (request->freed) {
        if (request->kind == REQUEST_SEND)
            chq.outstanding--;
        chq_request_release(request);
    }
}

void chq_request_spin(struct request *request)
{
    if (unlikely(chq.running != NULL)) {
        chq_coroutine_await(request);
        return;
    }
    if (unlikely(request->kind >= REQUEST_COLLECTIVE))
        MARK_WAITING(request->what);
    else
        MARK_BLOCKED(request);
    do
        chq_progress();
    while (!request->complete);
    MARK_UNBLOCKED();
    MARK_WAITED();
}

struct request *chq_request_of(MPI_Request handle, int *error)
{
    struct request *request = (struct request *)handle;
    if (handle == MPI_REQUEST_NULL)
        return NULL;
    if (unlikely((uintptr_t)handle < 0x1000 || request->valid != REQUEST_VALID || request->kind == REQUEST_FREE)) {
        *error = chq_reason(MPI_ERR_REQUEST, "not a request, or one that was freed");
        return NULL;
    }
    return request;
}

static int finish_generalized(struct request *request, MPI_Status *status)
{
    int error = chq_grequest_query(request, status), free_error = chq_grequest_free(request);
    return error ? error : free_error;
}

int chq_request_finish(MPI_Request *handle, struct request *request, MPI_Status *status)
{
    bool inactive = request->persistent && !request->active;
    bool receive = request->kind == REQUEST_RECEIVE;
    int error = inactive ? MPI_SUCCESS : request->error;
    if (status) {
        if (inactive)
            chq_status_empty(status);
        else
            chq_status_of(request, status);
    }
    if (receive && !inactive && request->source != MATCH_ANY_SOURCE)
        MARK_DONE(request);
    if (request->persistent && request->kind != REQUEST_GENERALIZED) {
        request->active = false;
    } else {
        if (request->persistent)
            error = finish_generalized(request, status);
        chq_request_release(request);
        *handle = MPI_REQUEST_NULL;
    }
    return error;
}

/* Of a nonblocking collective the standard forbids it (MPI 5.0, section 6.12). When the operation is
 * complete nothing can go wrong, and programs do so after MPI_Request_get_status, which section 3.7.6
 * says a free may follow. */
int PMPI_Request_free(MPI_Request *request)
{
    LOCAL_CALL();
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (!r)
        return chq_fail(NULL, "MPI_Request_free", MPI_ERR_REQUEST, error ? NULL : "null request");
    if (r->kind == REQUEST_COLLECTIVE && !r->complete)
        return chq_fail(r->comm, "MPI_Request_free", MPI_ERR_REQUEST, "not for a collective under way");
    if (r->complete) {
        chq_request_release(r);
    } else {
        r->freed = r->ends = true;
        if (r->kind == REQUEST_SEND)
            chq.outstanding++;
    }
    *request = MPI_REQUEST_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Request_free);
