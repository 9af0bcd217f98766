/* MPI_Wait and its forms (MPI 5.0, sections 3.7.3 and 3.7.5). */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/mark.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

static const char *truncated_or_null(int error) { return error == MPI_ERR_TRUNCATE ? "message truncated" : NULL; }

static inline __attribute__((always_inline)) int wait_one(MPI_Request *request, MPI_Status *status)
{
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (likely(r != NULL)) {
        struct communicator *comm = r->comm;
        request_wait(r);
        error = chq_request_finish(request, r, status);
        if (unlikely(error))
            error = chq_fail(comm, "MPI_Wait", error, truncated_or_null(error));
    } else if (error) {
        error = chq_fail(NULL, "MPI_Wait", error, NULL);
    } else if (status) {
        chq_status_empty(status);
    }
    return error;
}

/* With the lock. Not inline: it would cost the short path registers. */
static __attribute__((noinline)) int wait_one_locked(MPI_Request *request, MPI_Status *status)
{
    chq_lock("MPI_Wait");
    int error = wait_one(request, status);
    chq_unlock();
    return error;
}

int PMPI_Wait(MPI_Request *request, MPI_Status *status)
{
    MARK_CALL(CALL_WAIT);
    int error = likely(!chq.threaded) ? wait_one(request, status) : wait_one_locked(request, status);
    MARK_RETURN(CALL_WAIT);
    return error;
}
MPI_ALIAS(Wait);

static int wait_all(const char *call, int count, MPI_Request requests[], MPI_Status *statuses)
{
    int first_error = MPI_SUCCESS;
    struct communicator *comm = NULL;
    if (unlikely(count <= 0))
        return count == 0 ? MPI_SUCCESS : chq_fail(NULL, call, MPI_ERR_COUNT, "negative count");
    for (int i = 0; i < count; i++) {
        MPI_Status *status = statuses ? &statuses[i] : NULL;
        /* A send that is over already, the usual company of receives: nothing to look at. */
        if (requests[i] == (MPI_Request)&chq_sent && !status) {
            requests[i] = MPI_REQUEST_NULL;
            continue;
        }
        int error = MPI_SUCCESS;
        struct request *r = chq_request_of(requests[i], &error);
        if (likely(r != NULL)) {
            struct communicator *of = r->comm;
            request_wait(r);
            error = chq_request_finish(&requests[i], r, status);
            if (unlikely(error) && !comm)
                comm = of;
        } else if (status) {
            chq_status_empty(status);
        }
        if (status)
            status->MPI_ERROR = error;
        if (unlikely(error) && !first_error)
            first_error = error;
    }
    if (unlikely(first_error))
        first_error = chq_fail(comm, call, MPI_ERR_IN_STATUS, truncated_or_null(first_error));
    return first_error;
}

static __attribute__((noinline)) int wait_all_locked(int count, MPI_Request requests[], MPI_Status *statuses)
{
    chq_lock("MPI_Waitall");
    int error = wait_all("MPI_Waitall", count, requests, statuses);
    chq_unlock();
    return error;
}

int PMPI_Waitall(int count, MPI_Request requests[], MPI_Status *statuses)
{
    MARK_CALL(CALL_WAITALL);
    int error = likely(!chq.threaded) ? wait_all("MPI_Waitall", count, requests, statuses)
                                      : wait_all_locked(count, requests, statuses);
    MARK_RETURN(CALL_WAITALL);
    return error;
}
MPI_ALIAS(Waitall);

/* Whether a request can complete at all: not null, and not persistent and inactive. */
static inline bool is_active(const struct request *request)
{
    return request && (!request->persistent || request->active);
}

/* Results are stored once in each call here, not set and corrected: a loop that waits must store what
 * is there already, or the simulator can't skip its idle turns. */

/* Index of the first complete request; MPI_UNDEFINED: none; *active: whether any could complete. */
static int find_complete(int count, MPI_Request requests[], bool *active, int *error)
{
    bool any = false;
    int found = MPI_UNDEFINED;
    if (unlikely(count < 0))
        *error = chq_reason(MPI_ERR_COUNT, "negative count");
    for (int i = 0; i < count && found == MPI_UNDEFINED; i++) {
        struct request *r = chq_request_of(requests[i], error);
        if (!is_active(r))
            continue;
        any = true;
        if (r->complete)
            found = i;
    }
    *active = any;
    return found;
}

static int finish_one(const char *call, MPI_Request *handle, MPI_Status *status)
{
    struct request *r = (struct request *)*handle;
    struct communicator *comm = r->comm;
    int error = chq_request_finish(handle, r, status);
    return error ? chq_fail(comm, call, error, truncated_or_null(error)) : MPI_SUCCESS;
}

int PMPI_Waitany(int count, MPI_Request requests[], int *indx, MPI_Status *status)
{
    CALL_ENTER(CALL_WAITANY);
    bool active;
    int error = MPI_SUCCESS;
    *indx = find_complete(count, requests, &active, &error);
    if (*indx == MPI_UNDEFINED && active && !error) {
        int found;
        MARK_WAITING("MPI_Waitany: one of its requests");
        do {
            chq_progress();
            found = find_complete(count, requests, &active, &error);
        } while (found == MPI_UNDEFINED && !error);
        MARK_WAITED();
        *indx = found;
    }
    if (error)
        error = chq_fail(NULL, "MPI_Waitany", error, NULL);
    else if (*indx != MPI_UNDEFINED)
        error = finish_one("MPI_Waitany", &requests[*indx], status);
    else if (status)
        chq_status_empty(status);
    CALL_LEAVE(CALL_WAITANY);
    return error;
}
MPI_ALIAS(Waitany);

