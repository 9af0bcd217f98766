/* Virtual topologies: graphs, distributed graphs, and the corners of Cartesian grids (the rest of
 * which is in comms.c). */
#include "check.h"

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

enum { RANKS_MAX = 64 };

/* A ring in which rank 0 has a loop of its own. */
static int ring(int n, int index[], int edges[])
{
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (i == 0)
            edges[count++] = 0;
        edges[count++] = (i + n - 1) % n;
        edges[count++] = (i + 1) % n;
        index[i] = count;
    }
    return count;
}

static void graphs(void)
{
    int index[RANKS_MAX], edges[3 * RANKS_MAX], got_index[RANKS_MAX], got_edges[3 * RANKS_MAX], n, count, rank, status;
    int wanted = ring(check_size, index, edges);
    MPI_Comm graph, copy;
    MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 1, &graph);
    MPI_Topo_test(graph, &status);
    CHECK_EQUAL(status, MPI_GRAPH);
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    MPI_Topo_test(copy, &status);
    CHECK_EQUAL(status, MPI_GRAPH);
    MPI_Graphdims_get(copy, &n, &count);
    CHECK_EQUAL(n, check_size);
    CHECK_EQUAL(count, wanted);
    MPI_Graph_get(copy, RANKS_MAX, 3 * RANKS_MAX, got_index, got_edges);
    CHECK(memcmp(index, got_index, (size_t)n * sizeof(int)) == 0);
    CHECK(memcmp(edges, got_edges, (size_t)count * sizeof(int)) == 0);
    for (int i = 0; i < n; i++) {
        MPI_Graph_neighbors_count(copy, i, &count);
        CHECK_EQUAL(count, i == 0 ? 3 : 2);
        MPI_Graph_neighbors(copy, i, count, got_edges);
        CHECK(i > 0 || got_edges[0] == 0);
        CHECK_EQUAL(got_edges[count - 1], (i + 1) % n);
        CHECK_EQUAL(got_edges[count - 2], (i + n - 1) % n);
    }
    MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN);
    FAILS(MPI_Graph_neighbors(copy, 0, 2, got_edges), MPI_ERR_ARG);
    FAILS(MPI_Graph_neighbors_count(copy, check_size, &count), MPI_ERR_RANK);
    FAILS(MPI_Graph_get(copy, n - 1, wanted, got_index, got_edges), MPI_ERR_ARG);
    FAILS(MPI_Graph_get(copy, n, wanted - 1, got_index, got_edges), MPI_ERR_ARG);
    FAILS(MPI_Cartdim_get(copy, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Dist_graph_neighbors_count(copy, &n, &n, &n), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&copy);
    /* Fewer nodes than processes; none at all. */
    int one[1] = {0};
    MPI_Graph_create(MPI_COMM_WORLD, 1, one, NULL, 0, &graph);
    CHECK((graph == MPI_COMM_NULL) == (check_rank > 0));
    if (graph != MPI_COMM_NULL) {
        MPI_Graphdims_get(graph, &n, &count);
        CHECK(n == 1 && count == 0);
        MPI_Comm_free(&graph);
    }
    MPI_Graph_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &graph);
    CHECK(graph == MPI_COMM_NULL);
    MPI_Graph_map(MPI_COMM_WORLD, 1, one, NULL, &rank);
    CHECK_EQUAL(rank, check_rank ? MPI_UNDEFINED : 0);
}

/* Everybody tells of the edge from its right neighbour to its left one; sources and destinations
 * come out at the processes concerned. */
static void distributed(void)
{
    int n = check_size, left = (check_rank + n - 1) % n, right = (check_rank + 1) % n, one = 1,
        weight = 100 + check_rank, status;
    int in, out, weighted, sources[4], from[4], destinations[4], to[4];
    MPI_Comm graph, copy;
    MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &right, &one, &left, &weight, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &status);
    CHECK_EQUAL(status, MPI_DIST_GRAPH);
    MPI_Comm_dup(graph, &copy);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_neighbors_count(copy, &in, &out, &weighted);
    CHECK(in == 1 && out == 1 && weighted);
    MPI_Dist_graph_neighbors(copy, 1, sources, from, 1, destinations, to);
    CHECK_EQUAL(sources[0], (check_rank + 2) % n);
    CHECK_EQUAL(from[0], 100 + right);
    CHECK_EQUAL(destinations[0], (check_rank + 2 * n - 2) % n);
    CHECK_EQUAL(to[0], 100 + left);
    MPI_Comm_free(&copy);
    /* Rank 0 alone knows all edges: a star with itself, without weights. */
    int degrees[1] = {n}, all[RANKS_MAX], zero = 0;
    for (int i = 0; i < n; i++)
        all[i] = i;
    MPI_Dist_graph_create(MPI_COMM_WORLD, check_rank ? 0 : 1, &zero, degrees, all, MPI_UNWEIGHTED, MPI_INFO_NULL, 1,
                          &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 1 && out == (check_rank ? 0 : n) && !weighted);
    MPI_Dist_graph_neighbors(graph, 1, sources, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED);
    CHECK_EQUAL(sources[0], 0);
    MPI_Comm_free(&graph);
    /* No edges. */
    MPI_Dist_graph_create(MPI_COMM_WORLD, 0, NULL, NULL, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 0 && out == 0 && weighted);
    MPI_Comm_free(&graph);
}

