/* Ring allreduce: n - 1 steps pass and combine blocks around the ring, n - 1 more pass the results
 * on. Each byte crosses a rank's link about twice, only between neighbours.
 * Patarasuk, Yuan: Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations. J. of
 * Parallel and Distributed Computing 69(2), 2009.
 * Needs a commutative operator and an element a rank. */
#include "mpi/coll/coll.h"

struct ring {
    char *vector;
    struct datatype *type;
    size_t base, over; /* Elements a block; one more in the first `over`. */
    int right, left;
};

static size_t block_start(const struct ring *ring, int block)
{
    return (size_t)block * ring->base + ((size_t)block < ring->over ? (size_t)block : ring->over);
}

static size_t block_count(const struct ring *ring, int block) { return ring->base + ((size_t)block < ring->over); }

static char *block_at(const struct ring *ring, int block)
{
    return element(ring->vector, block_start(ring, block), ring->type);
}

int chq_allreduce_ring(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                       struct communicator *comm)
{
    int n = comm->size, error = MPI_SUCCESS;
    struct ring ring = {
        recv, type, count / (size_t)n, count % (size_t)n, ring_add(comm->rank, 1, n), ring_subtract(comm->rank, 1, n)};
    struct scratch scratch;
    void *incoming = scratch_elements(&scratch, ring.base + 1, type);
    copy_elements(send, recv, count, type);
    int give = comm->rank;
    for (int step = 1; step < n && !error; step++) {
        int take = ring_subtract(give, 1, n);
        error = chq_coll_exchange(block_at(&ring, give), block_count(&ring, give), type, ring.right, incoming,
                                  block_count(&ring, take), type, ring.left, COLL_ALLREDUCE, comm);
        chq_op_apply(op, incoming, block_at(&ring, take), block_count(&ring, take), type);
        give = take;
    }
    for (int step = 1; step < n && !error; step++) {
        int take = ring_subtract(give, 1, n);
        error =
            chq_coll_exchange(block_at(&ring, give), block_count(&ring, give), type, ring.right, block_at(&ring, take),
                              block_count(&ring, take), type, ring.left, COLL_ALLREDUCE, comm);
        give = take;
    }
    scratch_free(&scratch);
    return error;
}
