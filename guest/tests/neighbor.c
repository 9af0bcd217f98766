/* Neighbourhood collectives on every kind of topology. What a process sends says who sent it, to
 * which of its neighbours; what arrives is computed from the definition. */
#include "check.h"

enum { NEIGHBORS_MAX = 16, COUNT = 3 };

/* A process's neighbours in the order of its blocks. */
struct around {
    int in, out;
    int sources[NEIGHBORS_MAX], destinations[NEIGHBORS_MAX];
    int sent_as[NEIGHBORS_MAX]; /* The sender's number for what comes to block i here. */
};

/* How a collective is called: at once, as a request, or as a persistent request, twice. */
static int form;

static void finish(MPI_Request *request)
{
    for (int times = 0; form == 2 && times < 2; times++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
    }
    if (form == 2)
        MPI_Request_free(request);
    else
        MPI_Wait(request, MPI_STATUS_IGNORE);
}

#define CALL(Name, Iname, ...)                                            \
    do {                                                                  \
        MPI_Request call_request;                                         \
        if (form == 0)                                                    \
            MPI_##Name(__VA_ARGS__);                                      \
        else if (form == 1)                                               \
            MPI_##Iname(__VA_ARGS__, &call_request);                      \
        else                                                              \
            MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, &call_request); \
        if (form)                                                         \
            finish(&call_request);                                        \
    } while (0)

static int value_of(int sender, int number, int i) { return sender * 1000 + number * 10 + i; }

/* Block i, of i + 1 elements, after those before it and a gap of one each. */
static int place_of(int i) { return i * (i + 1) / 2 + i; }

static void allgather(const struct around *around, MPI_Comm comm)
{
    int send[COUNT], recv[NEIGHBORS_MAX * (COUNT + 1)], counts[NEIGHBORS_MAX], places[NEIGHBORS_MAX];
    for (int j = 0; j < COUNT; j++)
        send[j] = value_of(check_rank, 0, j);
    memset(recv, -1, sizeof recv);
    CALL(Neighbor_allgather, Ineighbor_allgather, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, comm);
    for (int i = 0; i < around->in; i++)
        for (int j = 0; j < COUNT; j++)
            CHECK_EQUAL(recv[i * COUNT + j], around->sources[i] < 0 ? -1 : value_of(around->sources[i], 0, j));
    memset(recv, -1, sizeof recv);
    for (int i = 0; i < around->in; i++) {
        counts[i] = COUNT;
        places[i] = (around->in - 1 - i) * (COUNT + 1);
    }
    CALL(Neighbor_allgatherv, Ineighbor_allgatherv, send, COUNT, MPI_INT, recv, counts, places, MPI_INT, comm);
    for (int i = 0; i < around->in; i++) {
        for (int j = 0; j < COUNT; j++)
            CHECK_EQUAL(recv[places[i] + j], around->sources[i] < 0 ? -1 : value_of(around->sources[i], 0, j));
        CHECK_EQUAL(recv[places[i] + COUNT], -1);
    }
}

static void alltoall(const struct around *around, MPI_Comm comm)
{
    int send[NEIGHBORS_MAX * COUNT], recv[NEIGHBORS_MAX * COUNT];
    for (int i = 0; i < around->out; i++)
        for (int j = 0; j < COUNT; j++)
            send[i * COUNT + j] = value_of(check_rank, i, j);
    memset(recv, -1, sizeof recv);
    CALL(Neighbor_alltoall, Ineighbor_alltoall, send, COUNT, MPI_INT, recv, COUNT, MPI_INT, comm);
    for (int i = 0; i < around->in; i++)
        for (int j = 0; j < COUNT; j++)
            CHECK_EQUAL(recv[i * COUNT + j],
                        around->sources[i] < 0 ? -1 : value_of(around->sources[i], around->sent_as[i], j));
}

