/* What the public collectives share. A collective has three forms, blocking, nonblocking and
 * persistent, which check the same arguments into one struct and run the same function of it. */
#ifndef CHASQUI_COLL_PUBLIC_H
#define CHASQUI_COLL_PUBLIC_H

#include "mpi/coll/inter.h"
#include "mpi/coll/select.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/thread.h"

/* Checks and bodies of the shortest collectives are put into each form: their arguments then stay in
 * registers, and the struct costs the blocking form nothing. */
#define COLL_INLINE static inline __attribute__((always_inline))

/* What is usual without a call. */
static inline int coll_check_comm(const struct communicator *comm)
{
    return likely(comm->valid == COMM_VALID) ? MPI_SUCCESS : chq_comm_check(comm);
}

/* Of an intercommunicator a root is one of the other side, or MPI_ROOT here. */
static inline int coll_check_root(const struct communicator *comm, int root)
{
    if (likely(root >= 0 && root < comm->size) || (comm->inter && (root == MPI_ROOT || root == MPI_PROC_NULL)))
        return MPI_SUCCESS;
    return chq_reason(MPI_ERR_ROOT, "root is not a rank of the communicator");
}

/* `error` is that of the other arguments: they mean nothing beside the root of an intercommunicator. */
static inline int coll_unless_beside_root(int error, const struct communicator *comm, int root)
{
    return unlikely(error) && comm->inter && root == MPI_PROC_NULL ? MPI_SUCCESS : error;
}

static inline int coll_check_counts(const int counts[], int blocks)
{
    for (int i = 0; i < blocks; i++)
        if (counts[i] < 0)
            return chq_reason(MPI_ERR_COUNT, "negative count");
    return MPI_SUCCESS;
}

/* Of a buffer that must be one: MPI_IN_PLACE would say that the data is in itself. */
static inline int coll_check_buffer(const void *buffer)
{
    return likely(buffer != MPI_IN_PLACE) ? MPI_SUCCESS
                                          : chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is not for this buffer");
}

/* The end of a blocking form. */
static inline int coll_finish(struct communicator *comm, const char *call, int error)
{
    return likely(error == MPI_SUCCESS) ? MPI_SUCCESS : chq_fail(comm, call, error, NULL);
}

#endif
