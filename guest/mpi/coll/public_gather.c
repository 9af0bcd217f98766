/* Gathers and scatters as the program calls them (MPI 5.0, sections 6.5 to 6.7). */
#include "mpi/coll/public.h"
#include "mpi/runtime/error.h"

/* Checked arguments, MPI_IN_PLACE resolved. What means nothing in this process has no type. */
struct gathering {
    struct side send, recv;
    int root;
};

static int check_side(const struct side *side, const struct communicator *comm)
{
    int error = side->counts           ? coll_check_counts(side->counts, comm->size)
                : (int)side->count < 0 ? chq_reason(MPI_ERR_COUNT, "negative count")
                                       : MPI_SUCCESS;
    if (!error)
        error = coll_check_buffer(side->buffer);
    return error ? error : chq_type_check(side->type);
}

static inline struct side equal_side(const void *buffer, int count, MPI_Datatype type)
{
    return (struct side){(void *)(uintptr_t)buffer, (size_t)count, type_of(type), NULL, NULL};
}

static inline struct side counted_side(const void *buffer, const int counts[], const int displacements[],
                                       MPI_Datatype type)
{
    return (struct side){(void *)(uintptr_t)buffer, 0, type_of(type), counts, displacements};
}

/* In place, the own block is already where it goes: the other side's block of this rank. */
static struct side own_block(const struct side *other, int rank)
{
    return (struct side){side_block(other, rank), side_count(other, rank), other->type, NULL, NULL};
}

/* Of an intercommunicator: `all` at the root, `own` on the other side, nothing beside the root. */
static int inter_rooted_arguments(struct side *all, struct side *own, int root, const struct communicator *comm)
{
    struct side *meant = root == MPI_ROOT ? all : root == MPI_PROC_NULL ? NULL : own;
    if (meant != all)
        all->type = NULL;
    if (meant != own)
        own->type = NULL;
    if (meant && meant->buffer == MPI_IN_PLACE)
        return coll_not_in_place();
    return meant ? check_side(meant, comm) : MPI_SUCCESS;
}

/* One end of a gather or scatter is `all`, at the root alone, the other the block of each rank. */
static int rooted_arguments(struct side *all, struct side *own, int root, const struct communicator *comm)
{
    int error = coll_check_comm(comm);
    if (!error)
        error = coll_check_root(comm, root);
    if (error)
        return error;
    if (unlikely(comm->inter))
        return inter_rooted_arguments(all, own, root, comm);
    if (comm->rank == root)
        error = check_side(all, comm);
    else
        all->type = NULL;
    if (error || own->buffer != MPI_IN_PLACE)
        return error ? error : check_side(own, comm);
    if (comm->rank != root)
        return chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    *own = own_block(all, root);
    return MPI_SUCCESS;
}

static int gather_arguments(struct gathering *g, const struct communicator *comm)
{
    return rooted_arguments(&g->recv, &g->send, g->root, comm);
}
static int scatter_arguments(struct gathering *g, const struct communicator *comm)
{
    return rooted_arguments(&g->send, &g->recv, g->root, comm);
}

static int allgather_arguments(struct gathering *g, const struct communicator *comm)
{
    int error = coll_check_comm(comm);
    if (!error)
        error = check_side(&g->recv, comm);
    if (error || g->send.buffer != MPI_IN_PLACE)
        return error ? error : check_side(&g->send, comm);
    if (comm->inter)
        return coll_not_in_place();
    g->send = own_block(&g->recv, comm->rank);
    return MPI_SUCCESS;
}

static int gathering_request(const char *call, enum form form, int error, coll_body *body, const struct gathering *g,
                             struct communicator *comm, MPI_Request *request)
{
    struct coll_start start = {
        .name = call, .body = body, .arguments = g, .bytes = sizeof *g, .types = {g->send.type, g->recv.type}};
    return chq_coll_request(&start, form, error, comm, request);
}

