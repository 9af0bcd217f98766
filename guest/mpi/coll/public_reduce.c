/* Reductions as the program calls them (MPI 5.0, sections 6.9 to 6.11). */
#include "mpi/coll/public.h"
#include "mpi/runtime/error.h"

/* Checked arguments; the send buffer in place is the receive buffer. */
struct reduction {
    const void *send;
    void *recv;
    size_t count;
    const int *counts; /* Of a reduce-scatter whose blocks differ, else null. */
    struct datatype *type;
    struct op *op;
    int root;
};

COLL_INLINE int reduction_arguments(struct reduction *r, const void *send, void *recv, int count, MPI_Datatype datatype,
                                    MPI_Op op, const struct communicator *comm)
{
    *r = (struct reduction){
        send == MPI_IN_PLACE ? recv : send, recv, (size_t)count, NULL, type_of(datatype), op_of(op), 0};
    int error = coll_check_comm(comm);
    if (!error && count < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error)
        error = chq_type_check(r->type);
    return error ? error : chq_op_check(r->op, r->type);
}

static int reduction_request(const char *call, enum form form, int error, coll_body *body, const struct reduction *r,
                             struct communicator *comm, MPI_Request *request)
{
    struct coll_start start = {
        .name = call, .body = body, .arguments = r, .bytes = sizeof *r, .types = {r->type}, .op = r->op};
    return chq_coll_request(&start, form, error, comm, request);
}

COLL_INLINE int reduce_arguments(struct reduction *r, const void *send, void *recv, int count, MPI_Datatype datatype,
                                 MPI_Op op, int root, const struct communicator *comm)
{
    int error = reduction_arguments(r, send, recv, count, datatype, op, comm);
    r->root = root;
    if (unlikely(error))
        return error == MPI_ERR_COMM ? error : coll_unless_beside_root(error, comm, root);
    error = coll_check_root(comm, root);
    if (!error && send == MPI_IN_PLACE && comm->rank != root)
        error = chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    return error;
}

COLL_INLINE int reduce(const void *arguments, struct communicator *comm)
{
    const struct reduction *r = arguments;
    if (unlikely(comm->inter))
        return chq_inter_reduce(r->send, r->recv, r->count, r->type, r->op, r->root, comm);
    return r->count > 0 ? chq_coll_reduce(r->send, r->recv, r->count, r->type, r->op, r->root, comm) : MPI_SUCCESS;
}

int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                MPI_Comm comm)
{
    CALL_ENTER(CALL_REDUCE);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_arguments(&r, sendbuf, recvbuf, count, datatype, op, root, c);
    if (!error)
        error = reduce(&r, c);
    error = coll_finish(c, "MPI_Reduce", error);
    CALL_LEAVE(CALL_REDUCE);
    return error;
}
MPI_ALIAS(Reduce);

int PMPI_Ireduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                 MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IREDUCE);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_arguments(&r, sendbuf, recvbuf, count, datatype, op, root, c);
    error = reduction_request("MPI_Ireduce", FORM_NONBLOCKING, error, reduce, &r, c, request);
    CALL_LEAVE(CALL_IREDUCE);
    return error;
}
MPI_ALIAS(Ireduce);

int PMPI_Reduce_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                     MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_arguments(&r, sendbuf, recvbuf, count, datatype, op, root, c);
    return reduction_request("MPI_Reduce_init", FORM_PERSISTENT, error, reduce, &r, c, request);
}
MPI_ALIAS(Reduce_init);

COLL_INLINE int allreduce(const void *arguments, struct communicator *comm)
{
    const struct reduction *r = arguments;
    if (unlikely(comm->inter))
        return chq_inter_allreduce(r->send, r->recv, r->count, r->type, r->op, comm);
    return r->count > 0 ? chq_coll_allreduce(r->send, r->recv, r->count, r->type, r->op, comm) : MPI_SUCCESS;
}

int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLREDUCE);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    if (!error)
        error = allreduce(&r, c);
    error = coll_finish(c, "MPI_Allreduce", error);
    CALL_LEAVE(CALL_ALLREDUCE);
    return error;
}
MPI_ALIAS(Allreduce);

