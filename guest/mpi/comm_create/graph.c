/* Graph topologies (MPI 5.0, section 8.5.3): every process has the whole graph. Nothing is
 * reordered: where a rank runs is the machine file's choice. */
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/comm/topology.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

static int check_graph(const struct communicator *comm, int nodes, const int index[], const int edges[])
{
    int error = chq_comm_check_intra(comm);
    if (error)
        return error;
    if (nodes < 0 || nodes > comm->size)
        return chq_reason(MPI_ERR_ARG, "negative number of nodes, or more than processes");
    int end = 0;
    for (int i = 0; i < nodes; i++) {
        if (index[i] < end)
            return chq_reason(MPI_ERR_ARG, "a node has a negative number of edges");
        end = index[i];
    }
    for (int i = 0; i < end; i++)
        if (edges[i] < 0 || edges[i] >= nodes)
            return chq_reason(MPI_ERR_ARG, "an edge leads to no node");
    return MPI_SUCCESS;
}

static struct topology *graph_new(int nodes, const int index[], const int edges[])
{
    int count = index[nodes - 1];
    struct topology *topology = chq_topology_new(MPI_GRAPH, (size_t)nodes + (size_t)count);
    topology->graph.nodes = nodes;
    topology->graph.index = topology_numbers(topology);
    topology->graph.edges = topology->graph.index + nodes;
    memcpy(topology->graph.index, index, (size_t)nodes * sizeof(int));
    if (count)
        memcpy(topology->graph.edges, edges, (size_t)count * sizeof(int));
    return topology;
}

int PMPI_Graph_create(MPI_Comm comm_old, int nnodes, const int index[], const int edges[], int reorder,
                      MPI_Comm *comm_graph)
{
    (void)reorder;
    CALL_ENTER(CALL_GRAPH_CREATE);
    struct communicator *c = comm_of(comm_old), *made = NULL;
    int error = check_graph(c, nnodes, index, edges);
    if (!error)
        error = chq_comm_first(c, nnodes, &made);
    if (made)
        made->topology = graph_new(nnodes, index, edges);
    *comm_graph = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Graph_create", error, NULL);
    CALL_LEAVE(CALL_GRAPH_CREATE);
    return error;
}
MPI_ALIAS(Graph_create);

static struct topology *graph_of(const char *call, MPI_Comm comm, int *error)
{
    return chq_topology_of(call, comm, MPI_GRAPH, error);
}

static int edge_count(const struct topology *topology) { return topology->graph.index[topology->graph.nodes - 1]; }

int PMPI_Graphdims_get(MPI_Comm comm, int *nnodes, int *nedges)
{
    int error;
    struct topology *topology = graph_of("MPI_Graphdims_get", comm, &error);
    if (topology) {
        *nnodes = topology->graph.nodes;
        *nedges = edge_count(topology);
    }
    return error;
}
MPI_ALIAS(Graphdims_get);

int PMPI_Graph_get(MPI_Comm comm, int maxindex, int maxedges, int index[], int edges[])
{
    int error;
    struct topology *topology = graph_of("MPI_Graph_get", comm, &error);
    if (!topology)
        return error;
    if (maxindex < topology->graph.nodes || maxedges < edge_count(topology))
        return chq_fail(comm_of(comm), "MPI_Graph_get", MPI_ERR_ARG, "not enough room");
    memcpy(index, topology->graph.index, (size_t)topology->graph.nodes * sizeof(int));
    if (edge_count(topology))
        memcpy(edges, topology->graph.edges, (size_t)edge_count(topology) * sizeof(int));
    return MPI_SUCCESS;
}
MPI_ALIAS(Graph_get);

/* A node's neighbours; null: the error is raised. */
static const int *neighbors_of(const char *call, MPI_Comm comm, int rank, int *count, int *error)
{
    struct topology *topology = graph_of(call, comm, error);
    if (!topology)
        return NULL;
    if (rank < 0 || rank >= topology->graph.nodes) {
        *error = chq_fail(comm_of(comm), call, MPI_ERR_RANK, "not a rank of the communicator");
        return NULL;
    }
    int first = rank ? topology->graph.index[rank - 1] : 0;
    *count = topology->graph.index[rank] - first;
    return topology->graph.edges + first;
}

int PMPI_Graph_neighbors_count(MPI_Comm comm, int rank, int *nneighbors)
{
    int error;
    neighbors_of("MPI_Graph_neighbors_count", comm, rank, nneighbors, &error);
    return error;
}
MPI_ALIAS(Graph_neighbors_count);

int PMPI_Graph_neighbors(MPI_Comm comm, int rank, int maxneighbors, int neighbors[])
{
    int error, count;
    const int *list = neighbors_of("MPI_Graph_neighbors", comm, rank, &count, &error);
    if (!list)
        return error;
    if (maxneighbors < count)
        return chq_fail(comm_of(comm), "MPI_Graph_neighbors", MPI_ERR_ARG, "not enough room");
    if (count)
        memcpy(neighbors, list, (size_t)count * sizeof(int));
    return MPI_SUCCESS;
}
MPI_ALIAS(Graph_neighbors);

int PMPI_Graph_map(MPI_Comm comm, int nnodes, const int index[], const int edges[], int *newrank)
{
    struct communicator *c = comm_of(comm);
    int error = check_graph(c, nnodes, index, edges);
    if (!error && nnodes == 0)
        error = chq_reason(MPI_ERR_ARG, "no node");
    if (error)
        return chq_fail(c, "MPI_Graph_map", error, NULL);
    *newrank = c->rank < nnodes ? c->rank : MPI_UNDEFINED;
    return MPI_SUCCESS;
}
MPI_ALIAS(Graph_map);
