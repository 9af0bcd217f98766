/* What all virtual topologies share (MPI 5.0, chapter 8). */
#include "mpi/comm/topology.h"

#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

struct topology *chq_topology_new(int kind, size_t numbers)
{
    struct topology *topology = chq_malloc(sizeof *topology + numbers * sizeof(int));
    memset(topology, 0, sizeof *topology);
    topology->kind = kind;
    topology->references = 1;
    return topology;
}

struct topology *chq_topology_retain(struct topology *topology)
{
    if (topology)
        topology->references++;
    return topology;
}

void chq_topology_release(struct topology *topology)
{
    if (!topology || --topology->references > 0)
        return;
    if (topology->kind == MPI_CART)
        free(topology->cart.neighbors);
    free(topology);
}

struct topology *chq_topology_of(const char *call, MPI_Comm comm, int kind, int *error)
{
    struct communicator *c = comm_of(comm);
    *error = chq_comm_check(c);
    if (!*error && (!c->topology || c->topology->kind != kind))
        *error = chq_reason(MPI_ERR_TOPOLOGY, "the communicator has no topology of that kind");
    if (*error)
        *error = chq_fail(c, call, *error, NULL);
    return *error ? NULL : c->topology;
}

int chq_cart_rank_of(const struct topology *topology, const int *coordinates)
{
    int rank = 0;
    for (int i = 0; i < topology->cart.dimensions; i++) {
        int at = coordinates[i], extent = topology->cart.extents[i];
        if (at < 0 || at >= extent) {
            if (!topology->cart.periods[i])
                return MPI_PROC_NULL;
            at %= extent;
            at += at < 0 ? extent : 0;
        }
        rank = rank * extent + at;
    }
    return rank;
}

int chq_cart_rank_along(const struct topology *topology, int dimension, int steps)
{
    int *at = &topology->cart.coordinates[dimension], own = *at;
    *at = own + steps;
    int rank = chq_cart_rank_of(topology, topology->cart.coordinates);
    *at = own;
    return rank;
}

static void find_cart_neighbors(struct topology *topology)
{
    int *neighbors = chq_malloc(2 * (size_t)topology->cart.dimensions * sizeof *neighbors);
    for (int i = 0; i < topology->cart.dimensions; i++) {
        neighbors[2 * i] = chq_cart_rank_along(topology, i, -1);
        neighbors[2 * i + 1] = chq_cart_rank_along(topology, i, 1);
    }
    topology->cart.neighbors = neighbors;
}

int chq_topology_neighbors(const struct communicator *comm, struct neighbors *neighbors)
{
    struct topology *topology = comm->topology;
    if (!topology)
        return chq_reason(MPI_ERR_TOPOLOGY, "the communicator has no topology");
    if (topology->kind == MPI_CART) {
        int count = 2 * topology->cart.dimensions;
        if (!topology->cart.neighbors)
            find_cart_neighbors(topology);
        *neighbors = (struct neighbors){count, count, topology->cart.neighbors, topology->cart.neighbors, true};
    } else if (topology->kind == MPI_GRAPH) {
        int first = comm->rank ? topology->graph.index[comm->rank - 1] : 0,
            count = topology->graph.index[comm->rank] - first;
        *neighbors =
            (struct neighbors){count, count, topology->graph.edges + first, topology->graph.edges + first, false};
    } else {
        *neighbors = (struct neighbors){topology->dist.indegree, topology->dist.outdegree, topology->dist.sources,
                                        topology->dist.destinations, false};
    }
    return MPI_SUCCESS;
}

int PMPI_Topo_test(MPI_Comm comm, int *status)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Topo_test", error, NULL);
    *status = c->topology ? c->topology->kind : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_ALIAS(Topo_test);
