/* MPI_Dims_create (MPI 5.0, section 8.5.2): factors as close to each other as possible, not
 * increasing. The search walks the divisors of what is left, largest first factor near the root. */
#include <stddef.h>

#include "mpi/error.h"

/* Whether `left` is a product of `count` factors, none above `most`; if so, the best (smallest
 * largest factor) is in best[], not increasing. */
static int factor(int left, int count, int most, int *best)
{
    if (count == 1) {
        best[0] = left;
        return left <= most;
    }
    for (int largest = 1; largest <= most && largest <= left; largest++) {
        if (left % largest != 0)
            continue;
        /* The others are not larger, so their product is at most largest^(count-1). */
        long reach = 1;
        for (int i = 0; i < count && reach < left; i++)
            reach *= largest;
        if (reach >= left && factor(left / largest, count - 1, largest, best + 1)) {
            best[0] = largest;
            return 1;
        }
    }
    return 0;
}

enum { DIMENSIONS_MAX = 32 };

int PMPI_Dims_create(int nnodes, int ndims, int dims[])
{
    int open = 0, left = nnodes, best[DIMENSIONS_MAX];
    if (nnodes < 1 || ndims < 0 || ndims > DIMENSIONS_MAX)
        return chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "bad number of nodes or dimensions");
    for (int i = 0; i < ndims; i++) {
        if (dims[i] < 0 || (dims[i] > 0 && left % dims[i] != 0))
            return chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "a given dimension does not divide the nodes");
        if (dims[i] > 0)
            left /= dims[i];
        else
            open++;
    }
    if (open == 0)
        return left == 1 || ndims == 0 ? MPI_SUCCESS
                                       : chq_fail(NULL, "MPI_Dims_create", MPI_ERR_DIMS, "the dimensions' product is not the nodes");
    factor(left, open, left, best);
    for (int i = 0, at = 0; i < ndims; i++)
        if (dims[i] == 0)
            dims[i] = best[at++];
    return MPI_SUCCESS;
}
MPI_ALIAS(Dims_create);
