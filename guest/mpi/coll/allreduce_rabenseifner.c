/* Long allreduce: reduce-scatter by recursive halving, then allgather by recursive doubling.
 * Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004, LNCS 3036.
 * Needs a commutative operator and an element a rank. */
#include "mpi/coll/halving.h"

static int allgather(struct halving *h)
{
    for (int mask = 1; mask < 1 << h->bits; mask <<= 1) {
        int partner = chq_halving_rank(h, h->number ^ mask);
        int mine = h->number & ~(mask - 1), theirs = mine ^ mask;
        size_t from = chq_halving_start(h, mine), to = chq_halving_start(h, theirs);
        int error = chq_coll_exchange(element(h->vector, from, h->type), chq_halving_start(h, mine + mask) - from,
                                      h->type, partner, element(h->vector, to, h->type),
                                      chq_halving_start(h, theirs + mask) - to, h->type, partner, h->tag, h->comm);
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}

/* Processes that dropped out get the result from those that took their part. */
static int unfold(struct halving *h)
{
    int n = h->comm->size;
    if (h->number < 0)
        return chq_coll_recv(h->vector, h->count, h->type, ring_subtract(h->comm->rank, 1, n), h->tag, h->comm);
    if (h->number < h->extra)
        chq_coll_send(h->vector, h->count, h->type, ring_add(h->comm->rank, 1, n), h->tag, h->comm);
    return MPI_SUCCESS;
}

int chq_allreduce_rabenseifner(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                               struct communicator *comm)
{
    struct scratch other;
    void *incoming = scratch_elements(&other, count, type);
    copy_elements(send, recv, count, type);
    struct halving h = {
        .vector = recv, .count = count, .type = type, .op = op, .comm = comm, .tag = COLL_ALLREDUCE, .root = 0};
    int error = chq_halving_fold(&h, incoming);
    if (!error && h.number >= 0) {
        error = chq_halving_reduce_scatter(&h, incoming);
        if (!error)
            error = allgather(&h);
    }
    if (!error)
        error = unfold(&h);
    scratch_free(&other);
    return error;
}
