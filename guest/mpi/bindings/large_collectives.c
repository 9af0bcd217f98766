/* Collectives with counts of MPI_Count (MPI-4.0; MPI 5.0, section 19.2), by those with int counts. What means nothing
 * in this process may be anything. */
#include "mpi/bindings/large.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/topology.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

/* A call whose counts are being narrowed. */
struct narrowing {
    const char *call;
    struct communicator *comm;
    int error;
    /* Of one with arrays: how many blocks are sent and received, and room for four arrays of ints. */
    int out, in;
    int *arrays, *rest;
};

static struct narrowing begin(const char *call, MPI_Comm comm)
{
    return (struct narrowing){.call = call, .comm = comm_of(comm)};
}

/* As an int; 0 where it does not matter. What is no communicator is refused by what does the work. */
static int narrow(struct narrowing *n, MPI_Count count, bool matters)
{
    if (!matters || !comm_is_valid(n->comm))
        return 0;
    if (!n->error)
        n->error = large_fits(n->comm, n->call, count);
    return n->error ? 0 : (int)count;
}

static struct narrowing with_arrays(struct narrowing n, int out, int in)
{
    n.out = out;
    n.in = in;
    n.arrays = n.rest = chq_malloc(2 * ((size_t)out + (size_t)in) * sizeof *n.arrays + 1);
    return n;
}

/* With a block for each process, or for each neighbour. */
static struct narrowing begin_arrays(const char *call, MPI_Comm comm)
{
    struct narrowing n = begin(call, comm);
    int blocks = comm_is_valid(n.comm) ? n.comm->size : 0;
    return with_arrays(n, blocks, blocks);
}

static struct narrowing begin_neighbors(const char *call, MPI_Comm comm)
{
    struct narrowing n = begin(call, comm);
    struct neighbors neighbors = {0};
    if (comm_is_valid(n.comm) && chq_topology_neighbors(n.comm, &neighbors))
        neighbors = (struct neighbors){0};
    return with_arrays(n, neighbors.out, neighbors.in);
}

/* Null: they do not matter. */
static int *narrow_counts(struct narrowing *n, const MPI_Count counts[], int blocks, bool matters)
{
    if (!matters)
        return NULL;
    int *ints = n->rest;
    for (int i = 0; i < blocks; i++)
        *n->rest++ = narrow(n, counts[i], true);
    return ints;
}

/* The same of displacements, which may be negative. */
static int *narrow_places(struct narrowing *n, const MPI_Aint places[], int blocks, bool matters)
{
    if (!matters)
        return NULL;
    int *ints = n->rest;
    for (int i = 0; i < blocks; i++) {
        *n->rest++ = (int)places[i];
        if ((int)places[i] != places[i] && !n->error)
            n->error = chq_fail(n->comm, n->call, MPI_ERR_VALUE_TOO_LARGE, "a displacement is longer than an int");
    }
    return ints;
}

/* The arrays live as long as the request, if there is one. */
static int end(const struct narrowing *n, int error, MPI_Request *request)
{
    if (request && !error)
        chq_coll_keep(*request, n->arrays);
    else
        free(n->arrays);
    return error;
}

/* Whether the side of a gather or scatter with the blocks of all processes is this one; that with the block of each. */
static bool has_all(MPI_Comm comm, int root)
{
    const struct communicator *c = comm_of(comm);
    return c->inter ? root == MPI_ROOT : root == c->rank;
}
static bool has_one(MPI_Comm comm, int root) { return !comm_of(comm)->inter || root >= 0; }

static bool in_place(const void *buffer) { return buffer == MPI_IN_PLACE; }

/* What comes behind the communicator in the three forms. */
#define REQUEST_PARAMETER , MPI_Request *request
#define REQUEST , request
#define INIT_PARAMETERS , MPI_Info info, MPI_Request *request
#define INIT , info, request

