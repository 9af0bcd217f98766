/* Distributed graph topologies (MPI 5.0, section 8.5.4): each process has its own edges. Nothing
 * is reordered: where a rank runs is the machine file's choice. */
#include "mpi/coll/coll.h"
#include "mpi/comm/info.h"
#include "mpi/comm/raise.h"
#include "mpi/comm/topology.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

static struct topology *dist_new(int indegree, int outdegree, bool weighted)
{
    size_t ends = (size_t)indegree + (size_t)outdegree;
    struct topology *topology = chq_topology_new(MPI_DIST_GRAPH, weighted ? 2 * ends : ends);
    topology->dist.indegree = indegree;
    topology->dist.outdegree = outdegree;
    topology->dist.weighted = weighted;
    topology->dist.sources = topology_numbers(topology);
    topology->dist.destinations = topology->dist.sources + indegree;
    if (weighted) {
        topology->dist.source_weights = topology->dist.destinations + outdegree;
        topology->dist.destination_weights = topology->dist.source_weights + indegree;
    }
    return topology;
}

/* The ranks at the ends of `count` edges. */
static int check_ranks(const struct communicator *comm, int count, const int *ranks)
{
    if (count < 0)
        return chq_reason(MPI_ERR_ARG, "negative number of edges");
    for (int i = 0; i < count; i++)
        if (ranks[i] < 0 || ranks[i] >= comm->size)
            return chq_reason(MPI_ERR_RANK, "an edge's end is not a rank of the communicator");
    return MPI_SUCCESS;
}

static int check_ends(const struct communicator *comm, int count, const int *ranks, const int *weights)
{
    int error = check_ranks(comm, count, ranks);
    if (error || count == 0 || weights == MPI_UNWEIGHTED)
        return error;
    if (weights == MPI_WEIGHTS_EMPTY)
        return chq_reason(MPI_ERR_ARG, "MPI_WEIGHTS_EMPTY with edges");
    for (int i = 0; i < count; i++)
        if (weights[i] < 0)
            return chq_reason(MPI_ERR_ARG, "negative weight");
    return MPI_SUCCESS;
}

static int check_info(MPI_Info info)
{
    struct info *hints = NULL;
    int error = chq_info_copy(info, &hints);
    chq_info_free(hints);
    return error;
}

/* Common end of both constructors; `topology` is null when there was an error before. */
static int finish(struct communicator *comm, struct topology *topology, int error, const char *call, MPI_Comm *newcomm)
{
    struct communicator *made = NULL;
    if (!error)
        error = chq_comm_first(comm, comm->size, &made);
    if (made)
        made->topology = topology;
    else
        chq_topology_release(topology);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    return chq_fail(comm, call, error, NULL);
}

static void copy_ends(int count, const int *ranks, const int *weights, int *to, int *weights_to)
{
    if (count == 0)
        return;
    memcpy(to, ranks, (size_t)count * sizeof(int));
    if (weights_to)
        memcpy(weights_to, weights, (size_t)count * sizeof(int));
}

int PMPI_Dist_graph_create_adjacent(MPI_Comm comm_old, int indegree, const int sources[], const int *sourceweights,
                                    int outdegree, const int destinations[], const int *destweights, MPI_Info info,
                                    int reorder, MPI_Comm *comm_dist_graph)
{
    (void)reorder;
    CALL_ENTER(CALL_DIST_GRAPH_CREATE_ADJACENT);
    struct communicator *c = comm_of(comm_old);
    struct topology *topology = NULL;
    int error = chq_comm_check_intra(c);
    if (!error)
        error = check_info(info);
    if (!error)
        error = check_ends(c, indegree, sources, sourceweights);
    if (!error)
        error = check_ends(c, outdegree, destinations, destweights);
    if (!error && (sourceweights == MPI_UNWEIGHTED) != (destweights == MPI_UNWEIGHTED))
        error = chq_reason(MPI_ERR_ARG, "only one side has weights");
    if (!error) {
        topology = dist_new(indegree, outdegree, sourceweights != MPI_UNWEIGHTED);
        copy_ends(indegree, sources, sourceweights, topology->dist.sources, topology->dist.source_weights);
        copy_ends(outdegree, destinations, destweights, topology->dist.destinations,
                  topology->dist.destination_weights);
    }
    error = finish(c, topology, error, "MPI_Dist_graph_create_adjacent", comm_dist_graph);
    CALL_LEAVE(CALL_DIST_GRAPH_CREATE_ADJACENT);
    return error;
}
MPI_ALIAS(Dist_graph_create_adjacent);

