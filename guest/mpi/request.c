/* Life of requests. */
#include "mpi/coll/coll.h"
#include "mpi/coroutine.h"
#include "mpi/error.h"
#include "mpi/mark.h"
#include "mpi/point.h"
#include "mpi/thread.h"

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

int PMPI_Request_free(MPI_Request *request)
{
    LOCAL_CALL();
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (!r)
        return chq_fail(NULL, "MPI_Request_free", MPI_ERR_REQUEST, error ? NULL : "null request");
    if (r->kind == REQUEST_COLLECTIVE && !(r->persistent && !r->active))
        return chq_fail(r->comm, "MPI_Request_free", MPI_ERR_REQUEST, "not for a nonblocking collective");
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

/* Only receives are really cancelled: a message that has left can't be called back, and the
 * standard lets a send's cancel fail (MPI 5.0, section 3.8.4). */
int PMPI_Cancel(MPI_Request *request)
{
    CALL_ENTER(CALL_CANCEL);
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (!r) {
        error = chq_fail(NULL, "MPI_Cancel", MPI_ERR_REQUEST, error ? NULL : "null request");
    } else if (r->kind == REQUEST_COLLECTIVE) {
        error = chq_fail(r->comm, "MPI_Cancel", MPI_ERR_REQUEST, "a collective can't be cancelled");
    } else if (r->kind == REQUEST_GENERALIZED) {
        error = chq_fail(r->comm, "MPI_Cancel", chq_grequest_cancel(r), NULL);
    } else if (r->kind == REQUEST_RECEIVE && r->posted) {
        chq_receive_unpost(r);
        r->cancelled = true;
        r->source = MATCH_ANY_SOURCE;
        r->tag = MPI_ANY_TAG;
        r->got = 0;
        chq_tell();
        request_complete(r);
    }
    CALL_LEAVE(CALL_CANCEL);
    return error;
}
MPI_ALIAS(Cancel);
