/* What functions with counts of MPI_Count share. */
#ifndef CHASQUI_LARGE_H
#define CHASQUI_LARGE_H

#include <limits.h>

#include "mpi/comm/raise.h"

/* Whether the functions with int counts can do the work; raises an error on `comm` (null: on MPI_COMM_WORLD) if not. */
static inline int large_fits(struct communicator *comm, const char *call, MPI_Count count)
{
    if (count < 0)
        return chq_fail(comm, call, MPI_ERR_COUNT, "negative count");
    if (count > INT_MAX)
        return chq_fail(comm, call, MPI_ERR_VALUE_TOO_LARGE, "more elements than an int counts");
    return MPI_SUCCESS;
}

#endif
