/* Generalized requests (MPI 5.0, section 13.2): operations of the program's own, which it completes
 * itself. As a request they are persistent ones that were started, so that the short paths of the
 * others don't ask for them. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/thread.h"

struct generalized {
    MPI_Grequest_query_function *query;
    MPI_Grequest_free_function *free;
    MPI_Grequest_cancel_function *cancel;
    void *state;
};

/* At the request's release, where its end has not been seen. */
static void forget(struct request *request) { chq_grequest_free(request); }

int PMPI_Grequest_start(MPI_Grequest_query_function *query_fn, MPI_Grequest_free_function *free_fn,
                        MPI_Grequest_cancel_function *cancel_fn, void *extra_state, MPI_Request *request)
{
    LOCAL_CALL();
    if (!query_fn || !free_fn || !cancel_fn)
        return chq_fail(NULL, "MPI_Grequest_start", MPI_ERR_ARG, "null function");
    struct request *made = request_new(REQUEST_GENERALIZED);
    struct generalized *generalized = chq_malloc(sizeof *generalized);
    *generalized = (struct generalized){query_fn, free_fn, cancel_fn, extra_state};
    made->persistent = made->active = true;
    made->comm = &chq_world;
    made->what = "MPI_Grequest_complete, which the program must call";
    made->user_buffer = generalized;
    made->forget = forget;
    *request = (MPI_Request)made;
    return MPI_SUCCESS;
}
MPI_ALIAS(Grequest_start);

int PMPI_Grequest_complete(MPI_Request request)
{
    LOCAL_CALL();
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(request, &error);
    if (!r || r->kind != REQUEST_GENERALIZED || r->complete)
        return chq_fail(NULL, "MPI_Grequest_complete", MPI_ERR_REQUEST, "not a generalized request that is under way");
    chq_tell();
    request_complete(r);
    return MPI_SUCCESS;
}
MPI_ALIAS(Grequest_complete);

int chq_grequest_query(const struct request *request, MPI_Status *status)
{
    const struct generalized *generalized = request->user_buffer;
    MPI_Status unwanted;
    return generalized->query(generalized->state, status ? status : &unwanted);
}

int chq_grequest_cancel(const struct request *request)
{
    const struct generalized *generalized = request->user_buffer;
    return generalized->cancel(generalized->state, request->complete);
}

int chq_grequest_free(struct request *request)
{
    struct generalized *generalized = request->user_buffer;
    int error = generalized ? generalized->free(generalized->state) : MPI_SUCCESS;
    free(generalized);
    request->user_buffer = NULL;
    return error;
}
