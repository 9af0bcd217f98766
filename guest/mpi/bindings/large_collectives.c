/* Collectives with counts of MPI_Count (MPI-4.0; MPI 5.0, section 19.2), by those with int counts. What means nothing
 * in this process may be anything. Of those with an array of counts the blocking forms alone are here: the others would
 * have to keep arrays of ints for as long as they last. */
#include <stdlib.h>

#include "mpi/bindings/large.h"
#include "mpi/comm/comm.h"
#include "mpi/runtime/memory.h"

/* A call whose counts are being narrowed. */
struct narrowing {
    const char *call;
    struct communicator *comm;
    int error;
};

static struct narrowing begin(const char *call, MPI_Comm comm)
{
    return (struct narrowing){call, comm_of(comm), MPI_SUCCESS};
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

/* Counts of all processes; to be freed. Null: they do not matter, or one does not fit. */
static int *narrow_counts(struct narrowing *n, const MPI_Count counts[], bool matters)
{
    if (!matters || !comm_is_valid(n->comm))
        return NULL;
    int blocks = n->comm->size, *ints = chq_malloc((size_t)blocks * sizeof *ints + 1);
    for (int i = 0; i < blocks; i++)
        ints[i] = narrow(n, counts[i], true);
    return ints;
}

/* The same of displacements, which may be negative. */
static int *narrow_places(struct narrowing *n, const MPI_Aint places[], bool matters)
{
    if (!matters || !comm_is_valid(n->comm))
        return NULL;
    int blocks = n->comm->size, *ints = chq_malloc((size_t)blocks * sizeof *ints + 1);
    for (int i = 0; i < blocks; i++) {
        ints[i] = (int)places[i];
        if (ints[i] != places[i] && !n->error)
            n->error = chq_fail(n->comm, n->call, MPI_ERR_VALUE_TOO_LARGE, "a displacement is longer than an int");
    }
    return ints;
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

int PMPI_Gatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                   const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, int root,
                   MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Gatherv_c", comm);
    bool all = has_all(comm, root);
    int sent = narrow(&n, sendcount, has_one(comm, root) && !in_place(sendbuf));
    int *counts = narrow_counts(&n, recvcounts, all), *places = narrow_places(&n, displs, all);
    if (!n.error)
        n.error = PMPI_Gatherv(sendbuf, sent, sendtype, recvbuf, counts, places, recvtype, root, comm);
    free(counts);
    free(places);
    return n.error;
}
MPI_ALIAS(Gatherv_c);

int PMPI_Scatterv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint displs[], MPI_Datatype sendtype,
                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Scatterv_c", comm);
    bool all = has_all(comm, root);
    int received = narrow(&n, recvcount, has_one(comm, root) && !in_place(recvbuf));
    int *counts = narrow_counts(&n, sendcounts, all), *places = narrow_places(&n, displs, all);
    if (!n.error)
        n.error = PMPI_Scatterv(sendbuf, counts, places, sendtype, recvbuf, received, recvtype, root, comm);
    free(counts);
    free(places);
    return n.error;
}
MPI_ALIAS(Scatterv_c);

int PMPI_Allgatherv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, void *recvbuf,
                      const MPI_Count recvcounts[], const MPI_Aint displs[], MPI_Datatype recvtype, MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Allgatherv_c", comm);
    int sent = narrow(&n, sendcount, !in_place(sendbuf));
    int *counts = narrow_counts(&n, recvcounts, true), *places = narrow_places(&n, displs, true);
    if (!n.error)
        n.error = PMPI_Allgatherv(sendbuf, sent, sendtype, recvbuf, counts, places, recvtype, comm);
    free(counts);
    free(places);
    return n.error;
}
MPI_ALIAS(Allgatherv_c);

/* Counts and places of what is sent and what is received, as ints. */
struct both {
    int *sent, *to, *received, *from;
};

static struct both narrow_both(struct narrowing *n, bool sends, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                               const MPI_Count recvcounts[], const MPI_Aint rdispls[])
{
    return (struct both){narrow_counts(n, sendcounts, sends), narrow_places(n, sdispls, sends),
                         narrow_counts(n, recvcounts, true), narrow_places(n, rdispls, true)};
}

static int finish(const struct both *both, int error)
{
    free(both->sent);
    free(both->to);
    free(both->received);
    free(both->from);
    return error;
}

int PMPI_Alltoallv_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[], MPI_Datatype sendtype,
                     void *recvbuf, const MPI_Count recvcounts[], const MPI_Aint rdispls[], MPI_Datatype recvtype,
                     MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Alltoallv_c", comm);
    struct both b = narrow_both(&n, !in_place(sendbuf), sendcounts, sdispls, recvcounts, rdispls);
    return finish(
        &b, n.error ? n.error
                    : PMPI_Alltoallv(sendbuf, b.sent, b.to, sendtype, recvbuf, b.received, b.from, recvtype, comm));
}
MPI_ALIAS(Alltoallv_c);

int PMPI_Alltoallw_c(const void *sendbuf, const MPI_Count sendcounts[], const MPI_Aint sdispls[],
                     const MPI_Datatype sendtypes[], void *recvbuf, const MPI_Count recvcounts[],
                     const MPI_Aint rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Alltoallw_c", comm);
    struct both b = narrow_both(&n, !in_place(sendbuf), sendcounts, sdispls, recvcounts, rdispls);
    return finish(
        &b, n.error ? n.error
                    : PMPI_Alltoallw(sendbuf, b.sent, b.to, sendtypes, recvbuf, b.received, b.from, recvtypes, comm));
}
MPI_ALIAS(Alltoallw_c);

int PMPI_Reduce_scatter_c(const void *sendbuf, void *recvbuf, const MPI_Count recvcounts[], MPI_Datatype datatype,
                          MPI_Op op, MPI_Comm comm)
{
    struct narrowing n = begin("MPI_Reduce_scatter_c", comm);
    /* Those of the own group. */
    const struct communicator *c = n.comm;
    int blocks = comm_is_valid(c) ? c->local_size : 0, *counts = chq_malloc((size_t)blocks * sizeof *counts + 1);
    for (int i = 0; i < blocks; i++)
        counts[i] = narrow(&n, recvcounts[i], true);
    if (!n.error)
        n.error = PMPI_Reduce_scatter(sendbuf, recvbuf, counts, datatype, op, comm);
    free(counts);
    return n.error;
}
MPI_ALIAS(Reduce_scatter_c);
