/* See halving.h. Needs a commutative operator: blocks meet in no particular order. */
#include "mpi/coll/halving.h"

size_t chq_halving_start(const struct halving *h, int block)
{
    size_t base = h->count >> h->bits, over = h->count & (((size_t)1 << h->bits) - 1);
    return (size_t)block * base + ((size_t)block < over ? (size_t)block : over);
}

int chq_halving_rank(const struct halving *h, int number)
{
    int relative = number < h->extra ? number * 2 : number + h->extra;
    return ring_add(relative, h->root, h->comm->size);
}

int chq_halving_fold(struct halving *h, void *incoming)
{
    int n = h->comm->size, relative = ring_subtract(h->comm->rank, h->root, n), error = MPI_SUCCESS;
    h->bits = 0;
    while (2 << h->bits <= n)
        h->bits++;
    h->extra = n - (1 << h->bits);
    h->number = relative - h->extra;
    if (relative >= 2 * h->extra)
        return MPI_SUCCESS;
    h->number = relative & 1 ? -1 : relative / 2;
    if (relative & 1) {
        chq_coll_send(h->vector, h->count, h->type, ring_subtract(h->comm->rank, 1, n), h->tag, h->comm);
    } else {
        error = chq_coll_recv(incoming, h->count, h->type, ring_add(h->comm->rank, 1, n), h->tag, h->comm);
        chq_op_apply(h->op, incoming, h->vector, h->count, h->type);
    }
    return error;
}

int chq_halving_reduce_scatter(struct halving *h, void *incoming)
{
    int first = 0, last = 1 << h->bits; /* The blocks this participant still works on. */
    for (int mask = last >> 1; mask > 0; mask >>= 1) {
        int middle = first + mask;
        bool upper = h->number & mask;
        size_t low = chq_halving_start(h, first), cut = chq_halving_start(h, middle), high = chq_halving_start(h, last);
        size_t keep = upper ? cut : low, keep_count = upper ? high - cut : cut - low;
        size_t give = upper ? low : cut, give_count = upper ? cut - low : high - cut;
        int partner = chq_halving_rank(h, h->number ^ mask);
        int error = chq_coll_exchange(element(h->vector, give, h->type), give_count, h->type, partner,
                                      element(incoming, keep, h->type), keep_count, h->type, partner, h->tag, h->comm);
        if (error)
            return error;
        chq_op_apply(h->op, element(incoming, keep, h->type), element(h->vector, keep, h->type), keep_count, h->type);
        if (upper)
            first = middle;
        else
            last = middle;
    }
    return MPI_SUCCESS;
}
