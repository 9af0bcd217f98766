/* Bruck allgather of blocks that differ: as allgather_bruck.c, where each process computes from the
 * counts, which all know, how long what it gives and gets is.
 * Bruck, Ho, Kipnis, Upfal, Weathersby: Efficient Algorithms for All-to-All Communications in
 * Multiport Message-Passing Systems. IEEE Trans. on Parallel and Distributed Systems 8(11), 1997. */
#include "mpi/coll/coll.h"

/* Bytes of `blocks` consecutive blocks, the first that of `rank`. */
static size_t run_bytes(const struct side *recv, int rank, int blocks, int n)
{
    size_t elements = 0;
    for (int i = 0; i < blocks; i++)
        elements += side_count(recv, ring_add(rank, i, n));
    return elements * recv->type->size;
}

int chq_allgatherv_bruck(const struct side *send, const struct side *recv, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    struct scratch scratch;
    char *packed = chq_scratch(&scratch, run_bytes(recv, rank, n, n));
    size_t bytes = chq_pack(send->buffer, send->count, send->type, packed, run_bytes(recv, rank, 1, n));
    for (int have = 1; have < n && !error; have <<= 1) {
        int more = have < n - have ? have : n - have, from = ring_add(rank, have, n);
        size_t got = run_bytes(recv, from, more, n);
        error = chq_coll_exchange(packed, run_bytes(recv, rank, more, n), type_byte(), ring_subtract(rank, have, n),
                                  packed + bytes, got, type_byte(), from, COLL_ALLGATHERV, comm);
        bytes += got;
    }
    const char *block = packed;
    for (int i = 0; i < n && !error; i++) {
        int owner = ring_add(rank, i, n);
        block += chq_unpack(block, run_bytes(recv, owner, 1, n), side_block(recv, owner), side_count(recv, owner),
                            recv->type);
    }
    scratch_free(&scratch);
    return error;
}