int PMPI_Testany(int count, MPI_Request requests[], int *indx, int *flag, MPI_Status *status)
{
    CALL_ENTER(CALL_TESTANY);
    bool active;
    int error = MPI_SUCCESS;
    *indx = find_complete(count, requests, &active, &error);
    if (*indx == MPI_UNDEFINED && active && !error) {
        chq_look();
        *indx = find_complete(count, requests, &active, &error);
    }
    *flag = *indx != MPI_UNDEFINED || !active;
    if (error)
        error = chq_fail(NULL, "MPI_Testany", error, NULL);
    else if (*indx != MPI_UNDEFINED)
        error = finish_one("MPI_Testany", &requests[*indx], status);
    else if (*flag && status)
        chq_status_empty(status);
    CALL_LEAVE(CALL_TESTANY);
    return error;
}
MPI_ALIAS(Testany);

/* Finishes all complete requests; their number, or MPI_UNDEFINED when none is active. */
static int finish_some(int count, MPI_Request requests[], int indices[], MPI_Status *statuses, int *first_error,
                       struct communicator **comm)
{
    int done = 0;
    for (int i = 0; i < count; i++) {
        int error = MPI_SUCCESS;
        struct request *r = chq_request_of(requests[i], &error);
        if (!is_active(r) || !r->complete)
            continue;
        struct communicator *of = r->comm;
        MPI_Status *status = statuses ? &statuses[done] : NULL;
        error = chq_request_finish(&requests[i], r, status);
        if (status)
            status->MPI_ERROR = error;
        if (error && !*first_error) {
            *first_error = error;
            *comm = of;
        }
        indices[done++] = i;
    }
    return done;
}

static int wait_some(const char *call, bool blocking, int count, MPI_Request requests[], int *outcount, int indices[],
                     MPI_Status *statuses)
{
    bool active;
    int error = MPI_SUCCESS;
    int found = find_complete(count, requests, &active, &error);
    if (found == MPI_UNDEFINED && active && !error) {
        if (blocking)
            MARK_WAITING("MPI_Waitsome: some of its requests");
        do {
            if (blocking)
                chq_progress();
            else
                chq_look();
            found = find_complete(count, requests, &active, &error);
        } while (blocking && found == MPI_UNDEFINED && !error);
        if (blocking)
            MARK_WAITED();
    }
    if (error)
        return chq_fail(NULL, call, error, NULL);
    if (!active) {
        *outcount = MPI_UNDEFINED;
        return MPI_SUCCESS;
    }
    struct communicator *comm = NULL;
    *outcount = finish_some(count, requests, indices, statuses, &error, &comm);
    return error ? chq_fail(comm, call, MPI_ERR_IN_STATUS, truncated_or_null(error)) : MPI_SUCCESS;
}

int PMPI_Waitsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status *statuses)
{
    CALL_ENTER(CALL_WAITSOME);
    int error = wait_some("MPI_Waitsome", true, incount, requests, outcount, indices, statuses);
    CALL_LEAVE(CALL_WAITSOME);
    return error;
}
MPI_ALIAS(Waitsome);

int PMPI_Testsome(int incount, MPI_Request requests[], int *outcount, int indices[], MPI_Status *statuses)
{
    CALL_ENTER(CALL_TESTSOME);
    int error = wait_some("MPI_Testsome", false, incount, requests, outcount, indices, statuses);
    CALL_LEAVE(CALL_TESTSOME);
    return error;
}
MPI_ALIAS(Testsome);

int PMPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    CALL_ENTER(CALL_TEST);
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (likely(r != NULL)) {
        if (!r->complete)
            chq_look();
        *flag = r->complete;
        if (r->complete)
            error = finish_one("MPI_Test", request, status);
    } else {
        *flag = 1;
        if (error)
            error = chq_fail(NULL, "MPI_Test", error, NULL);
        else if (status)
            chq_status_empty(status);
    }
    CALL_LEAVE(CALL_TEST);
    return error;
}
MPI_ALIAS(Test);

static bool all_complete(int count, MPI_Request requests[], int *error)
{
    if (unlikely(count < 0))
        *error = chq_reason(MPI_ERR_COUNT, "negative count");
    for (int i = 0; i < count; i++) {
        struct request *r = chq_request_of(requests[i], error);
        if (r && !r->complete)
            return false;
    }
    return true;
}

int PMPI_Testall(int count, MPI_Request requests[], int *flag, MPI_Status *statuses)
{
    CALL_ENTER(CALL_TESTALL);
    int error = MPI_SUCCESS;
    *flag = all_complete(count, requests, &error);
    if (!*flag) {
        chq_look();
        *flag = all_complete(count, requests, &error);
    }
    if (error)
        error = chq_fail(NULL, "MPI_Testall", error, NULL);
    else if (*flag && count > 0)
        error = wait_all("MPI_Testall", count, requests, statuses);
    CALL_LEAVE(CALL_TESTALL);
    return error;
}
MPI_ALIAS(Testall);
