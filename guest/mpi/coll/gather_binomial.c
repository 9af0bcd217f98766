/* Binomial gather and scatter of equal blocks: ceil(log2 n) rounds; a rank's temporary holds the
 * packed blocks of its subtree, in the order of relative ranks.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

int chq_gather_binomial(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), error = MPI_SUCCESS;
    const struct side *own = comm->rank == root ? recv : send;
    size_t block = own->count * own->type->size;
    int mask = coll_subtree(relative, n), blocks = coll_least(mask, n - relative);
    if (blocks == 1 && relative != 0) {
        chq_coll_send(send->buffer, send->count, send->type, ring_add(relative - mask, root, n), COLL_GATHER, comm);
        return MPI_SUCCESS;
    }
    struct scratch scratch;
    char *packed = chq_scratch(&scratch, (size_t)blocks * block);
    chq_pack(send->buffer, send->count, send->type, packed, block);
    for (int bit = 1; bit < mask && relative + bit < n && !error; bit <<= 1) {
        int child = relative + bit;
        error = chq_coll_recv(packed + (size_t)bit * block, (size_t)coll_least(bit, n - child) * block, type_byte(),
                              ring_add(child, root, n), COLL_GATHER, comm);
    }
    if (!error && relative != 0)
        chq_coll_send(packed, (size_t)blocks * block, type_byte(), ring_add(relative - mask, root, n), COLL_GATHER,
                      comm);
    for (int i = 0; !error && relative == 0 && i < n; i++)
        chq_unpack(packed + (size_t)i * block, block, side_block(recv, ring_add(i, root, n)), recv->count, recv->type);
    scratch_free(&scratch);
    return error;
}

int chq_scatter_binomial(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), error = MPI_SUCCESS;
    const struct side *own = comm->rank == root ? send : recv;
    size_t block = own->count * own->type->size;
    int mask = coll_subtree(relative, n), blocks = coll_least(mask, n - relative);
    if (blocks == 1 && relative != 0)
        return chq_coll_recv(recv->buffer, recv->count, recv->type, ring_add(relative - mask, root, n), COLL_SCATTER,
                             comm);
    struct scratch scratch;
    char *packed = chq_scratch(&scratch, (size_t)blocks * block);
    if (relative != 0)
        error = chq_coll_recv(packed, (size_t)blocks * block, type_byte(), ring_add(relative - mask, root, n),
                              COLL_SCATTER, comm);
    else
        for (int i = 0; i < n; i++)
            chq_pack(side_block(send, ring_add(i, root, n)), send->count, send->type, packed + (size_t)i * block,
                     block);
    for (int bit = mask >> 1; bit > 0 && !error; bit >>= 1) {
        int child = relative + bit;
        if (child < n)
            chq_coll_send(packed + (size_t)bit * block, (size_t)coll_least(bit, n - child) * block, type_byte(),
                          ring_add(child, root, n), COLL_SCATTER, comm);
    }
    if (!error)
        chq_unpack(packed, block, recv->buffer, recv->count, recv->type);
    scratch_free(&scratch);
    return error;
}
