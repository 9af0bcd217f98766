/* Binomial gather and scatter of blocks of different lengths: as those of equal ones (gather_binomial.c),
 * but only the root has all lengths, so they travel ahead of the data: up the tree the length of a
 * subtree's data, down the tree that of each of its blocks.
 * Traeff: On Optimal Trees for Irregular Gather and Scatter Collectives. IEEE Trans. on Parallel and
 * Distributed Systems 30(9), 2019: the binomial tree that its trees are compared with. */
#include "mpi/coll/coll.h"
#include "mpi/runtime/error.h"

enum { CHILDREN_MAX = 16 }; /* Ranks are 16-bit numbers. */

static size_t length_of(const struct side *side, int rank) { return side_count(side, rank) * side->type->size; }

/* At the root: unpacks the blocks of all, which must be as long as the root says. */
static int unpack_all(const struct side *recv, const char *packed, size_t bytes, int root, int n)
{
    size_t expected = 0;
    for (int rank = 0; rank < n; rank++)
        expected += length_of(recv, rank);
    if (bytes != expected)
        return chq_reason(MPI_ERR_TRUNCATE, "blocks are not as long as the root says");
    for (int i = 0; i < n; i++) {
        int rank = ring_add(i, root, n);
        chq_unpack(packed, length_of(recv, rank), side_block(recv, rank), side_count(recv, rank), recv->type);
        packed += length_of(recv, rank);
    }
    return MPI_SUCCESS;
}

int chq_gatherv_binomial(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), error = MPI_SUCCESS, children = 0;
    int mask = coll_subtree(relative, n), parent = ring_add(relative - mask, root, n);
    uint64_t lengths[CHILDREN_MAX], own = send->count * send->type->size, total = own;
    for (int bit = 1; bit < mask && relative + bit < n && !error; bit <<= 1, children++) {
        error = chq_coll_recv(&lengths[children], sizeof *lengths, type_byte(), ring_add(relative + bit, root, n),
                              COLL_GATHER, comm);
        total += lengths[children];
    }
    if (error)
        return error;
    if (relative != 0)
        chq_coll_send(&total, sizeof total, type_byte(), parent, COLL_GATHER, comm);
    struct scratch scratch;
    char *packed = chq_scratch(&scratch, total), *at = packed + own;
    chq_pack(send->buffer, send->count, send->type, packed, own);
    for (int i = 0; i < children && !error; i++) {
        error = chq_coll_recv(at, lengths[i], type_byte(), ring_add(relative + (1 << i), root, n), COLL_GATHER, comm);
        at += lengths[i];
    }
    if (!error && relative != 0)
        chq_coll_send(packed, total, type_byte(), parent, COLL_GATHER, comm);
    else if (!error)
        error = unpack_all(recv, packed, total, root, n);
    scratch_free(&scratch);
    return error;
}

static size_t sum(const uint64_t lengths[], int blocks)
{
    size_t total = 0;
    for (int i = 0; i < blocks; i++)
        total += lengths[i];
    return total;
}

/* A subtree's blocks: first their lengths, unless it is a leaf, which has its own. */
static void send_subtree(const uint64_t lengths[], const char *packed, int blocks, int to, struct communicator *comm)
{
    if (blocks > 1)
        chq_coll_send(lengths, (size_t)blocks * sizeof *lengths, type_byte(), to, COLL_SCATTER, comm);
    chq_coll_send(packed, sum(lengths, blocks), type_byte(), to, COLL_SCATTER, comm);
}

/* Hands the subtrees' parts on and keeps the first block, of which `recv` has room. */
static int keep_first(const uint64_t lengths[], const char *packed, int mask, const struct side *recv, int root,
                      struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n);
    for (int bit = mask >> 1; bit > 0; bit >>= 1) {
        int child = relative + bit;
        if (child < n)
            send_subtree(lengths + bit, packed + sum(lengths, bit), coll_least(bit, n - child),
                         ring_add(child, root, n), comm);
    }
    if (lengths[0] > recv->count * recv->type->size)
        return chq_reason(MPI_ERR_TRUNCATE, "the block is longer than the receive buffer");
    chq_unpack(packed, lengths[0], recv->buffer, recv->count, recv->type);
    return MPI_SUCCESS;
}

int chq_scatterv_binomial(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n), error = MPI_SUCCESS;
    int mask = coll_subtree(relative, n), blocks = coll_least(mask, n - relative),
        parent = ring_add(relative - mask, root, n);
    if (blocks == 1 && relative != 0)
        return chq_coll_recv(recv->buffer, recv->count, recv->type, parent, COLL_SCATTER, comm);
    struct scratch for_lengths, scratch;
    uint64_t *lengths = chq_scratch(&for_lengths, (size_t)blocks * sizeof *lengths);
    if (relative != 0)
        error = chq_coll_recv(lengths, (size_t)blocks * sizeof *lengths, type_byte(), parent, COLL_SCATTER, comm);
    else
        for (int i = 0; i < n; i++)
            lengths[i] = length_of(send, ring_add(i, root, n));
    char *packed = chq_scratch(&scratch, error ? 0 : sum(lengths, blocks)), *at = packed;
    if (relative != 0 && !error) {
        error = chq_coll_recv(packed, sum(lengths, blocks), type_byte(), parent, COLL_SCATTER, comm);
    } else if (!error) {
        for (int i = 0; i < n; at += lengths[i], i++) {
            int rank = ring_add(i, root, n);
            chq_pack(side_block(send, rank), side_count(send, rank), send->type, at, lengths[i]);
        }
    }
    if (!error)
        error = keep_first(lengths, packed, mask, recv, root, comm);
    scratch_free(&scratch);
    scratch_free(&for_lengths);
    return error;
}
