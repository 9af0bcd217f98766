/* Scans. Recursive doubling: in round k partners at distance 2^k exchange the sums of their groups
 * of 2^k ranks; the upper one adds what it got to its prefix. Linear: the prefix goes from rank to
 * rank; fewer additions, n - 1 steps in a row. In both, lower ranks are on the left.
 * Hillis, Steele: Data Parallel Algorithms. Comm. of the ACM 29(12), 1986. */
#include "mpi/coll/coll.h"

/* Inclusive: `recv` holds the own contribution already. Exclusive: it holds nothing until `filled`. */
static int doubling(void *recv, bool filled, void *group, void *incoming, size_t count, struct datatype *type,
                    const struct op *op, int tag, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank;
    for (int mask = 1; mask < n; mask <<= 1) {
        int partner = rank ^ mask;
        if (partner >= n)
            continue;
        int error = chq_coll_exchange(group, count, type, partner, incoming, count, type, partner, tag, comm);
        if (error)
            return error;
        if (partner < rank) {
            if (filled)
                chq_op_apply(op, incoming, recv, count, type);
            else
                copy_elements(incoming, recv, count, type);
            filled = true;
            chq_op_apply(op, incoming, group, count, type);
        } else {
            chq_op_apply(op, group, incoming, count, type);
            void *sum = incoming;
            incoming = group;
            group = sum;
        }
    }
    return MPI_SUCCESS;
}

static int scan_doubling(const void *send, void *recv, bool inclusive, size_t count, struct datatype *type,
                         const struct op *op, int tag, struct communicator *comm)
{
    struct scratch scratch[2];
    void *group = scratch_elements(&scratch[0], count, type), *incoming = scratch_elements(&scratch[1], count, type);
    copy_elements(send, group, count, type);
    if (inclusive)
        copy_elements(send, recv, count, type);
    int error = doubling(recv, inclusive, group, incoming, count, type, op, tag, comm);
    scratch_free(&scratch[0]);
    scratch_free(&scratch[1]);
    return error;
}

int chq_scan_recursive_doubling(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                                struct communicator *comm)
{
    return scan_doubling(send, recv, true, count, type, op, COLL_SCAN, comm);
}

int chq_exscan_recursive_doubling(const void *send, void *recv, size_t count, struct datatype *type,
                                  const struct op *op, struct communicator *comm)
{
    return scan_doubling(send, recv, false, count, type, op, COLL_EXSCAN, comm);
}

int chq_scan_linear(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                    struct communicator *comm)
{
    struct scratch scratch;
    void *prefix = scratch_elements(&scratch, count, type);
    int error = MPI_SUCCESS;
    copy_elements(send, recv, count, type);
    if (comm->rank > 0) {
        error = chq_coll_recv(prefix, count, type, comm->rank - 1, COLL_SCAN, comm);
        chq_op_apply(op, prefix, recv, count, type);
    }
    if (!error && comm->rank + 1 < comm->size)
        chq_coll_send(recv, count, type, comm->rank + 1, COLL_SCAN, comm);
    scratch_free(&scratch);
    return error;
}

int chq_exscan_linear(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                      struct communicator *comm)
{
    struct scratch scratch;
    void *sum = scratch_elements(&scratch, count, type);
    int error = MPI_SUCCESS;
    copy_elements(send, sum, count, type);
    if (comm->rank > 0) {
        error = chq_coll_recv(recv, count, type, comm->rank - 1, COLL_EXSCAN, comm);
        chq_op_apply(op, recv, sum, count, type);
    }
    if (!error && comm->rank + 1 < comm->size)
        chq_coll_send(sum, count, type, comm->rank + 1, COLL_EXSCAN, comm);
    scratch_free(&scratch);
    return error;
}