#define FORMS(FORM, name, lower)                             \
    FORM(name##_c, name, , )                                 \
    FORM(I##lower##_c, I##lower, REQUEST_PARAMETER, REQUEST) \
    FORM(name##_init_c, name##_init, INIT_PARAMETERS, INIT)

/* The same of those with arrays: what keeps them, null if the call does. */
#define ARRAY_FORMS(FORM, name, lower, ...)                                          \
    FORM(name##_c, name, , , NULL, ##__VA_ARGS__)                                    \
    FORM(I##lower##_c, I##lower, REQUEST_PARAMETER, REQUEST, request, ##__VA_ARGS__) \
    FORM(name##_init_c, name##_init, INIT_PARAMETERS, INIT, request, ##__VA_ARGS__)

#define BCAST(symbol, plain, PARAMETERS, ARGUMENTS)                                                             \
    int PMPI_##symbol(void *buffer, MPI_Count count, MPI_Datatype datatype, int root, MPI_Comm comm PARAMETERS) \
    {                                                                                                           \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                       \
        int elements = narrow(&n, count, has_one(comm, root) || has_all(comm, root));                           \
        return n.error ? n.error : PMPI_##plain(buffer, elements, datatype, root, comm ARGUMENTS);              \
    }                                                                                                           \
    MPI_ALIAS(symbol);
FORMS(BCAST, Bcast, bcast)

#define REDUCE(symbol, plain, PARAMETERS, ARGUMENTS)                                                                   \
    int PMPI_##symbol(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, int root, \
                      MPI_Comm comm PARAMETERS)                                                                        \
    {                                                                                                                  \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                              \
        int elements = narrow(&n, count, has_one(comm, root) || has_all(comm, root));                                  \
        return n.error ? n.error : PMPI_##plain(sendbuf, recvbuf, elements, datatype, op, root, comm ARGUMENTS);       \
    }                                                                                                                  \
    MPI_ALIAS(symbol);
FORMS(REDUCE, Reduce, reduce)

#define REDUCE_TO_ALL(symbol, plain, PARAMETERS, ARGUMENTS)                                                  \
    int PMPI_##symbol(const void *sendbuf, void *recvbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op, \
                      MPI_Comm comm PARAMETERS)                                                              \
    {                                                                                                        \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                    \
        int elements = narrow(&n, count, true);                                                              \
        return n.error ? n.error : PMPI_##plain(sendbuf, recvbuf, elements, datatype, op, comm ARGUMENTS);   \
    }                                                                                                        \
    MPI_ALIAS(symbol);
FORMS(REDUCE_TO_ALL, Allreduce, allreduce)
FORMS(REDUCE_TO_ALL, Reduce_scatter_block, reduce_scatter_block)
FORMS(REDUCE_TO_ALL, Scan, scan)
FORMS(REDUCE_TO_ALL, Exscan, exscan)

#define GATHER(symbol, plain, PARAMETERS, ARGUMENTS)                                                               \
    int PMPI_##symbol(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,              \
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm PARAMETERS)              \
    {                                                                                                              \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                          \
        int sent = narrow(&n, sendcount, has_one(comm, root) && !in_place(sendbuf));                               \
        int received = narrow(&n, recvcount, has_all(comm, root));                                                 \
        return n.error ? n.error                                                                                   \
                       : PMPI_##plain(sendbuf, sent, sendtype, recvbuf, received, recvtype, root, comm ARGUMENTS); \
    }                                                                                                              \
    MPI_ALIAS(symbol);
FORMS(GATHER, Gather, gather)

#define SCATTER(symbol, plain, PARAMETERS, ARGUMENTS)                                                              \
    int PMPI_##symbol(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,              \
                      MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm PARAMETERS)              \
    {                                                                                                              \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                          \
        int sent = narrow(&n, sendcount, has_all(comm, root));                                                     \
        int received = narrow(&n, recvcount, has_one(comm, root) && !in_place(recvbuf));                           \
        return n.error ? n.error                                                                                   \
                       : PMPI_##plain(sendbuf, sent, sendtype, recvbuf, received, recvtype, root, comm ARGUMENTS); \
    }                                                                                                              \
    MPI_ALIAS(symbol);
FORMS(SCATTER, Scatter, scatter)

#define EXCHANGE(symbol, plain, PARAMETERS, ARGUMENTS)                                                                 \
    int PMPI_##symbol(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,                  \
                      MPI_Count recvcount, MPI_Datatype recvtype, MPI_Comm comm PARAMETERS)                            \
    {                                                                                                                  \
        struct narrowing n = begin("MPI_" #symbol, comm);                                                              \
        int sent = narrow(&n, sendcount, !in_place(sendbuf)), received = narrow(&n, recvcount, true);                  \
        return n.error ? n.error : PMPI_##plain(sendbuf, sent, sendtype, recvbuf, received, recvtype, comm ARGUMENTS); \
    }                                                                                                                  \
    MPI_ALIAS(symbol);
FORMS(EXCHANGE, Allgather, allgather)
FORMS(EXCHANGE, Alltoall, alltoall)
FORMS(EXCHANGE, Neighbor_allgather, neighbor_allgather)
FORMS(EXCHANGE, Neighbor_alltoall, neighbor_alltoall)

int PMPI_Reduce_local_c(const void *inbuf, void *inoutbuf, MPI_Count count, MPI_Datatype datatype, MPI_Op op)
{
    int error = large_fits(NULL, "MPI_Reduce_local_c", count);
    return error ? error : PMPI_Reduce_local(inbuf, inoutbuf, (int)count, datatype, op);
}
MPI_ALIAS(Reduce_local_c);

#define GATHERV(symbol, plain, PARAMETERS, ARGUMENTS, keeper)                                                         \
    int PMPI_##symbol(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,                 \
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,         \
                      MPI_Comm comm PARAMETERS)                                                                       \
    {                                                                                                                 \
        struct narrowing n = begin_arrays("MPI_" #symbol, comm);                                                      \
        bool all = has_all(comm, root);                                                                               \
        int sent = narrow(&n, sendcount, has_one(comm, root) && !in_place(sendbuf));                                  \
        int *counts = narrow_counts(&n, recvcounts, n.in, all), *places = narrow_places(&n, displs, n.in, all);       \
        int error =                                                                                                   \
            n.error ? n.error                                                                                         \
                    : PMPI_##plain(sendbuf, sent, sendtype, recvbuf, counts, places, recvtype, root, comm ARGUMENTS); \
        return end(&n, error, keeper);                                                                                \
    }                                                                                                                 \
    MPI_ALIAS(symbol);
ARRAY_FORMS(GATHERV, Gatherv, gatherv)

#define SCATTERV(symbol, plain, PARAMETERS, ARGUMENTS, keeper)                                                    \
    int PMPI_##symbol(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[],                 \
                      MPI_Datatype sendtype, void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, \
                      MPI_Comm comm PARAMETERS)                                                                   \
    {                                                                                                             \
        struct narrowing n = begin_arrays("MPI_" #symbol, comm);                                                  \
        bool all = has_all(comm, root);                                                                           \
        int received = narrow(&n, recvcount, has_one(comm, root) && !in_place(recvbuf));                          \
        int *counts = narrow_counts(&n, sendcounts, n.out, all), *places = narrow_places(&n, displs, n.out, all); \
        int error = n.error ? n.error                                                                             \
                            : PMPI_##plain(sendbuf, counts, places, sendtype, recvbuf, received, recvtype, root,  \
                                           comm ARGUMENTS);                                                       \
        return end(&n, error, keeper);                                                                            \
    }                                                                                                             \
    MPI_ALIAS(symbol);
ARRAY_FORMS(SCATTERV, Scatterv, scatterv)

#define ALLGATHERV(symbol, plain, PARAMETERS, ARGUMENTS, keeper, BEGIN)                                             \
    int PMPI_##symbol(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,               \
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype,                 \
                      MPI_Comm comm PARAMETERS)                                                                     \
    {                                                                                                               \
        struct narrowing n = BEGIN("MPI_" #symbol, comm);                                                           \
        int sent = narrow(&n, sendcount, !in_place(sendbuf));                                                       \
        int *counts = narrow_counts(&n, recvcounts, n.in, true), *places = narrow_places(&n, displs, n.in, true);   \
        int error = n.error                                                                                         \
                        ? n.error                                                                                   \
                        : PMPI_##plain(sendbuf, sent, sendtype, recvbuf, counts, places, recvtype, comm ARGUMENTS); \
        return end(&n, error, keeper);                                                                              \
    }                                                                                                               \
    MPI_ALIAS(symbol);
ARRAY_FORMS(ALLGATHERV, Allgatherv, allgatherv, begin_arrays)
ARRAY_FORMS(ALLGATHERV, Neighbor_allgatherv, neighbor_allgatherv, begin_neighbors)

#define ALLTOALLV(symbol, plain, PARAMETERS, ARGUMENTS, keeper, BEGIN)                                              \
    int PMPI_##symbol(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],                  \
                      MPI_Datatype sendtype, void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], \
                      MPI_Datatype recvtype, MPI_Comm comm PARAMETERS)                                              \
    {                                                                                                               \
        struct narrowing n = BEGIN("MPI_" #symbol, comm);                                                           \
        bool sends = !in_place(sendbuf);                                                                            \
        int *sent = narrow_counts(&n, sendcounts, n.out, sends), *to = narrow_places(&n, sdispls, n.out, sends);    \
        int *received = narrow_counts(&n, recvcounts, n.in, true), *from = narrow_places(&n, rdispls, n.in, true);  \
        int error =                                                                                                 \
            n.error ? n.error                                                                                       \
                    : PMPI_##plain(sendbuf, sent, to, sendtype, recvbuf, received, from, recvtype, comm ARGUMENTS); \
        return end(&n, error, keeper);                                                                              \
    }                                                                                                               \
    MPI_ALIAS(symbol);
ARRAY_FORMS(ALLTOALLV, Alltoallv, alltoallv, begin_arrays)
ARRAY_FORMS(ALLTOALLV, Neighbor_alltoallv, neighbor_alltoallv, begin_neighbors)

/* Displacements are in bytes: ints, or addresses already between neighbours. */
static const MPI_Aint *same_places(struct narrowing *n, const MPI_Aint places[], int blocks, bool matters)
{
    (void)n, (void)blocks, (void)matters;
    return places;
}

#define ALLTOALLW(symbol, plain, PARAMETERS, ARGUMENTS, keeper, BEGIN, place, PLACES)                                 \
    int PMPI_##symbol(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],                    \
                      const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],                    \
                      const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm PARAMETERS)             \
    {                                                                                                                 \
        struct narrowing n = BEGIN("MPI_" #symbol, comm);                                                             \
        bool sends = !in_place(sendbuf);                                                                              \
        int *sent = narrow_counts(&n, sendcounts, n.out, sends);                                                      \
        int *received = narrow_counts(&n, recvcounts, n.in, true);                                                    \
        const place *to = PLACES(&n, sdispls, n.out, sends), *from = PLACES(&n, rdispls, n.in, true);                 \
        int error =                                                                                                   \
            n.error ? n.error                                                                                         \
                    : PMPI_##plain(sendbuf, sent, to, sendtypes, recvbuf, received, from, recvtypes, comm ARGUMENTS); \
        return end(&n, error, keeper);                                                                                \
    }                                                                                                                 \
    MPI_ALIAS(symbol);
ARRAY_FORMS(ALLTOALLW, Alltoallw, alltoallw, begin_arrays, int, narrow_places)
ARRAY_FORMS(ALLTOALLW, Neighbor_alltoallw, neighbor_alltoallw, begin_neighbors, MPI_Aint, same_places)

/* A block for each process of the own group. */
static struct narrowing begin_own(const char *call, MPI_Comm comm)
{
    struct narrowing n = begin(call, comm);
    return with_arrays(n, 0, comm_is_valid(n.comm) ? n.comm->local_size : 0);
}

#define REDUCE_SCATTER(symbol, plain, PARAMETERS, ARGUMENTS, keeper)                                           \
    int PMPI_##symbol(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype, \
                      MPI_Op op, MPI_Comm comm PARAMETERS)                                                     \
    {                                                                                                          \
        struct narrowing n = begin_own("MPI_" #symbol, comm);                                                  \
        int *counts = narrow_counts(&n, recvcounts, n.in, true);                                               \
        int error = n.error ? n.error : PMPI_##plain(sendbuf, recvbuf, counts, datatype, op, comm ARGUMENTS);  \
        return end(&n, error, keeper);                                                                         \
    }                                                                                                          \
    MPI_ALIAS(symbol);
ARRAY_FORMS(REDUCE_SCATTER, Reduce_scatter, reduce_scatter)
