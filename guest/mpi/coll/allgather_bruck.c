/* Bruck allgather: in round k every rank sends all it has to the one 2^k before and gets as much
 * from the one 2^k further on; ceil(log2 n) rounds for any n. Blocks are packed in the order own,
 * next, ..., and put into place at the end.
 * Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
 * Multiport Message-Passing Systems. IEEE Trans. on Parallel and Distributed Systems 8(11), 1997. */
#include "mpi/coll/coll.h"

int chq_allgather_bruck(const struct side *send, const struct side *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    size_t block = recv->count * recv->type->size;
    struct scratch scratch;
    char *packed = chq_scratch(&scratch, (size_t)n * block);
    chq_pack(send->buffer, send->count, send->type, packed, block);
    for (int have = 1; have < n && !error; have <<= 1) {
        size_t more = (size_t)(have < n - have ? have : n - have) * block;
        error =
            chq_coll_exchange(packed, more, type_byte(), ring_subtract(rank, have, n), packed + (size_t)have * block,
                              more, type_byte(), ring_add(rank, have, n), COLL_ALLGATHER, comm);
    }
    for (int i = 0; i < n && !error; i++)
        chq_unpack(packed + (size_t)i * block, block, side_block(recv, ring_add(rank, i, n)), recv->count, recv->type);
    scratch_free(&scratch);
    return error;
}
