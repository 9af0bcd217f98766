/* Neighbourhood collectives as the program calls them (MPI 5.0, section 8.6): arguments checked. */
#include "mpi/coll/neighbor.h"
#include "mpi/error.h"
#include "mpi/mark.h"

static int check_side(const struct neighbor_side *side, int blocks)
{
    int error = side->types ? MPI_SUCCESS : chq_type_check(side->type);
    if (!error && side->count > INT32_MAX)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    for (int i = 0; side->counts && i < blocks && !error; i++) {
        if (side->counts[i] < 0)
            error = chq_reason(MPI_ERR_COUNT, "negative count");
        else if (side->types)
            error = chq_type_check(neighbor_type(side, i));
    }
    return error;
}

static int exchange(const char *call, const struct neighbor_side *send, const struct neighbor_side *recv, struct communicator *comm)
{
    struct neighbors neighbors;
    int error = chq_comm_check(comm);
    if (!error)
        error = chq_topology_neighbors(comm, &neighbors);
    if (!error)
        error = check_side(send, neighbors.out);
    if (!error)
        error = check_side(recv, neighbors.in);
    if (!error)
        error = chq_neighbor_linear(send, recv, &neighbors, comm);
    return likely(error == MPI_SUCCESS) ? MPI_SUCCESS : chq_fail(comm, call, error, NULL);
}

static struct neighbor_side equal_blocks(const void *buffer, int count, MPI_Datatype type)
{
    return (struct neighbor_side){.buffer = (char *)(uintptr_t)buffer, .count = (size_t)count, .type = type_of(type)};
}

static struct neighbor_side counted_blocks(const void *buffer, const int counts[], const int displacements[], MPI_Datatype type)
{
    return (struct neighbor_side){.buffer = (char *)(uintptr_t)buffer, .type = type_of(type), .counts = counts, .displacements = displacements};
}

static struct neighbor_side typed_blocks(const void *buffer, const int counts[], const MPI_Aint addresses[], const MPI_Datatype types[])
{
    return (struct neighbor_side){.buffer = (char *)(uintptr_t)buffer, .counts = counts, .addresses = addresses, .types = types};
}

int PMPI_Neighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_NEIGHBOR_ALLGATHER);
    struct neighbor_side send = equal_blocks(sendbuf, sendcount, sendtype), recv = equal_blocks(recvbuf, recvcount, recvtype);
    send.same = true;
    int error = exchange("MPI_Neighbor_allgather", &send, &recv, comm_of(comm));
    MARK_RETURN(CALL_NEIGHBOR_ALLGATHER);
    return error;
}
MPI_ALIAS(Neighbor_allgather);

int PMPI_Neighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_NEIGHBOR_ALLGATHERV);
    struct neighbor_side send = equal_blocks(sendbuf, sendcount, sendtype), recv = counted_blocks(recvbuf, recvcounts, displs, recvtype);
    send.same = true;
    int error = exchange("MPI_Neighbor_allgatherv", &send, &recv, comm_of(comm));
    MARK_RETURN(CALL_NEIGHBOR_ALLGATHERV);
    return error;
}
MPI_ALIAS(Neighbor_allgatherv);

int PMPI_Neighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_NEIGHBOR_ALLTOALL);
    struct neighbor_side send = equal_blocks(sendbuf, sendcount, sendtype), recv = equal_blocks(recvbuf, recvcount, recvtype);
    int error = exchange("MPI_Neighbor_alltoall", &send, &recv, comm_of(comm));
    MARK_RETURN(CALL_NEIGHBOR_ALLTOALL);
    return error;
}
MPI_ALIAS(Neighbor_alltoall);

int PMPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_NEIGHBOR_ALLTOALLV);
    struct neighbor_side send = counted_blocks(sendbuf, sendcounts, sdispls, sendtype), recv = counted_blocks(recvbuf, recvcounts, rdispls, recvtype);
    int error = exchange("MPI_Neighbor_alltoallv", &send, &recv, comm_of(comm));
    MARK_RETURN(CALL_NEIGHBOR_ALLTOALLV);
    return error;
}
MPI_ALIAS(Neighbor_alltoallv);

int PMPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    MARK_CALL(CALL_NEIGHBOR_ALLTOALLW);
    struct neighbor_side send = typed_blocks(sendbuf, sendcounts, sdispls, sendtypes), recv = typed_blocks(recvbuf, recvcounts, rdispls, recvtypes);
    int error = exchange("MPI_Neighbor_alltoallw", &send, &recv, comm_of(comm));
    MARK_RETURN(CALL_NEIGHBOR_ALLTOALLW);
    return error;
}
MPI_ALIAS(Neighbor_alltoallw);