static void adjacent(void)
{
    int n = check_size, in, out, weighted, status;
    int sources[3] = {(check_rank + n - 1) % n, check_rank, (check_rank + n - 1) % n}, from[3] = {7, 8, 9};
    int destinations[3] = {(check_rank + 1) % n, check_rank, (check_rank + 1) % n}, to[3] = {7, 8, 9};
    int got[3], got_from[3], got_to[3], got_destinations[3];
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, sources, from, 3, destinations, to, MPI_INFO_NULL, 0, &graph);
    MPI_Topo_test(graph, &status);
    CHECK_EQUAL(status, MPI_DIST_GRAPH);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 3 && out == 3 && weighted);
    MPI_Dist_graph_neighbors(graph, 3, got, got_from, 3, got_destinations, got_to);
    CHECK(memcmp(got, sources, sizeof got) == 0 && memcmp(got_from, from, sizeof from) == 0);
    CHECK(memcmp(got_destinations, destinations, sizeof got) == 0 && memcmp(got_to, to, sizeof to) == 0);
    /* Less room: the first ones. */
    got[1] = -1;
    MPI_Dist_graph_neighbors(graph, 1, got, MPI_UNWEIGHTED, 0, got_destinations, MPI_UNWEIGHTED);
    CHECK(got[0] == sources[0] && got[1] == -1);
    MPI_Comm_free(&graph);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
                                   MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors_count(graph, &in, &out, &weighted);
    CHECK(in == 0 && out == 0 && weighted);
    MPI_Comm_free(&graph);
}

static void grids(void)
{
    int dims[2] = {check_size, 1}, periods[2] = {0, 1}, remain[2] = {0, 0}, n, rank, size;
    MPI_Comm point, cart;
    /* No dimension: one process. */
    MPI_Cart_create(MPI_COMM_WORLD, 0, NULL, NULL, 0, &point);
    CHECK((point == MPI_COMM_NULL) == (check_rank > 0));
    if (point != MPI_COMM_NULL) {
        MPI_Comm_size(point, &size);
        CHECK_EQUAL(size, 1);
        MPI_Cartdim_get(point, &n);
        CHECK_EQUAL(n, 0);
        MPI_Cart_rank(point, NULL, &rank);
        CHECK_EQUAL(rank, 0);
        CHECK_EQUAL(MPI_Cart_get(point, 0, NULL, NULL, NULL), MPI_SUCCESS);
        CHECK_EQUAL(MPI_Cart_coords(point, 0, 0, NULL), MPI_SUCCESS);
        MPI_Comm_free(&point);
    }
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &cart);
    MPI_Cart_sub(cart, remain, &point);
    MPI_Comm_size(point, &size);
    MPI_Cartdim_get(point, &n);
    CHECK(size == 1 && n == 0);
    MPI_Comm_free(&point);
    MPI_Cart_map(MPI_COMM_WORLD, 2, dims, periods, &rank);
    CHECK_EQUAL(rank, check_rank);
    MPI_Comm_set_errhandler(cart, MPI_ERRORS_RETURN);
    int outside[2] = {check_size, 0}, source, destination;
    FAILS(MPI_Cart_rank(cart, outside, &rank), MPI_ERR_ARG);
    FAILS(MPI_Cart_coords(cart, check_size, 2, dims), MPI_ERR_RANK);
    FAILS(MPI_Cart_coords(cart, 0, 1, dims), MPI_ERR_ARG);
    FAILS(MPI_Cart_shift(cart, 2, 1, &source, &destination), MPI_ERR_DIMS);
    FAILS(MPI_Graphdims_get(cart, &n, &n), MPI_ERR_TOPOLOGY);
    MPI_Comm_free(&cart);
}

static void errors(void)
{
    int index[2] = {1, 0}, edges[2] = {check_size, 0}, bad = check_size, one = 1, zero = 0, minus = -1, n;
    MPI_Comm comm;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, check_size + 1, index, edges, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, -1, index, edges, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(MPI_COMM_WORLD, 1, index, edges, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Graph_create(MPI_COMM_NULL, 1, index, edges, 0, &comm), MPI_ERR_COMM);
    CHECK(comm == MPI_COMM_NULL);
    FAILS(MPI_Graph_map(MPI_COMM_WORLD, 1, index, edges, &n), MPI_ERR_ARG);
    FAILS(MPI_Graphdims_get(MPI_COMM_WORLD, &n, &n), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Topo_test(MPI_COMM_NULL, &n), MPI_ERR_COMM);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &bad, &one, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
          MPI_ERR_RANK);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &bad, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
          MPI_ERR_RANK);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &minus, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
          MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &zero, &one, &zero, &minus, MPI_INFO_NULL, 0, &comm), MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create(MPI_COMM_WORLD, -1, &zero, &one, &zero, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm),
          MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &zero, MPI_UNWEIGHTED, 1, &zero, &one, MPI_INFO_NULL, 0,
                                         &comm),
          MPI_ERR_ARG);
    FAILS(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &bad, MPI_UNWEIGHTED, 0, NULL, MPI_UNWEIGHTED,
                                         MPI_INFO_NULL, 0, &comm),
          MPI_ERR_RANK);
    FAILS(MPI_Dist_graph_neighbors(MPI_COMM_WORLD, 0, NULL, NULL, 0, NULL, NULL), MPI_ERR_TOPOLOGY);
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, -1, &one, &one, 0, &comm), MPI_ERR_DIMS);
    FAILS(MPI_Neighbor_alltoall(&n, 1, MPI_INT, &n, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TOPOLOGY);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    graphs();
    distributed();
    adjacent();
    grids();
    errors();
    return check_end("topology");
}
