/* MPI_Cancel (MPI 5.0, section 3.8.4). */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/transport.h"

int PMPI_Cancel(MPI_Request *request)
{
    CALL_ENTER(CALL_CANCEL);
    int error = MPI_SUCCESS;
    struct request *r = chq_request_of(*request, &error);
    if (!r)
        error = chq_fail(NULL, "MPI_Cancel", MPI_ERR_REQUEST, error ? NULL : "null request");
    else if (r->kind == REQUEST_COLLECTIVE)
        error = chq_fail(r->comm, "MPI_Cancel", MPI_ERR_REQUEST, "a collective can't be cancelled");
    else if (r->kind == REQUEST_GENERALIZED)
        error = chq_fail(r->comm, "MPI_Cancel", chq_grequest_cancel(r), NULL);
    else if (!r->complete)
        chq.transport->cancel(r);
    CALL_LEAVE(CALL_CANCEL);
    return error;
}
MPI_ALIAS(Cancel);
