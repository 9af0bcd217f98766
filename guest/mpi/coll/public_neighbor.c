/* Neighbourhood collectives as the program calls them (MPI 5.0, section 8.6): arguments checked. */
#include "mpi/coll/neighbor.h"
#include "mpi/coll/public.h"
#include "mpi/runtime/error.h"

/* Checked arguments. */
struct neighborhood {
    struct neighbor_side send, recv;
};

static int check_side(const struct neighbor_side *side, int blocks)
{
    int error = coll_check_buffer(side->buffer);
    if (!error && !side->types)
        error = chq_type_check(side->type);
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

static int exchange_arguments(const struct neighborhood *n, const struct communicator *comm)
{
    struct neighbors neighbors;
    int error = coll_check_comm(comm);
    if (!error)
        error = chq_topology_neighbors(comm, &neighbors);
    if (!error)
        error = check_side(&n->send, neighbors.out);
    return error ? error : check_side(&n->recv, neighbors.in);
}

static int exchange(const void *arguments, struct communicator *comm)
{
    const struct neighborhood *n = arguments;
    struct neighbors neighbors;
    int error = chq_topology_neighbors(comm, &neighbors);
    return error ? error : chq_neighbor_linear(&n->send, &n->recv, &neighbors, comm);
}

static int exchange_now(const char *call, const struct neighborhood *n, struct communicator *comm)
{
    int error = exchange_arguments(n, comm);
    if (!error)
        error = exchange(n, comm);
    return coll_finish(comm, call, error);
}

static int exchange_request(const char *call, enum form form, const struct neighborhood *n, struct communicator *comm,
                            MPI_Request *request)
{
    struct neighbors neighbors;
    struct coll_start start = {
        .name = call, .body = exchange, .arguments = n, .bytes = sizeof *n, .types = {n->send.type, n->recv.type}};
    int error = exchange_arguments(n, comm);
    if (!error && n->send.types) {
        chq_topology_neighbors(comm, &neighbors);
        start.type_lists[0] = n->send.types;
        start.type_lists[1] = n->recv.types;
        start.list_lengths[0] = neighbors.out;
        start.list_lengths[1] = neighbors.in;
    }
    return chq_coll_request(&start, form, error, comm, request);
}

static inline struct neighbor_side equal_blocks(const void *buffer, int count, MPI_Datatype type)
{
    return (struct neighbor_side){.buffer = (char *)(uintptr_t)buffer, .count = (size_t)count, .type = type_of(type)};
}

static inline struct neighbor_side counted_blocks(const void *buffer, const int counts[], const int displacements[],
                                                  MPI_Datatype type)
{
    return (struct neighbor_side){
        .buffer = (char *)(uintptr_t)buffer, .type = type_of(type), .counts = counts, .displacements = displacements};
}

static inline struct neighbor_side typed_blocks(const void *buffer, const int counts[], const MPI_Aint addresses[],
                                                const MPI_Datatype types[])
{
    return (struct neighbor_side){
        .buffer = (char *)(uintptr_t)buffer, .counts = counts, .addresses = addresses, .types = types};
}

/* Sends one block to all. */
static inline struct neighbor_side same_block(const void *buffer, int count, MPI_Datatype type)
{
    struct neighbor_side side = equal_blocks(buffer, count, type);
    side.same = true;
    return side;
}

int PMPI_Neighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_NEIGHBOR_ALLGATHER);
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_now("MPI_Neighbor_allgather", &n, comm_of(comm));
    CALL_LEAVE(CALL_NEIGHBOR_ALLGATHER);
    return error;
}
MPI_ALIAS(Neighbor_allgather);

int PMPI_Ineighbor_allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                             MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_INEIGHBOR_ALLGATHER);
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_request("MPI_Ineighbor_allgather", FORM_NONBLOCKING, &n, comm_of(comm), request);
    CALL_LEAVE(CALL_INEIGHBOR_ALLGATHER);
    return error;
}
MPI_ALIAS(Ineighbor_allgather);

int PMPI_Neighbor_allgather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                 int recvcount, MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info,
                                 MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    return exchange_request("MPI_Neighbor_allgather_init", FORM_PERSISTENT, &n, comm_of(comm), request);
}
MPI_ALIAS(Neighbor_allgather_init);

int PMPI_Neighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                             const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_NEIGHBOR_ALLGATHERV);
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype),
                             counted_blocks(recvbuf, recvcounts, displs, recvtype)};
    int error = exchange_now("MPI_Neighbor_allgatherv", &n, comm_of(comm));
    CALL_LEAVE(CALL_NEIGHBOR_ALLGATHERV);
    return error;
}
MPI_ALIAS(Neighbor_allgatherv);

