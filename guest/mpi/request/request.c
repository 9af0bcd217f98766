/* Life of requests. */
#include "mpi/request/request.h"

#include "mpi/runtime/error.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/process.h"

struct request chq_sent = {.valid = REQUEST_VALID, .complete = true, .kind = REQUEST_SEND, .comm = &chq_world};

void chq_request_init(void)
{
    chq.requests.object_bytes = sizeof(struct request);
    chq_pool_refill(&chq.requests);
}

static void forget_arguments(struct request *request)
{
    if (request->kind >= REQUEST_COLLECTIVE)
        request->forget(request);
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
