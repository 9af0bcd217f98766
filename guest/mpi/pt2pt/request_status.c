/* Looking at requests without finishing them: MPI_Request_get_status and its forms (MPI 5.0,
 * section 3.7.6). What is null or inactive counts as complete, with an empty status; the forms for
 * one or some of the requests pass over it. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

enum state { NOTHING, PENDING, COMPLETE };

static enum state state_of(MPI_Request handle, int *error)
{
    const struct request *r = chq_request_of(handle, error);
    if (!r || (r->persistent && !r->active))
        return NOTHING;
    return r->complete ? COMPLETE : PENDING;
}

/* The error is that of a generalized request's query function. */
static int status_of(MPI_Request handle, enum state state, MPI_Status *status)
{
    const struct request *r = (const struct request *)handle;
    if (status && state == NOTHING)
        chq_status_empty(status);
    else if (status)
        chq_status_of(r, status);
    return state == COMPLETE && r->kind == REQUEST_GENERALIZED ? chq_grequest_query(r, status) : MPI_SUCCESS;
}

/* How many are in `wanted`, and the first of them. */
static int count_state(int count, const MPI_Request requests[], enum state wanted, int *first, int *error)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        if (state_of(requests[i], error) == wanted && found++ == 0)
            *first = i;
    return found;
}

/* One look at the network, unless there is something complete, or nothing to wait for. */
static int look(int count, const MPI_Request requests[], bool for_all)
{
    int error = MPI_SUCCESS, first;
    int pending = count_state(count, requests, PENDING, &first, &error);
    if (!error && pending > 0 && (for_all || count_state(count, requests, COMPLETE, &first, &error) == 0))
        chq_look();
    return error;
}

int PMPI_Request_get_status(MPI_Request request, int *flag, MPI_Status *status)
{
    CALL_ENTER(CALL_REQUEST_GET_STATUS);
    int error = look(1, &request, true);
    if (!error) {
        enum state state = state_of(request, &error);
        *flag = state != PENDING;
        if (*flag)
            error = status_of(request, state, status);
    }
    error = chq_fail(NULL, "MPI_Request_get_status", error, NULL);
    CALL_LEAVE(CALL_REQUEST_GET_STATUS);
    return error;
}
MPI_ALIAS(Request_get_status);

int PMPI_Request_get_status_any(int count, const MPI_Request requests[], int *indx, int *flag, MPI_Status *status)
{
    CALL_ENTER(CALL_REQUEST_GET_STATUS);
    int error = look(count, requests, false);
    if (!error) {
        int first = MPI_UNDEFINED, pending;
        bool any = count_state(count, requests, COMPLETE, &first, &error) > 0;
        *indx = first;
        *flag = any || count_state(count, requests, PENDING, &pending, &error) == 0;
        if (*flag)
            error = status_of(any ? requests[first] : MPI_REQUEST_NULL, any ? COMPLETE : NOTHING, status);
    }
    error = chq_fail(NULL, "MPI_Request_get_status_any", error, NULL);
    CALL_LEAVE(CALL_REQUEST_GET_STATUS);
    return error;
}
MPI_ALIAS(Request_get_status_any);

int PMPI_Request_get_status_all(int count, const MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    CALL_ENTER(CALL_REQUEST_GET_STATUS);
    int error = look(count, requests, true);
    if (!error) {
        int first;
        *flag = count_state(count, requests, PENDING, &first, &error) == 0;
        for (int i = 0; *flag && !error && i < count; i++)
            error = status_of(requests[i], state_of(requests[i], &error), statuses ? &statuses[i] : NULL);
    }
    error = chq_fail(NULL, "MPI_Request_get_status_all", error, NULL);
    CALL_LEAVE(CALL_REQUEST_GET_STATUS);
    return error;
}
MPI_ALIAS(Request_get_status_all);

int PMPI_Request_get_status_some(int incount, const MPI_Request requests[], int *outcount, int indices[],
                                 MPI_Status *statuses)
{
    CALL_ENTER(CALL_REQUEST_GET_STATUS);
    int error = look(incount, requests, false);
    if (!error) {
        int done = 0, first, pending = count_state(incount, requests, PENDING, &first, &error);
        for (int i = 0; i < incount; i++)
            if (state_of(requests[i], &error) == COMPLETE) {
                int query_error = status_of(requests[i], COMPLETE, statuses ? &statuses[done] : NULL);
                error = error ? error : query_error;
                indices[done++] = i;
            }
        *outcount = done == 0 && pending == 0 ? MPI_UNDEFINED : done;
    }
    error = chq_fail(NULL, "MPI_Request_get_status_some", error, NULL);
    CALL_LEAVE(CALL_REQUEST_GET_STATUS);
    return error;
}
MPI_ALIAS(Request_get_status_some);
