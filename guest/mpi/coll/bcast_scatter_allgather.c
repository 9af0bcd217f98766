/* Long broadcast: binomial scatter of n blocks, then ring allgather. Each byte crosses a rank's link
 * about twice, whatever n.
 * van de Geijn: On Global Combine Operations. J. of Parallel and Distributed Computing 22, 1994;
 * Barnett et al.: Interprocessor Collective Communication Library. SHPCC 1994.
 * Needs dense data: it is cut at bytes. */
#include "mpi/coll/coll.h"

/* Bytes of blocks [first, last), when `block` bytes are in each but the last ones. */
static size_t range_bytes(size_t total, size_t block, int first, int last)
{
    size_t from = (size_t)first * block, to = (size_t)last * block;
    from = from < total ? from : total;
    to = to < total ? to : total;
    return to - from;
}

static int least(int a, int b) { return a < b ? a : b; }

/* Relative rank r ends up with block r, and those of its subtree. */
static int scatter(char *data, size_t total, size_t block, int relative, int root, struct communicator *comm)
{
    int n = comm->size, mask = 1, error = MPI_SUCCESS;
    while (mask < n && !(relative & mask))
        mask <<= 1;
    if (mask < n) {
        size_t bytes = range_bytes(total, block, relative, least(relative + mask, n));
        if (bytes > 0)
            error = chq_coll_recv(data + (size_t)relative * block, bytes, type_byte(),
                                  ring_add(relative & ~mask, root, n), COLL_BCAST, comm);
    }
    for (mask >>= 1; mask > 0 && !error; mask >>= 1) {
        int child = relative + mask;
        size_t bytes = child < n ? range_bytes(total, block, child, least(child + mask, n)) : 0;
        if (bytes > 0)
            chq_coll_send(data + (size_t)child * block, bytes, type_byte(), ring_add(child, root, n), COLL_BCAST, comm);
    }
    return error;
}

int chq_bcast_scatter_allgather(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    int n = comm->size, relative = ring_subtract(comm->rank, root, n);
    size_t total = count * type->size, block = (total + (size_t)n - 1) / (size_t)n;
    char *data = buffer;
    int error = scatter(data, total, block, relative, root, comm);
    int right = ring_add(comm->rank, 1, n), left = ring_subtract(comm->rank, 1, n);
    int mine = relative; /* The block that goes on to the right next. */
    for (int step = 1; step < n && !error; step++) {
        int next = ring_subtract(mine, 1, n);
        error = chq_coll_exchange(data + (size_t)mine * block, range_bytes(total, block, mine, mine + 1), type_byte(),
                                  right, data + (size_t)next * block, range_bytes(total, block, next, next + 1),
                                  type_byte(), left, COLL_BCAST, comm);
        mine = next;
    }
    return error;
}