/* What one process sends another about an edge: it is the other's edge to or from `rank`. */
struct edge {
    int32_t rank, weight;
    int32_t incoming;
};

/* The edges as a program gives them: `degrees[i]` of them start at `sources[i]`. */
struct edge_list {
    int n;
    const int *sources, *degrees, *destinations, *weights;
};

/* Calls for both ends of each edge: first to count what goes where, then to put it there. */
static void deal(const struct edge_list *list, int32_t *counts, const int32_t *starts, struct edge *edges)
{
    for (int i = 0, at = 0; i < list->n; i++) {
        for (int last = at + list->degrees[i]; at < last; at++) {
            int source = list->sources[i], destination = list->destinations[at];
            int weight = list->weights == MPI_UNWEIGHTED ? 0 : list->weights[at];
            if (edges) {
                edges[starts[source] + counts[source]] = (struct edge){destination, weight, false};
                edges[starts[destination] + counts[destination] + (source == destination)] =
                    (struct edge){source, weight, true};
            }
            counts[source]++;
            counts[destination]++;
        }
    }
}

static int32_t sum_up(const int32_t *counts, int32_t *starts, int n)
{
    int32_t total = 0;
    for (int i = 0; i < n; i++) {
        starts[i] = total;
        total += counts[i];
    }
    return total;
}

/* Sends each process the edges that end at it; only those with any talk. *got edges come, in the
 * order of the ranks that sent them. */
static int trade(struct communicator *comm, const struct edge_list *list, struct edge **incoming, int *got)
{
    int n = comm->size, error;
    size_t row = (size_t)n * sizeof(int32_t);
    int32_t *out = chq_malloc(4 * row), *out_start = out + n, *in = out_start + n, *in_start = in + n;
    memset(out, 0, row);
    deal(list, out, NULL, NULL);
    struct edge *told = chq_malloc((size_t)sum_up(out, out_start, n) * sizeof *told);
    memset(out, 0, row);
    deal(list, out, out_start, told);
    struct blocks send = {(char *)out, sizeof(int32_t), type_byte(), NULL, NULL, NULL}, recv = send;
    recv.buffer = (char *)in;
    error = chq_alltoall_bruck(&send, &recv, comm);
    *got = error ? 0 : (int)sum_up(in, in_start, n);
    *incoming = chq_malloc((size_t)*got * sizeof **incoming);
    struct request *requests = chq_malloc(2 * (size_t)n * sizeof *requests);
    for (int i = 0; i < n && !error; i++)
        if (in[i])
            coll_irecv(&requests[i], *incoming + in_start[i], (size_t)in[i] * sizeof **incoming, type_byte(), i,
                       COLL_ALLTOALL, comm);
    for (int i = 0; i < n && !error; i++)
        if (out[i])
            coll_isend(&requests[n + i], told + out_start[i], (size_t)out[i] * sizeof *told, type_byte(), i,
                       COLL_ALLTOALL, comm);
    for (int i = 0; i < n && !error; i++) {
        if (in[i])
            chq_coll_received(&requests[i]);
        if (out[i])
            request_wait(&requests[n + i]);
    }
    free(requests);
    free(told);
    free(out);
    return error;
}

