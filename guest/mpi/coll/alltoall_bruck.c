/* Bruck all-to-all, for short equal blocks: ceil(log2 n) messages of about n/2 blocks instead of
 * n - 1 messages. Block i starts as the one for rank + i; in round k blocks with bit k travel 2^k
 * ranks on.
 * Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
 * Multiport Message-Passing Systems. IEEE Trans. on Parallel and Distributed Systems 8(11), 1997. */
#include "mpi/coll/coll.h"

/* Copies the blocks whose number has `bit` from `from` to `to`: gathered at the one, in place at
 * the other. Returns their bytes. */
static size_t pick(char *blocks, char *together, int n, int bit, size_t block, bool gather)
{
    size_t bytes = 0;
    for (int i = bit; i < n; i++) {
        if (!(i & bit))
            continue;
        char *place = blocks + (size_t)i * block;
        if (gather)
            chq_copy(together + bytes, place, block);
        else
            chq_copy(place, together + bytes, block);
        bytes += block;
    }
    return bytes;
}

int chq_alltoall_bruck(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    size_t block = send->count * send->type->size, all = (size_t)n * block;
    struct scratch scratch;
    char *blocks = chq_scratch(&scratch, 3 * all), *out = blocks + all, *in = out + all;
    for (int i = 0; i < n; i++)
        chq_pack(element(send->buffer, (size_t)ring_add(rank, i, n) * send->count, send->type), send->count, send->type,
                 blocks + (size_t)i * block, block);
    for (int bit = 1; bit < n && !error; bit <<= 1) {
        size_t bytes = pick(blocks, out, n, bit, block, true);
        error = chq_coll_exchange(out, bytes, type_byte(), ring_add(rank, bit, n), in, bytes, type_byte(),
                                  ring_subtract(rank, bit, n), COLL_ALLTOALL, comm);
        pick(blocks, in, n, bit, block, false);
    }
    /* Block i has come from rank - i. */
    for (int i = 0; i < n && !error; i++)
        chq_unpack(blocks + (size_t)i * block, block,
                   element(recv->buffer, (size_t)ring_subtract(rank, i, n) * recv->count, recv->type), recv->count,
                   recv->type);
    scratch_free(&scratch);
    return error;
}
