/* Binomial tree reduction: ceil(log2 n) rounds, each the whole vector. A rank combines a run of
 * consecutive ranks, lower ones on the left, so operators that don't commute are right when the
 * tree hangs from rank 0; its result then goes on to the root.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

int chq_reduce_binomial(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                        int root, struct communicator *comm)
{
    int n = comm->size, top = op->commutes ? root : 0, relative = ring_subtract(comm->rank, top, n),
        error = MPI_SUCCESS;
    struct scratch scratch[2];
    scratch[0].heap = scratch[1].heap = NULL;
    /* What has been combined so far lies at `sum`; the next contribution comes to the buffer that
     * doesn't hold it. Buffers are only made where something comes in. */
    const void *sum = send;
    void *buffers[2] = {NULL, NULL};
    int next = 0;
    for (int mask = 1; mask < n && !error; mask <<= 1) {
        if (relative & mask) {
            chq_coll_send(sum, count, type, ring_add(relative & ~mask, top, n), COLL_REDUCE, comm);
            break;
        }
        int child = relative | mask;
        if (child >= n)
            continue;
        if (!buffers[next])
            buffers[next] = scratch_elements(&scratch[next], count, type);
        error = chq_coll_recv(buffers[next], count, type, ring_add(child, top, n), COLL_REDUCE, comm);
        chq_op_apply(op, sum, buffers[next], count, type);
        sum = buffers[next];
        next ^= 1;
    }
    if (!error && relative == 0 && top == root)
        copy_elements(sum, recv, count, type);
    else if (!error && relative == 0)
        chq_coll_send(sum, count, type, root, COLL_REDUCE, comm);
    else if (!error && comm->rank == root)
        error = chq_coll_recv(recv, count, type, top, COLL_REDUCE, comm);
    scratch_free(&scratch[0]);
    scratch_free(&scratch[1]);
    return error;
}
