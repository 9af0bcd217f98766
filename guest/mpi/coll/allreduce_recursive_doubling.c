/* Short allreduce: in round k partners at distance 2^k exchange their sums; ceil(log2 n) rounds of
 * the whole vector. Ranks beyond a power of two are folded into their neighbours first. A sum
 * always covers consecutive ranks, so operators that don't commute are right.
 * Thakur, Rabenseifner, Gropp: Optimization of Collective Communication Operations in MPICH. Int.
 * J. of High Performance Computing Applications 19(1), 2005. */
#include "mpi/coll/coll.h"

/* Of each of the first `extra` pairs the odd rank takes part. */
static int participant_rank(int number, int extra) { return number < extra ? number * 2 + 1 : number + extra; }

struct sums {
    void *sum, *incoming;
    size_t count;
    struct datatype *type;
    const struct op *op;
};

/* Combines what came in; it is from lower ranks or from higher ones. */
static void combine(struct sums *s, bool from_lower)
{
    if (from_lower || s->op->commutes) {
        chq_op_apply(s->op, s->incoming, s->sum, s->count, s->type);
        return;
    }
    chq_op_apply(s->op, s->sum, s->incoming, s->count, s->type);
    void *sum = s->incoming;
    s->incoming = s->sum;
    s->sum = sum;
}

int chq_allreduce_recursive_doubling(const void *send, void *recv, size_t count, struct datatype *type,
                                     const struct op *op, struct communicator *comm)
{
    int n = comm->size, rank = comm->rank, power = 1, error = MPI_SUCCESS;
    struct scratch scratch;
    struct sums s = {recv, scratch_elements(&scratch, count, type), count, type, op};
    copy_elements(send, recv, count, type);
    while (power * 2 <= n)
        power *= 2;
    int extra = n - power;
    int number = rank - extra;
    if (rank < 2 * extra) {
        number = rank & 1 ? rank / 2 : -1;
        if (number < 0) {
            chq_coll_send(s.sum, count, type, rank + 1, COLL_ALLREDUCE, comm);
        } else {
            error = chq_coll_recv(s.incoming, count, type, rank - 1, COLL_ALLREDUCE, comm);
            combine(&s, true);
        }
    }
    for (int mask = 1; number >= 0 && mask < power && !error; mask <<= 1) {
        int partner = participant_rank(number ^ mask, extra);
        error = chq_coll_exchange(s.sum, count, type, partner, s.incoming, count, type, partner, COLL_ALLREDUCE, comm);
        combine(&s, partner < rank);
    }
    if (!error && rank < 2 * extra) {
        if (number < 0)
            error = chq_coll_recv(s.sum, count, type, rank + 1, COLL_ALLREDUCE, comm);
        else
            chq_coll_send(s.sum, count, type, rank - 1, COLL_ALLREDUCE, comm);
    }
    copy_elements(s.sum, recv, count, type);
    scratch_free(&scratch);
    return error;
}
