/* From a collective to the selected algorithm. The library's own collectives come here too. */
#include "mpi/coll/select.h"

int chq_coll_barrier(struct communicator *comm)
{
    static coll_barrier *const algorithms[] = {CHQ_BARRIER(CHQ_ALGORITHM_FUNCTION)};
    int algorithm = coll_select(COLL_BARRIER, 0, comm, 0, type_byte(), NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](comm);
}

int chq_coll_bcast(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    static coll_bcast *const algorithms[] = {CHQ_BCAST(CHQ_ALGORITHM_FUNCTION)};
    int algorithm = coll_select(COLL_BCAST, count * type->size, comm, count, type, NULL);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](buffer, count, type, root, comm);
}

int chq_coll_reduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op, int root,
                    struct communicator *comm)
{
    static coll_reduce *const algorithms[] = {CHQ_REDUCE(CHQ_ALGORITHM_FUNCTION)};
    int algorithm = coll_select(COLL_REDUCE, count * type->size, comm, count, type, op);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION
                         : algorithms[algorithm](send, recv, count, type, op, root, comm);
}

int chq_coll_allreduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                       struct communicator *comm)
{
    static coll_allreduce *const algorithms[] = {CHQ_ALLREDUCE(CHQ_ALGORITHM_FUNCTION)};
    int algorithm = coll_select(COLL_ALLREDUCE, count * type->size, comm, count, type, op);
    return algorithm < 0 ? MPI_ERR_UNSUPPORTED_OPERATION : algorithms[algorithm](send, recv, count, type, op, comm);
}

int chq_coll_allreduce_max(struct communicator *comm, int32_t *values, size_t count)
{
    return chq_allreduce_recursive_doubling(values, values, count, type_of(MPI_INT32_T), op_of(MPI_MAX), comm);
}

int chq_coll_allgather_bytes(struct communicator *comm, const void *own, void *all, size_t bytes)
{
    struct side send = {(void *)(uintptr_t)own, bytes, type_byte(), NULL, NULL},
                recv = {all, bytes, type_byte(), NULL, NULL};
    return chq_allgather_bruck(&send, &recv, comm);
}
