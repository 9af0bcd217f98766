/* Reductions as the program calls them (MPI 5.0, sections 6.9 to 6.11): arguments checked, MPI_IN_PLACE
 * resolved. */
#include "mpi/coll/public.h"

static int check_reduction(const struct communicator *comm, int count, const struct datatype *type, const struct op *op)
{
    int error = coll_check_comm(comm);
    if (!error && count < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error)
        error = chq_type_check(type);
    return error ? error : chq_op_check(op, type);
}

int PMPI_Reduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root, MPI_Comm comm)
{
    MARK_CALL(CALL_REDUCE);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = check_reduction(c, count, type, o);
    if (!error)
        error = coll_check_root(c, root);
    if (!error && sendbuf == MPI_IN_PLACE && c->rank != root)
        error = chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for the root");
    if (!error && count > 0)
        error = chq_coll_reduce(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, type, o, root, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Reduce", error, NULL);
    MARK_RETURN(CALL_REDUCE);
    return error;
}
MPI_ALIAS(Reduce);

int PMPI_Allreduce(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MARK_CALL(CALL_ALLREDUCE);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = check_reduction(c, count, type, o);
    if (!error && count > 0)
        error = chq_coll_allreduce(sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, type, o, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Allreduce", error, NULL);
    MARK_RETURN(CALL_ALLREDUCE);
    return error;
}
MPI_ALIAS(Allreduce);

static int scan(const char *call, enum coll_kind kind, coll_allreduce *const algorithms[], const void *sendbuf, void *recvbuf, int count,
                MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = check_reduction(c, count, type, o);
    if (!error && count > 0) {
        int algorithm = chq_coll_select(kind, (size_t)count * type->size, c, (size_t)count, type, o);
        error = algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION
                              : algorithms[algorithm](sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, (size_t)count, type, o, c);
    }
    return error ? chq_fail(c, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Scan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    static coll_allreduce *const algorithms[] = {chq_scan_recursive_doubling, chq_scan_linear};
    MARK_CALL(CALL_SCAN);
    int error = scan("MPI_Scan", COLL_SCAN, algorithms, sendbuf, recvbuf, count, datatype, op, comm);
    MARK_RETURN(CALL_SCAN);
    return error;
}
MPI_ALIAS(Scan);

int PMPI_Exscan(const void *sendbuf, void *recvbuf, int count, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    static coll_allreduce *const algorithms[] = {chq_exscan_recursive_doubling, chq_exscan_linear};
    MARK_CALL(CALL_EXSCAN);
    int error = scan("MPI_Exscan", COLL_EXSCAN, algorithms, sendbuf, recvbuf, count, datatype, op, comm);
    MARK_RETURN(CALL_EXSCAN);
    return error;
}
MPI_ALIAS(Exscan);

static int reduce_scatter(const void *sendbuf, void *recvbuf, const int counts[], struct datatype *type, const struct op *op, struct communicator *comm)
{
    static coll_reduce_scatter *const algorithms[] = {chq_reduce_scatter_pairwise, chq_reduce_scatter_halving, chq_reduce_scatter_by_reduce};
    size_t total = 0;
    for (int i = 0; i < comm->size; i++)
        total += (size_t)counts[i];
    if (total == 0)
        return MPI_SUCCESS;
    int algorithm = chq_coll_select(COLL_REDUCE_SCATTER, total * type->size, comm, total, type, op);
    if (algorithm < 0)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return algorithms[algorithm](sendbuf == MPI_IN_PLACE ? recvbuf : sendbuf, recvbuf, counts, type, op, comm);
}

int PMPI_Reduce_scatter(const void *sendbuf, void *recvbuf, const int recvcounts[], MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MARK_CALL(CALL_REDUCE_SCATTER);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = check_reduction(c, 0, type, o);
    for (int i = 0; !error && i < c->size; i++)
        if (recvcounts[i] < 0)
            error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error)
        error = reduce_scatter(sendbuf, recvbuf, recvcounts, type, o, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Reduce_scatter", error, NULL);
    MARK_RETURN(CALL_REDUCE_SCATTER);
    return error;
}
MPI_ALIAS(Reduce_scatter);

int PMPI_Reduce_scatter_block(const void *sendbuf, void *recvbuf, int recvcount, MPI_Datatype datatype, MPI_Op op, MPI_Comm comm)
{
    MARK_CALL(CALL_REDUCE_SCATTER_BLOCK);
    struct communicator *c = comm_of(comm);
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = check_reduction(c, recvcount, type, o);
    if (!error) {
        struct scratch scratch;
        int *counts = chq_scratch(&scratch, (size_t)c->size * sizeof *counts);
        for (int i = 0; i < c->size; i++)
            counts[i] = recvcount;
        error = reduce_scatter(sendbuf, recvbuf, counts, type, o, c);
        scratch_free(&scratch);
    }
    if (unlikely(error))
        error = chq_fail(c, "MPI_Reduce_scatter_block", error, NULL);
    MARK_RETURN(CALL_REDUCE_SCATTER_BLOCK);
    return error;
}
MPI_ALIAS(Reduce_scatter_block);
