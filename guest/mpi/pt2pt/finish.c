/* What ends with a request of the program's: its status, its handle, the request itself. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"

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