int PMPI_Ineighbor_allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                              const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                              MPI_Request *request)
{
    CALL_ENTER(CALL_INEIGHBOR_ALLGATHERV);
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype),
                             counted_blocks(recvbuf, recvcounts, displs, recvtype)};
    int error = exchange_request("MPI_Ineighbor_allgatherv", FORM_NONBLOCKING, &n, comm_of(comm), request);
    CALL_LEAVE(CALL_INEIGHBOR_ALLGATHERV);
    return error;
}
MPI_ALIAS(Ineighbor_allgatherv);

int PMPI_Neighbor_allgatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                                  const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                                  MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct neighborhood n = {same_block(sendbuf, sendcount, sendtype),
                             counted_blocks(recvbuf, recvcounts, displs, recvtype)};
    return exchange_request("MPI_Neighbor_allgatherv_init", FORM_PERSISTENT, &n, comm_of(comm), request);
}
MPI_ALIAS(Neighbor_allgatherv_init);

int PMPI_Neighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                           MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_NEIGHBOR_ALLTOALL);
    struct neighborhood n = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_now("MPI_Neighbor_alltoall", &n, comm_of(comm));
    CALL_LEAVE(CALL_NEIGHBOR_ALLTOALL);
    return error;
}
MPI_ALIAS(Neighbor_alltoall);

int PMPI_Ineighbor_alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_INEIGHBOR_ALLTOALL);
    struct neighborhood n = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_request("MPI_Ineighbor_alltoall", FORM_NONBLOCKING, &n, comm_of(comm), request);
    CALL_LEAVE(CALL_INEIGHBOR_ALLTOALL);
    return error;
}
MPI_ALIAS(Ineighbor_alltoall);

int PMPI_Neighbor_alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                                MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct neighborhood n = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    return exchange_request("MPI_Neighbor_alltoall_init", FORM_PERSISTENT, &n, comm_of(comm), request);
}
MPI_ALIAS(Neighbor_alltoall_init);

int PMPI_Neighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                            void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                            MPI_Comm comm)
{
    CALL_ENTER(CALL_NEIGHBOR_ALLTOALLV);
    struct neighborhood n = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                             counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    int error = exchange_now("MPI_Neighbor_alltoallv", &n, comm_of(comm));
    CALL_LEAVE(CALL_NEIGHBOR_ALLTOALLV);
    return error;
}
MPI_ALIAS(Neighbor_alltoallv);

int PMPI_Ineighbor_alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                             void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                             MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_INEIGHBOR_ALLTOALLV);
    struct neighborhood n = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                             counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    int error = exchange_request("MPI_Ineighbor_alltoallv", FORM_NONBLOCKING, &n, comm_of(comm), request);
    CALL_LEAVE(CALL_INEIGHBOR_ALLTOALLV);
    return error;
}
MPI_ALIAS(Ineighbor_alltoallv);

int PMPI_Neighbor_alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[],
                                 MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[],
                                 MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct neighborhood n = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                             counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    return exchange_request("MPI_Neighbor_alltoallv_init", FORM_PERSISTENT, &n, comm_of(comm), request);
}
MPI_ALIAS(Neighbor_alltoallv_init);

int PMPI_Neighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                            const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                            const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    CALL_ENTER(CALL_NEIGHBOR_ALLTOALLW);
    struct neighborhood n = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                             typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    int error = exchange_now("MPI_Neighbor_alltoallw", &n, comm_of(comm));
    CALL_LEAVE(CALL_NEIGHBOR_ALLTOALLW);
    return error;
}
MPI_ALIAS(Neighbor_alltoallw);

int PMPI_Ineighbor_alltoallw(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                             const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                             const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm,
                             MPI_Request *request)
{
    CALL_ENTER(CALL_INEIGHBOR_ALLTOALLW);
    struct neighborhood n = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                             typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    int error = exchange_request("MPI_Ineighbor_alltoallw", FORM_NONBLOCKING, &n, comm_of(comm), request);
    CALL_LEAVE(CALL_INEIGHBOR_ALLTOALLW);
    return error;
}
MPI_ALIAS(Ineighbor_alltoallw);

int PMPI_Neighbor_alltoallw_init(const void *sendbuf, const int sendcounts[], const MPI_Aint sdispls[],
                                 const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[],
                                 const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info,
                                 MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct neighborhood n = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                             typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    return exchange_request("MPI_Neighbor_alltoallw_init", FORM_PERSISTENT, &n, comm_of(comm), request);
}
MPI_ALIAS(Neighbor_alltoallw_init);
