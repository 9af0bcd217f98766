/* Collectives of intercommunicators (MPI 5.0, section 6.2.3): the local groups do their part with the
 * algorithms of ordinary communicators, and what goes across goes directly. `comm->size` is the
 * remote group's size. Where there is a root it is MPI_ROOT at itself, MPI_PROC_NULL beside it, and
 * its rank on the other side. */
#ifndef CHASQUI_INTER_H
#define CHASQUI_INTER_H

#include "mpi/coll/bridge.h"
#include "mpi/coll/coll.h"
#include "mpi/runtime/error.h"

/* In place, the two buffers of a reduction are one. */
static inline int coll_not_in_place(void)
{
    return chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is not for an intercommunicator");
}

int chq_inter_barrier(struct communicator *comm);
coll_bcast chq_inter_bcast;
coll_gather chq_inter_gather, chq_inter_scatter;
coll_allgather chq_inter_allgather;
coll_alltoall chq_inter_alltoall;
coll_reduce chq_inter_reduce;
coll_allreduce chq_inter_allreduce;
coll_reduce_scatter chq_inter_reduce_scatter; /* `counts`: of the local group. */

#endif