/* Block i sent has i + 1 elements; so has the one that arrives as somebody's block i. */
static void alltoallv(const struct around *around, MPI_Comm comm)
{
    int send[200], recv[200], send_counts[NEIGHBORS_MAX], send_places[NEIGHBORS_MAX], recv_counts[NEIGHBORS_MAX],
        recv_places[NEIGHBORS_MAX];
    for (int i = 0; i < around->out; i++) {
        send_counts[i] = i + 1;
        send_places[i] = place_of(i);
        for (int j = 0; j <= i; j++)
            send[place_of(i) + j] = value_of(check_rank, i, j);
    }
    for (int i = 0, at = 0; i < around->in; i++) {
        recv_counts[i] = around->sources[i] < 0 ? 0 : around->sent_as[i] + 1;
        recv_places[i] = at;
        at += recv_counts[i] + 1;
    }
    memset(recv, -1, sizeof recv);
    CALL(Neighbor_alltoallv, Ineighbor_alltoallv, send, send_counts, send_places, MPI_INT, recv, recv_counts,
         recv_places, MPI_INT, comm);
    for (int i = 0; i < around->in; i++) {
        for (int j = 0; j < recv_counts[i]; j++)
            CHECK_EQUAL(recv[recv_places[i] + j], value_of(around->sources[i], around->sent_as[i], j));
        CHECK_EQUAL(recv[recv_places[i] + recv_counts[i]], -1);
    }
    /* The same with a type each and displacements in bytes: integers go out as integers and come in
     * as every second one. */
    MPI_Datatype spread, send_types[NEIGHBORS_MAX], recv_types[NEIGHBORS_MAX];
    MPI_Aint send_bytes[NEIGHBORS_MAX], recv_bytes[NEIGHBORS_MAX];
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&spread);
    for (int i = 0; i < around->out; i++) {
        send_types[i] = MPI_INT;
        send_bytes[i] = (MPI_Aint)sizeof(int) * send_places[i];
    }
    for (int i = 0, at = 0; i < around->in; i++) {
        recv_types[i] = spread;
        recv_bytes[i] = (MPI_Aint)sizeof(int) * at;
        at += 2 * recv_counts[i];
    }
    memset(recv, -1, sizeof recv);
    CALL(Neighbor_alltoallw, Ineighbor_alltoallw, send, send_counts, send_bytes, send_types, recv, recv_counts,
         recv_bytes, recv_types, comm);
    for (int i = 0; i < around->in; i++)
        for (int j = 0; j < recv_counts[i]; j++) {
            const int *pair = recv + recv_bytes[i] / (MPI_Aint)sizeof(int) + 2 * j;
            CHECK_EQUAL(pair[0], value_of(around->sources[i], around->sent_as[i], j));
            CHECK_EQUAL(pair[1], -1);
        }
    MPI_Type_free(&spread);
}

static void all(const struct around *around, MPI_Comm comm)
{
    for (form = 0; form < 3; form++) {
        allgather(around, comm);
        alltoall(around, comm);
        alltoallv(around, comm);
    }
}

/* What goes down a dimension comes in from above, also where both neighbours are one process. */
static void cartesian(int dimensions, const int dims[], const int periods[])
{
    MPI_Comm cart;
    struct around around = {.in = 2 * dimensions, .out = 2 * dimensions};
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, dims, periods, 0, &cart);
    if (cart == MPI_COMM_NULL)
        return;
    for (int i = 0; i < dimensions; i++) {
        MPI_Cart_shift(cart, i, 1, &around.sources[2 * i], &around.sources[2 * i + 1]);
        around.sent_as[2 * i] = 2 * i + 1;
        around.sent_as[2 * i + 1] = 2 * i;
    }
    all(&around, cart);
    MPI_Comm_free(&cart);
}

static void cartesians(void)
{
    int dims[3] = {0, 0, 0};
    MPI_Dims_create(check_size, 2, dims);
    for (int periods = 0; periods < 4; periods++) {
        int period[2] = {periods & 1, periods >> 1};
        cartesian(2, dims, period);
    }
    int line[1] = {check_size}, around[3] = {1, 1, 1}, grid[3] = {1, check_size, 1};
    cartesian(1, line, around);
    cartesian(3, grid, around);
    cartesian(0, NULL, NULL);
    /* A ring of two. */
    int two[1] = {2};
    if (check_size >= 2)
        cartesian(1, two, around);
}

/* A complete graph; a node's neighbours are all processes, itself too, in order. */
static void complete_graph(void)
{
    int index[NEIGHBORS_MAX], edges[NEIGHBORS_MAX * NEIGHBORS_MAX];
    struct around around = {.in = check_size, .out = check_size};
    MPI_Comm graph;
    for (int i = 0; i < check_size; i++) {
        index[i] = (i + 1) * check_size;
        for (int j = 0; j < check_size; j++)
            edges[i * check_size + j] = j;
        around.sources[i] = i;
        around.sent_as[i] = check_rank;
    }
    MPI_Graph_create(MPI_COMM_WORLD, check_size, index, edges, 0, &graph);
    all(&around, graph);
    MPI_Comm_free(&graph);
}

/* Two edges to the right and one to the one after it: more than one message between two processes
 * keep their order. */
static void distributed_graph(void)
{
    int n = check_size, left = (check_rank + n - 1) % n, right = (check_rank + 1) % n;
    struct around around = {.in = 3,
                            .out = 3,
                            .sources = {left, (check_rank + 2 * n - 2) % n, left},
                            .destinations = {right, right, (check_rank + 2) % n},
                            .sent_as = {0, 2, 1}};
    MPI_Comm graph;
    /* Where the two are the same process, its messages come in the order of sending. */
    if (n == 1 || n == 2) {
        around.sources[0] = around.sources[1] = around.sources[2] = left;
        around.destinations[2] = right;
        around.sent_as[1] = 1;
        around.sent_as[2] = 2;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 3, around.sources, MPI_UNWEIGHTED, 3, around.destinations,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    all(&around, graph);
    MPI_Comm_free(&graph);
    /* Only towards rank 0, which sends nothing. */
    int zero = 0;
    struct around star = {.in = check_rank ? 0 : n - 1, .out = check_rank != 0};
    for (int i = 1; i < n; i++)
        star.sources[i - 1] = i;
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, star.in, star.sources, MPI_UNWEIGHTED, star.out, &zero,
                                   MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    all(&star, graph);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    cartesians();
    complete_graph();
    distributed_graph();
    return check_end("neighbor");
}