static int gather(const void *arguments, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {CHQ_GATHER(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_gather(&g->send, &g->recv, g->root, comm);
    const struct side *own = comm->rank == g->root ? &g->recv : &g->send;
    int algorithm = coll_select(COLL_GATHER, own->count * own->type->size, comm, own->count, own->type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, g->root, comm);
}

static int gatherv(const void *arguments, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {CHQ_GATHERV(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_gather(&g->send, &g->recv, g->root, comm);
    int algorithm = coll_select(COLL_GATHERV, 0, comm, 0, g->send.type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, g->root, comm);
}

static int scatter(const void *arguments, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {CHQ_SCATTER(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_scatter(&g->send, &g->recv, g->root, comm);
    const struct side *own = comm->rank == g->root ? &g->send : &g->recv;
    int algorithm = coll_select(COLL_SCATTER, own->count * own->type->size, comm, own->count, own->type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, g->root, comm);
}

static int scatterv(const void *arguments, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {CHQ_SCATTERV(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_scatter(&g->send, &g->recv, g->root, comm);
    int algorithm = coll_select(COLL_SCATTERV, 0, comm, 0, g->recv.type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, g->root, comm);
}

static int allgather(const void *arguments, struct communicator *comm)
{
    static coll_allgather *const algorithms[] = {CHQ_ALLGATHER(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_allgather(&g->send, &g->recv, comm);
    size_t bytes = g->recv.count * g->recv.type->size * (size_t)comm->size;
    int algorithm = coll_select(COLL_ALLGATHER, bytes, comm, g->recv.count, g->recv.type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, comm);
}

static int allgatherv(const void *arguments, struct communicator *comm)
{
    static coll_allgather *const algorithms[] = {CHQ_ALLGATHERV(CHQ_ALGORITHM_FUNCTION)};
    const struct gathering *g = arguments;
    if (unlikely(comm->inter))
        return chq_inter_allgather(&g->send, &g->recv, comm);
    size_t count = 0;
    for (int i = 0; i < comm->size; i++)
        count += (size_t)g->recv.counts[i];
    int algorithm = coll_select(COLL_ALLGATHERV, count * g->recv.type->size, comm, count, g->recv.type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&g->send, &g->recv, comm);
}

int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    CALL_ENTER(CALL_GATHER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = gather_arguments(&g, c);
    if (!error)
        error = gather(&g, c);
    error = coll_finish(c, "MPI_Gather", error);
    CALL_LEAVE(CALL_GATHER);
    return error;
}
MPI_ALIAS(Gather);

int PMPI_Igather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IGATHER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = gather_arguments(&g, c);
    error = gathering_request("MPI_Igather", FORM_NONBLOCKING, error, gather, &g, c, request);
    CALL_LEAVE(CALL_IGATHER);
    return error;
}
MPI_ALIAS(Igather);

int PMPI_Gather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                     MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = gather_arguments(&g, c);
    return gathering_request("MPI_Gather_init", FORM_PERSISTENT, error, gather, &g, c, request);
}
MPI_ALIAS(Gather_init);

int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                 const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    CALL_ENTER(CALL_GATHERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          root};
    int error = gather_arguments(&g, c);
    if (!error)
        error = gatherv(&g, c);
    error = coll_finish(c, "MPI_Gatherv", error);
    CALL_LEAVE(CALL_GATHERV);
    return error;
}
MPI_ALIAS(Gatherv);

int PMPI_Igatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                  const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IGATHERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          root};
    int error = gather_arguments(&g, c);
    error = gathering_request("MPI_Igatherv", FORM_NONBLOCKING, error, gatherv, &g, c, request);
    CALL_LEAVE(CALL_IGATHERV);
    return error;
}
MPI_ALIAS(Igatherv);

int PMPI_Gatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                      const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                      MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          root};
    int error = gather_arguments(&g, c);
    return gathering_request("MPI_Gatherv_init", FORM_PERSISTENT, error, gatherv, &g, c, request);
}
MPI_ALIAS(Gatherv_init);

int PMPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                 MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    CALL_ENTER(CALL_SCATTER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = scatter_arguments(&g, c);
    if (!error)
        error = scatter(&g, c);
    error = coll_finish(c, "MPI_Scatter", error);
    CALL_LEAVE(CALL_SCATTER);
    return error;
}
MPI_ALIAS(Scatter);

int PMPI_Iscatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_ISCATTER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = scatter_arguments(&g, c);
    error = gathering_request("MPI_Iscatter", FORM_NONBLOCKING, error, scatter, &g, c, request);
    CALL_LEAVE(CALL_ISCATTER);
    return error;
}
MPI_ALIAS(Iscatter);

int PMPI_Scatter_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                      MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), root};
    int error = scatter_arguments(&g, c);
    return gathering_request("MPI_Scatter_init", FORM_PERSISTENT, error, scatter, &g, c, request);
}
MPI_ALIAS(Scatter_init);

int PMPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf,
                  int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    CALL_ENTER(CALL_SCATTERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {counted_side(sendbuf, sendcounts, displs, sendtype), equal_side(recvbuf, recvcount, recvtype),
                          root};
    int error = scatter_arguments(&g, c);
    if (!error)
        error = scatterv(&g, c);
    error = coll_finish(c, "MPI_Scatterv", error);
    CALL_LEAVE(CALL_SCATTERV);
    return error;
}
MPI_ALIAS(Scatterv);

int PMPI_Iscatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                   void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_ISCATTERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {counted_side(sendbuf, sendcounts, displs, sendtype), equal_side(recvbuf, recvcount, recvtype),
                          root};
    int error = scatter_arguments(&g, c);
    error = gathering_request("MPI_Iscatterv", FORM_NONBLOCKING, error, scatterv, &g, c, request);
    CALL_LEAVE(CALL_ISCATTERV);
    return error;
}
MPI_ALIAS(Iscatterv);

int PMPI_Scatterv_init(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                       void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, MPI_Info info,
                       MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {counted_side(sendbuf, sendcounts, displs, sendtype), equal_side(recvbuf, recvcount, recvtype),
                          root};
    int error = scatter_arguments(&g, c);
    return gathering_request("MPI_Scatterv_init", FORM_PERSISTENT, error, scatterv, &g, c, request);
}
MPI_ALIAS(Scatterv_init);

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLGATHER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), 0};
    int error = allgather_arguments(&g, c);
    if (!error)
        error = allgather(&g, c);
    error = coll_finish(c, "MPI_Allgather", error);
    CALL_LEAVE(CALL_ALLGATHER);
    return error;
}
MPI_ALIAS(Allgather);

int PMPI_Iallgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                    MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IALLGATHER);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), 0};
    int error = allgather_arguments(&g, c);
    error = gathering_request("MPI_Iallgather", FORM_NONBLOCKING, error, allgather, &g, c, request);
    CALL_LEAVE(CALL_IALLGATHER);
    return error;
}
MPI_ALIAS(Iallgather);

int PMPI_Allgather_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), equal_side(recvbuf, recvcount, recvtype), 0};
    int error = allgather_arguments(&g, c);
    return gathering_request("MPI_Allgather_init", FORM_PERSISTENT, error, allgather, &g, c, request);
}
MPI_ALIAS(Allgather_init);

int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                    const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLGATHERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          0};
    int error = allgather_arguments(&g, c);
    if (!error)
        error = allgatherv(&g, c);
    error = coll_finish(c, "MPI_Allgatherv", error);
    CALL_LEAVE(CALL_ALLGATHERV);
    return error;
}
MPI_ALIAS(Allgatherv);

int PMPI_Iallgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[],
                     const int displs[], MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IALLGATHERV);
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          0};
    int error = allgather_arguments(&g, c);
    error = gathering_request("MPI_Iallgatherv", FORM_NONBLOCKING, error, allgatherv, &g, c, request);
    CALL_LEAVE(CALL_IALLGATHERV);
    return error;
}
MPI_ALIAS(Iallgatherv);

int PMPI_Allgatherv_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf,
                         const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm,
                         MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct gathering g = {equal_side(sendbuf, sendcount, sendtype), counted_side(recvbuf, recvcounts, displs, recvtype),
                          0};
    int error = allgather_arguments(&g, c);
    return gathering_request("MPI_Allgatherv_init", FORM_PERSISTENT, error, allgatherv, &g, c, request);
}
MPI_ALIAS(Allgatherv_init);
