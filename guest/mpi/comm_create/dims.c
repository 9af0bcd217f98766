/* MPI_Dims_create (MPI 5.0, section 8.5.2): factors as close to each other as possible, not
 * increasing. "As close" is read as in J. L. Träff and F. D. Lübbe, "Specification Guideline
 * Violations by MPI_Dims_create", EuroMPI 2015: the largest and the smallest differ the least; of
 * factors that do so equally, those whose smallest is the largest. */
#include <limits.h>
#include <stddef.h>

#include "mpi/comm/raise.h"

enum { DIMENSIONS_MAX = 32 };

struct search {
    int count;
    int factors[DIMENSIONS_MAX]; /* Not decreasing: those chosen so far. */
    int best[DIMENSIONS_MAX], spread;
};

/* The largest number whose power is not above `value`. */
static int root(int value, int power)
{
    if (power == 1)
        return value;
    for (int number = 1;; number++) {
        long product = number + 1;
        for (int i = 1; i < power && product <= value; i++)
            product *= number + 1;
        if (product > value)
            return number;
    }
}

/* Chooses factor `at` and those after it, whose product is `left`. */
static void choose(struct search *search, int left, int at)
{
    int *factors = search->factors, open = search->count - at;
    if (open == 1) {
        factors[at] = left;
        if (left - factors[0] >= search->spread)
            return;
        search->spread = left - factors[0];
        for (int i = 0; i < search->count; i++)
            search->best[i] = factors[i];
        return;
    }
    for (int factor = root(left, open); factor >= (at > 0 ? factors[at - 1] : 1); factor--) {
        if (left % factor != 0)
            continue;
        factors[at] = factor;
        /* The largest is at least the others' root, and a smaller factor here only raises it. */
        if (root(left / factor, open - 1) - factors[0] >= search->spread)
            return;
        choose(search, left / factor, at + 1);
    }
}

int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    struct search search = {.count = 0, .spread = INT_MAX};
    int left = nnodes;
    if (nnodes < 1 || ndims < 0 || ndims > DIMENSIONS_MAX)
        return chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "bad number of nodes or dimensions");
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && left % dims[i] != 0))
            return chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "a given dimension does not divide the nodes");
        if (dims[i] > 0)
            left /= dims[i];
        else
            search.count++;
    }
    if (search.count == 0)
        return left == 1 || ndims == 0
                   ? MPI_SUCCESS
                   : chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "the dimensions' product is not the nodes");
    choose(&search, left, 0);
    for (int i = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = search.best[--search.count];
    return MPI_SUCCESS;
}
MPI_ALIAS(Dims_create);