int PMPI_Iallreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                    MPI_Request *request)
{
    CALL_ENTER(CALL_IALLREDUCE);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    error = reduction_request("MPI_Iallreduce", FORM_NONBLOCKING, error, allreduce, &r, c, request);
    CALL_LEAVE(CALL_IALLREDUCE);
    return error;
}
MPI_ALIAS(Iallreduce);

int PMPI_Allreduce_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                        MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    return reduction_request("MPI_Allreduce_init", FORM_PERSISTENT, error, allreduce, &r, c, request);
}
MPI_ALIAS(Allreduce_init);

static int scan(const void *arguments, struct communicator *comm)
{
    static coll_allreduce *const algorithms[] = {CHQ_SCAN(CHQ_ALGORITHM_FUNCTION)};
    const struct reduction *r = arguments;
    if (unlikely(comm->inter))
        return chq_comm_check_intra(comm);
    if (r->count == 0)
        return MPI_SUCCESS;
    int algorithm = coll_select(COLL_SCAN, r->count * r->type->size, comm, r->count, r->type, r->op);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION
                         : algorithms[algorithm](r->send, r->recv, r->count, r->type, r->op, comm);
}

int PMPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    CALL_ENTER(CALL_SCAN);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    if (!error)
        error = scan(&r, c);
    error = coll_finish(c, "MPI_Scan", error);
    CALL_LEAVE(CALL_SCAN);
    return error;
}
MPI_ALIAS(Scan);

int PMPI_Iscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
               MPI_Request *request)
{
    CALL_ENTER(CALL_ISCAN);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    error = reduction_request("MPI_Iscan", FORM_NONBLOCKING, error, scan, &r, c, request);
    CALL_LEAVE(CALL_ISCAN);
    return error;
}
MPI_ALIAS(Iscan);

int PMPI_Scan_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                   MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    return reduction_request("MPI_Scan_init", FORM_PERSISTENT, error, scan, &r, c, request);
}
MPI_ALIAS(Scan_init);

static int exscan(const void *arguments, struct communicator *comm)
{
    static coll_allreduce *const algorithms[] = {CHQ_EXSCAN(CHQ_ALGORITHM_FUNCTION)};
    const struct reduction *r = arguments;
    if (unlikely(comm->inter))
        return chq_comm_check_intra(comm);
    if (r->count == 0)
        return MPI_SUCCESS;
    int algorithm = coll_select(COLL_EXSCAN, r->count * r->type->size, comm, r->count, r->type, r->op);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION
                         : algorithms[algorithm](r->send, r->recv, r->count, r->type, r->op, comm);
}

int PMPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    CALL_ENTER(CALL_EXSCAN);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    if (!error)
        error = exscan(&r, c);
    error = coll_finish(c, "MPI_Exscan", error);
    CALL_LEAVE(CALL_EXSCAN);
    return error;
}
MPI_ALIAS(Exscan);

int PMPI_Iexscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                 MPI_Request *request)
{
    CALL_ENTER(CALL_IEXSCAN);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    error = reduction_request("MPI_Iexscan", FORM_NONBLOCKING, error, exscan, &r, c, request);
    CALL_LEAVE(CALL_IEXSCAN);
    return error;
}
MPI_ALIAS(Iexscan);

int PMPI_Exscan_init(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm,
                     MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, count, datatype, op, c);
    return reduction_request("MPI_Exscan_init", FORM_PERSISTENT, error, exscan, &r, c, request);
}
MPI_ALIAS(Exscan_init);

static int reduce_scatter_counts(const struct reduction *r, const int counts[], struct communicator *comm)
{
    static coll_reduce_scatter *const algorithms[] = {CHQ_REDUCE_SCATTER(CHQ_ALGORITHM_FUNCTION)};
    size_t total = 0;
    if (unlikely(comm->inter))
        return chq_inter_reduce_scatter(r->send, r->recv, counts, r->type, r->op, comm);
    for (int i = 0; i < comm->size; i++)
        total += (size_t)counts[i];
    if (total == 0)
        return MPI_SUCCESS;
    int algorithm = coll_select(COLL_REDUCE_SCATTER, total * r->type->size, comm, total, r->type, r->op);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION
                         : algorithms[algorithm](r->send, r->recv, counts, r->type, r->op, comm);
}

