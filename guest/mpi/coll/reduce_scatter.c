/* Reduce-scatters.
 * Pairwise: n - 1 steps, in each a rank sends one other its block of the own vector and combines
 * what it gets into its own block. Halving: log2 n rounds, needs a power of two of ranks. Both need
 * a commutative operator. By reduction and scatter: for all others.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

/* Elements before the block of `rank`. */
static size_t start_of(const int counts[], int rank)
{
    size_t start = 0;
    for (int i = 0; i < rank; i++)
        start += (size_t)counts[i];
    return start;
}

int chq_reduce_scatter_pairwise(const void *send, void *recv, const int counts[], struct datatype *type,
                                const struct op *op, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    size_t own = (size_t)counts[rank];
    struct scratch scratch[2];
    void *sum = scratch_elements(&scratch[0], own, type), *incoming = scratch_elements(&scratch[1], own, type);
    copy_elements(element(send, start_of(counts, rank), type), sum, own, type);
    for (int step = 1; step < n && !error; step++) {
        int to = ring_add(rank, step, n), from = ring_subtract(rank, step, n);
        error = chq_coll_exchange(element(send, start_of(counts, to), type), (size_t)counts[to], type, to, incoming,
                                  own, type, from, COLL_REDUCE_SCATTER, comm);
        chq_op_apply(op, incoming, sum, own, type);
    }
    /* Last: in place, `recv` is what the others were sent from. */
    copy_elements(sum, recv, own, type);
    scratch_free(&scratch[0]);
    scratch_free(&scratch[1]);
    return error;
}

int chq_reduce_scatter_halving(const void *send, void *recv, const int counts[], struct datatype *type,
                               const struct op *op, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, error = MPI_SUCCESS;
    size_t total = start_of(counts, n);
    struct scratch scratch[2];
    void *vector = scratch_elements(&scratch[0], total, type), *incoming = scratch_elements(&scratch[1], total, type);
    copy_elements(send, vector, total, type);
    int first = 0, last = n;
    for (int mask = n >> 1; mask > 0 && !error; mask >>= 1) {
        int middle = first + mask, partner = rank ^ mask;
        bool upper = rank & mask;
        size_t low = start_of(counts, first), cut = start_of(counts, middle), high = start_of(counts, last);
        size_t keep = upper ? cut : low, keep_count = upper ? high - cut : cut - low;
        size_t give = upper ? low : cut, give_count = upper ? cut - low : high - cut;
        error = chq_coll_exchange(element(vector, give, type), give_count, type, partner, element(incoming, keep, type),
                                  keep_count, type, partner, COLL_REDUCE_SCATTER, comm);
        chq_op_apply(op, element(incoming, keep, type), element(vector, keep, type), keep_count, type);
        if (upper)
            first = middle;
        else
            last = middle;
    }
    copy_elements(element(vector, start_of(counts, rank), type), recv, (size_t)counts[rank], type);
    scratch_free(&scratch[0]);
    scratch_free(&scratch[1]);
    return error;
}

int chq_reduce_scatter_by_reduce(const void *send, void *recv, const int counts[], struct datatype *type,
                                 const struct op *op, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank;
    size_t total = start_of(counts, n);
    struct scratch scratch;
    void *vector = scratch_elements(&scratch, rank == 0 ? total : 0, type);
    int error = chq_reduce_binomial(send, vector, total, type, op, 0, comm);
    if (!error && rank == 0) {
        for (int i = 1; i < n; i++)
            chq_coll_send(element(vector, start_of(counts, i), type), (size_t)counts[i], type, i, COLL_REDUCE_SCATTER,
                          comm);
        copy_elements(vector, recv, (size_t)counts[0], type);
    } else if (!error) {
        error = chq_coll_recv(recv, (size_t)counts[rank], type, 0, COLL_REDUCE_SCATTER, comm);
    }
    scratch_free(&scratch);
    return error;
}
