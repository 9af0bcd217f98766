/* Gathers, scatters and all-to-alls as the program calls them (MPI 5.0, sections 6.5 to 6.8):
 * arguments checked, MPI_IN_PLACE resolved. */
#include "mpi/coll/coll.h"
#include "mpi/error.h"
#include "mpi/mark.h"

static int check_comm(const struct communicator *comm, int root)
{
    int error = chq_comm_check(comm);
    if (!error && comm->inter)
        error = chq_reason(MPI_ERR_COMM, "not for an intercommunicator");
    if (!error && (root < 0 || root >= comm->size))
        error = chq_reason(MPI_ERR_ROOT, "root is not a rank of the communicator");
    return error;
}

static int check_side(int count, const struct datatype *type)
{
    return count < 0 ? chq_reason(MPI_ERR_COUNT, "negative count") : chq_type_check(type);
}

static int check_counts(const int counts[], const struct datatype *type, const struct communicator *comm)
{
    for (int i = 0; i < comm->size; i++)
        if (counts[i] < 0)
            return chq_reason(MPI_ERR_COUNT, "negative count");
    return chq_type_check(type);
}

static int finish(struct communicator *comm, const char *call, int error)
{
    return likely(error == MPI_SUCCESS) ? MPI_SUCCESS : chq_fail(comm, call, error, NULL);
}

/* In place, the own block is already where it goes: the other side's block of this rank. */
static struct side resolve(const struct side *side, const struct side *other, int rank)
{
    if (side->buffer != MPI_IN_PLACE)
        return *side;
    return (struct side){side_block(other, rank), side_count(other, rank), other->type, NULL, NULL};
}

static int gather(struct side send, struct side recv, int root, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {chq_gather_binomial, chq_gather_linear};
    bool at_root = comm->rank == root;
    int error = at_root ? (recv.counts ? check_counts(recv.counts, recv.type, comm) : check_side((int)recv.count, recv.type)) : MPI_SUCCESS;
    if (!error && send.buffer == MPI_IN_PLACE && !at_root)
        error = chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    if (!error && send.buffer != MPI_IN_PLACE)
        error = check_side((int)send.count, send.type);
    if (error)
        return error;
    if (at_root)
        send = resolve(&send, &recv, root);
    if (recv.displacements)
        return chq_gather_linear(&send, &recv, root, comm);
    const struct side *own = at_root ? &recv : &send;
    int algorithm = chq_coll_select(COLL_GATHER, own->count * own->type->size, comm, own->count, own->type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&send, &recv, root, comm);
}

int PMPI_Gather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    MARK_CALL(CALL_GATHER);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, root);
    if (!error)
        error = gather((struct side){(void *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL},
                       (struct side){recvbuf, (size_t)recvcount, type_of(recvtype), NULL, NULL}, root, c);
    error = finish(c, "MPI_Gather", error);
    MARK_RETURN(CALL_GATHER);
    return error;
}
MPI_ALIAS(Gather);

int PMPI_Gatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    MARK_CALL(CALL_GATHERV);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, root);
    if (!error) {
        /* Away from the root, counts and displacements mean nothing and may be null. */
        bool at_root = c->rank == root;
        static const int none[1];
        error = gather((struct side){(void *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL},
                       (struct side){recvbuf, 0, type_of(recvtype), at_root ? recvcounts : none, at_root ? displs : none}, root, c);
    }
    error = finish(c, "MPI_Gatherv", error);
    MARK_RETURN(CALL_GATHERV);
    return error;
}
MPI_ALIAS(Gatherv);

static int scatter(struct side send, struct side recv, int root, struct communicator *comm)
{
    static coll_gather *const algorithms[] = {chq_scatter_binomial, chq_scatter_linear};
    bool at_root = comm->rank == root;
    int error = at_root ? (send.counts ? check_counts(send.counts, send.type, comm) : check_side((int)send.count, send.type)) : MPI_SUCCESS;
    if (!error && recv.buffer == MPI_IN_PLACE && !at_root)
        error = chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    if (!error && recv.buffer != MPI_IN_PLACE)
        error = check_side((int)recv.count, recv.type);
    if (error)
        return error;
    if (at_root)
        recv = resolve(&recv, &send, root);
    if (send.displacements)
        return chq_scatter_linear(&send, &recv, root, comm);
    const struct side *own = at_root ? &send : &recv;
    int algorithm = chq_coll_select(COLL_SCATTER, own->count * own->type->size, comm, own->count, own->type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&send, &recv, root, comm);
}

int PMPI_Scatter(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    MARK_CALL(CALL_SCATTER);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, root);
    if (!error)
        error = scatter((struct side){(void *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL},
                        (struct side){recvbuf, (size_t)recvcount, type_of(recvtype), NULL, NULL}, root, c);
    error = finish(c, "MPI_Scatter", error);
    MARK_RETURN(CALL_SCATTER);
    return error;
}
MPI_ALIAS(Scatter);

int PMPI_Scatterv(const void *sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    MARK_CALL(CALL_SCATTERV);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, root);
    if (!error) {
        bool at_root = c->rank == root;
        static const int none[1];
        error = scatter((struct side){(void *)(uintptr_t)sendbuf, 0, type_of(sendtype), at_root ? sendcounts : none, at_root ? displs : none},
                        (struct side){recvbuf, (size_t)recvcount, type_of(recvtype), NULL, NULL}, root, c);
    }
    error = finish(c, "MPI_Scatterv", error);
    MARK_RETURN(CALL_SCATTERV);
    return error;
}
MPI_ALIAS(Scatterv);

static int allgather(struct side send, struct side recv, struct communicator *comm)
{
    static coll_allgather *const algorithms[] = {chq_allgather_ring, chq_allgather_recursive_doubling, chq_allgather_bruck};
    int error = recv.counts ? check_counts(recv.counts, recv.type, comm) : check_side((int)recv.count, recv.type);
    if (!error && send.buffer != MPI_IN_PLACE)
        error = check_side((int)send.count, send.type);
    if (error)
        return error;
    send = resolve(&send, &recv, comm->rank);
    if (recv.counts)
        return chq_allgather_ring(&send, &recv, comm);
    size_t bytes = recv.count * recv.type->size * (size_t)comm->size;
    int algorithm = chq_coll_select(COLL_ALLGATHER, bytes, comm, recv.count, recv.type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](&send, &recv, comm);
}

int PMPI_Allgather(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_ALLGATHER);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, 0);
    if (!error)
        error = allgather((struct side){(void *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL},
                          (struct side){recvbuf, (size_t)recvcount, type_of(recvtype), NULL, NULL}, c);
    error = finish(c, "MPI_Allgather", error);
    MARK_RETURN(CALL_ALLGATHER);
    return error;
}
MPI_ALIAS(Allgather);

int PMPI_Allgatherv(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_ALLGATHERV);
    struct communicator *c = comm_of(comm);
    int error = check_comm(c, 0);
    if (!error)
        error = allgather((struct side){(void *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL},
                          (struct side){recvbuf, 0, type_of(recvtype), recvcounts, displs}, c);
    error = finish(c, "MPI_Allgatherv", error);
    MARK_RETURN(CALL_ALLGATHERV);
    return error;
}
MPI_ALIAS(Allgatherv);