/* The topology from all edges that end here. */
static struct topology *assemble(const struct edge *edges, int count, bool weighted)
{
    int indegree = 0, in = 0, out = 0;
    for (int i = 0; i < count; i++)
        indegree += edges[i].incoming;
    struct topology *topology = dist_new(indegree, count - indegree, weighted);
    for (int i = 0; i < count; i++) {
        bool incoming = edges[i].incoming;
        int *at = incoming ? &in : &out;
        (incoming ? topology->dist.sources : topology->dist.destinations)[*at] = edges[i].rank;
        if (weighted)
            (incoming ? topology->dist.source_weights : topology->dist.destination_weights)[*at] = edges[i].weight;
        ++*at;
    }
    return topology;
}

static int check_list(const struct communicator *comm, const struct edge_list *list)
{
    int edges = 0, error = check_ranks(comm, list->n, list->sources);
    for (int i = 0; i < list->n && !error; i++) {
        if (list->degrees[i] < 0)
            error = chq_reason(MPI_ERR_ARG, "negative number of edges");
        edges += list->degrees[i];
    }
    return error ? error : check_ends(comm, edges, list->destinations, list->weights);
}

int PMPI_Dist_graph_create(MPI_Comm comm_old, int n, const int sources[], const int degrees[], const int destinations[],
                           const int *weights, MPI_Info info, int reorder, MPI_Comm *comm_dist_graph)
{
    (void)reorder;
    CALL_ENTER(CALL_DIST_GRAPH_CREATE);
    struct communicator *c = comm_of(comm_old);
    struct edge_list list = {n, sources, degrees, destinations, weights};
    struct topology *topology = NULL;
    int error = chq_comm_check_intra(c);
    if (!error)
        error = check_info(info);
    if (!error)
        error = check_list(c, &list);
    if (!error) {
        struct edge *edges;
        int count;
        error = trade(c, &list, &edges, &count);
        topology = assemble(edges, count, weights != MPI_UNWEIGHTED);
        free(edges);
    }
    error = finish(c, topology, error, "MPI_Dist_graph_create", comm_dist_graph);
    CALL_LEAVE(CALL_DIST_GRAPH_CREATE);
    return error;
}
MPI_ALIAS(Dist_graph_create);

int PMPI_Dist_graph_neighbors_count(MPI_Comm comm, int *indegree, int *outdegree, int *weighted)
{
    int error;
    struct topology *topology = chq_topology_of("MPI_Dist_graph_neighbors_count", comm, MPI_DIST_GRAPH, &error);
    if (topology) {
        *indegree = topology->dist.indegree;
        *outdegree = topology->dist.outdegree;
        *weighted = topology->dist.weighted;
    }
    return error;
}
MPI_ALIAS(Dist_graph_neighbors_count);

static int least(int a, int b) { return a < b ? a : b; }

/* Too little room is no error here: the first ones are given (section 8.5.5). */
int PMPI_Dist_graph_neighbors(MPI_Comm comm, int maxindegree, int sources[], int *sourceweights, int maxoutdegree,
                              int destinations[], int *destweights)
{
    int error;
    struct topology *topology = chq_topology_of("MPI_Dist_graph_neighbors", comm, MPI_DIST_GRAPH, &error);
    if (!topology)
        return error;
    if (maxindegree < 0 || maxoutdegree < 0)
        return chq_fail(comm_of(comm), "MPI_Dist_graph_neighbors", MPI_ERR_ARG, "negative room");
    bool weighted = topology->dist.weighted;
    copy_ends(least(maxindegree, topology->dist.indegree), topology->dist.sources, topology->dist.source_weights,
              sources, weighted && sourceweights != MPI_UNWEIGHTED ? sourceweights : NULL);
    copy_ends(least(maxoutdegree, topology->dist.outdegree), topology->dist.destinations,
              topology->dist.destination_weights, destinations,
              weighted && destweights != MPI_UNWEIGHTED ? destweights : NULL);
    return MPI_SUCCESS;
}
MPI_ALIAS(Dist_graph_neighbors);
