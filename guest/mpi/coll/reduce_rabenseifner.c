/* Long reduction: reduce-scatter by recursive halving, then binomial gather to the root.
 * Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004, LNCS 3036.
 * Needs a commutative operator and an element a rank. */
#include "mpi/coll/halving.h"

/* The reverse of the halving: blocks grow towards participant 0, the root. */
static int gather(struct halving *h)
{
    for (int mask = 1; mask < 1 << h->bits; mask <<= 1) {
        int partner = chq_halving_rank(h, h->number ^ mask);
        bool upper = h->number & mask;
        int first = upper ? h->number : h->number + mask;
        size_t start = chq_halving_start(h, first), count = chq_halving_start(h, first + mask) - start;
        if (upper) {
            chq_coll_send(element(h->vector, start, h->type), count, h->type, partner, h->tag, h->comm);
            return MPI_SUCCESS;
        }
        int error = chq_coll_recv(element(h->vector, start, h->type), count, h->type, partner, h->tag, h->comm);
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}

int chq_reduce_rabenseifner(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                            int root, struct communicator *comm)
{
    struct scratch own, other;
    own.heap = NULL;
    void *vector = comm->rank == root ? recv : scratch_elements(&own, count, type);
    void *incoming = scratch_elements(&other, count, type);
    copy_elements(send, vector, count, type);
    struct halving h = {
        .vector = vector, .count = count, .type = type, .op = op, .comm = comm, .tag = COLL_REDUCE, .root = root};
    int error = chq_halving_fold(&h, incoming);
    if (!error && h.number >= 0) {
        error = chq_halving_reduce_scatter(&h, incoming);
        if (!error)
            error = gather(&h);
    }
    scratch_free(&own);
    scratch_free(&other);
    return error;
}
