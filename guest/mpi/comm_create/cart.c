/* Cartesian topologies (MPI 5.0, section 8.5). Ranks count with the last dimension fastest; nothing
 * is reordered: where a rank runs is the machine file's choice. */
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/comm/topology.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

static struct topology *cart_new(int dimensions)
{
    struct topology *topology = chq_topology_new(MPI_CART, 3 * (size_t)dimensions);
    topology->cart.dimensions = dimensions;
    topology->cart.extents = topology_numbers(topology);
    topology->cart.periods = topology->cart.extents + dimensions;
    topology->cart.coordinates = topology->cart.periods + dimensions;
    return topology;
}

static void coordinates_of(const struct topology *topology, int rank, int *coordinates)
{
    for (int i = topology->cart.dimensions - 1; i >= 0; i--) {
        coordinates[i] = rank % topology->cart.extents[i];
        rank /= topology->cart.extents[i];
    }
}

static struct topology *cart_of(const char *call, MPI_Comm comm, int *error)
{
    return chq_topology_of(call, comm, MPI_CART, error);
}

/* Processes of the grid, or -1: bad arguments, with the reason. */
static int grid_size(int dimensions, const int dims[], int available)
{
    long size = 1;
    if (dimensions < 0) {
        chq_reason(MPI_ERR_DIMS, "negative number of dimensions");
        return -1;
    }
    for (int i = 0; i < dimensions; i++) {
        size *= dims[i];
        if (dims[i] <= 0 || size > available) {
            chq_reason(MPI_ERR_DIMS, dims[i] <= 0 ? "a dimension is not positive" : "more places than processes");
            return -1;
        }
    }
    return (int)size;
}

int PMPI_Cart_create(MPI_Comm comm_old, int ndims, const int dims[], const int periods[], int reorder,
                     MPI_Comm *comm_cart)
{
    (void)reorder;
    CALL_ENTER(CALL_CART_CREATE);
    struct communicator *c = comm_of(comm_old), *made = NULL;
    int error = chq_comm_check_intra(c);
    int size = error ? 0 : grid_size(ndims, dims, c->size);
    if (size < 0)
        error = MPI_ERR_DIMS;
    if (!error)
        error = chq_comm_first(c, size, &made);
    if (made) {
        struct topology *topology = cart_new(ndims);
        for (int i = 0; i < ndims; i++) {
            topology->cart.extents[i] = dims[i];
            topology->cart.periods[i] = periods[i] != 0;
        }
        coordinates_of(topology, made->rank, topology->cart.coordinates);
        made->topology = topology;
    }
    *comm_cart = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Cart_create", error, NULL);
    CALL_LEAVE(CALL_CART_CREATE);
    return error;
}
MPI_ALIAS(Cart_create);

int PMPI_Cart_sub(MPI_Comm comm, const int remain_dims[], MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_CART_SUB);
    int error;
    struct communicator *made = NULL;
    struct topology *topology = cart_of("MPI_Cart_sub", comm, &error);
    if (topology) {
        /* The color numbers the place in the dimensions that go, the key that in those that stay. */
        int color = 0, key = 0, kept = 0;
        for (int i = 0; i < topology->cart.dimensions; i++) {
            int *number = remain_dims[i] ? &key : &color;
            *number = *number * topology->cart.extents[i] + topology->cart.coordinates[i];
            kept += remain_dims[i] != 0;
        }
        error = chq_comm_split(comm_of(comm), color, key, &made);
        if (error)
            error = chq_fail(comm_of(comm), "MPI_Cart_sub", error, NULL);
        else
            made->topology = cart_new(kept);
        for (int i = 0, at = 0; !error && i < topology->cart.dimensions; i++) {
            if (!remain_dims[i])
                continue;
            made->topology->cart.extents[at] = topology->cart.extents[i];
            made->topology->cart.periods[at] = topology->cart.periods[i];
            made->topology->cart.coordinates[at++] = topology->cart.coordinates[i];
        }
    }
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    CALL_LEAVE(CALL_CART_SUB);
    return error;
}
MPI_ALIAS(Cart_sub);

int PMPI_Cartdim_get(MPI_Comm comm, int *ndims)
{
    int error;
    struct topology *topology = cart_of("MPI_Cartdim_get", comm, &error);
    if (topology)
        *ndims = topology->cart.dimensions;
    return error;
}
MPI_ALIAS(Cartdim_get);

int PMPI_Cart_get(MPI_Comm comm, int maxdims, int dims[], int periods[], int coords[])
{
    int error;
    struct topology *topology = cart_of("MPI_Cart_get", comm, &error);
    for (int i = 0; topology && i < maxdims && i < topology->cart.dimensions; i++) {
        dims[i] = topology->cart.extents[i];
        periods[i] = topology->cart.periods[i];
        coords[i] = topology->cart.coordinates[i];
    }
    return error;
}
MPI_ALIAS(Cart_get);

int PMPI_Cart_rank(MPI_Comm comm, const int coords[], int *rank)
{
    int error;
    struct topology *topology = cart_of("MPI_Cart_rank", comm, &error);
    if (!topology)
        return error;
    *rank = chq_cart_rank_of(topology, coords);
    if (*rank == MPI_PROC_NULL)
        return chq_fail(comm_of(comm), "MPI_Cart_rank", MPI_ERR_ARG,
                        "a coordinate is outside a dimension that is not periodic");
    return MPI_SUCCESS;
}
MPI_ALIAS(Cart_rank);

int PMPI_Cart_coords(MPI_Comm comm, int rank, int maxdims, int coords[])
{
    int error;
    struct topology *topology = cart_of("MPI_Cart_coords", comm, &error);
    if (!topology)
        return error;
    if (rank < 0 || rank >= comm_of(comm)->size)
        return chq_fail(comm_of(comm), "MPI_Cart_coords", MPI_ERR_RANK, "not a rank of the communicator");
    if (maxdims < topology->cart.dimensions)
        return chq_fail(comm_of(comm), "MPI_Cart_coords", MPI_ERR_ARG, "not enough room");
    coordinates_of(topology, rank, coords);
    return MPI_SUCCESS;
}
MPI_ALIAS(Cart_coords);

int PMPI_Cart_shift(MPI_Comm comm, int direction, int disp, int *rank_source, int *rank_dest)
{
    int error;
    struct topology *topology = cart_of("MPI_Cart_shift", comm, &error);
    if (!topology)
        return error;
    if (direction < 0 || direction >= topology->cart.dimensions)
        return chq_fail(comm_of(comm), "MPI_Cart_shift", MPI_ERR_DIMS, "no such dimension");
    *rank_source = chq_cart_rank_along(topology, direction, -disp);
    *rank_dest = chq_cart_rank_along(topology, direction, disp);
    return MPI_SUCCESS;
}
MPI_ALIAS(Cart_shift);

int PMPI_Cart_map(MPI_Comm comm, int ndims, const int dims[], const int periods[], int *newrank)
{
    (void)periods;
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check_intra(c);
    int size = error ? 0 : grid_size(ndims, dims, c->size);
    if (error || size < 0)
        return chq_fail(c, "MPI_Cart_map", error ? error : MPI_ERR_DIMS, NULL);
    *newrank = c->rank < size ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_ALIAS(Cart_map);