static int reduce_scatter_arguments(struct reduction *r, const void *send, void *recv, const int counts[],
                                    MPI_Datatype datatype, MPI_Op op, const struct communicator *comm)
{
    int error = reduction_arguments(r, send, recv, 0, datatype, op, comm);
    r->counts = counts;
    return error ? error : coll_check_counts(counts, comm->local_size);
}

static int reduce_scatter(const void *arguments, struct communicator *comm)
{
    const struct reduction *r = arguments;
    return reduce_scatter_counts(r, r->counts, comm);
}

int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                        MPI_Comm comm)
{
    CALL_ENTER(CALL_REDUCE_SCATTER);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_scatter_arguments(&r, sendbuf, recvbuf, recvcounts, datatype, op, c);
    if (!error)
        error = reduce_scatter(&r, c);
    error = coll_finish(c, "MPI_Reduce_scatter", error);
    CALL_LEAVE(CALL_REDUCE_SCATTER);
    return error;
}
MPI_ALIAS(Reduce_scatter);

int PMPI_Ireduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op,
                         MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IREDUCE_SCATTER);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_scatter_arguments(&r, sendbuf, recvbuf, recvcounts, datatype, op, c);
    error = reduction_request("MPI_Ireduce_scatter", FORM_NONBLOCKING, error, reduce_scatter, &r, c, request);
    CALL_LEAVE(CALL_IREDUCE_SCATTER);
    return error;
}
MPI_ALIAS(Ireduce_scatter);

int PMPI_Reduce_scatter_init(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype,
                             MPI_Op op, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduce_scatter_arguments(&r, sendbuf, recvbuf, recvcounts, datatype, op, c);
    return reduction_request("MPI_Reduce_scatter_init", FORM_PERSISTENT, error, reduce_scatter, &r, c, request);
}
MPI_ALIAS(Reduce_scatter_init);

static int reduce_scatter_block(const void *arguments, struct communicator *comm)
{
    const struct reduction *r = arguments;
    struct scratch scratch;
    int *counts = chq_scratch(&scratch, (size_t)comm->local_size * sizeof *counts);
    for (int i = 0; i < comm->local_size; i++)
        counts[i] = (int)r->count;
    int error = reduce_scatter_counts(r, counts, comm);
    scratch_free(&scratch);
    return error;
}

int PMPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                              MPI_Comm comm)
{
    CALL_ENTER(CALL_REDUCE_SCATTER_BLOCK);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, recvcount, datatype, op, c);
    if (!error)
        error = reduce_scatter_block(&r, c);
    error = coll_finish(c, "MPI_Reduce_scatter_block", error);
    CALL_LEAVE(CALL_REDUCE_SCATTER_BLOCK);
    return error;
}
MPI_ALIAS(Reduce_scatter_block);

int PMPI_Ireduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                               MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IREDUCE_SCATTER_BLOCK);
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, recvcount, datatype, op, c);
    error =
        reduction_request("MPI_Ireduce_scatter_block", FORM_NONBLOCKING, error, reduce_scatter_block, &r, c, request);
    CALL_LEAVE(CALL_IREDUCE_SCATTER_BLOCK);
    return error;
}
MPI_ALIAS(Ireduce_scatter_block);

int PMPI_Reduce_scatter_block_init(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op,
                                   MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct reduction r;
    int error = reduction_arguments(&r, sendbuf, recvbuf, recvcount, datatype, op, c);
    return reduction_request("MPI_Reduce_scatter_block_init", FORM_PERSISTENT, error, reduce_scatter_block, &r, c,
                             request);
}
MPI_ALIAS(Reduce_scatter_block_init);
