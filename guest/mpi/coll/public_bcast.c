/* Barrier and broadcast as the program calls them (MPI 5.0, sections 6.3 and 6.4). */
#include "mpi/coll/public.h"
#include "mpi/runtime/error.h"

static inline int barrier(const void *arguments, struct communicator *comm)
{
    (void)arguments;
    return unlikely(comm->inter) ? chq_inter_barrier(comm) : chq_coll_barrier(comm);
}

static int barrier_request(const char *call, enum form form, struct communicator *comm, MPI_Request *request)
{
    struct coll_start start = {.name = call, .body = barrier};
    return chq_coll_request(&start, form, coll_check_comm(comm), comm, request);
}

int PMPI_Barrier(MPI_Comm comm)
{
    CALL_ENTER(CALL_BARRIER);
    struct communicator *c = comm_of(comm);
    int error = coll_check_comm(c);
    if (!error) {
        MARK_WAITING("a barrier: the other processes");
        error = barrier(NULL, c);
        MARK_WAITED();
    }
    error = coll_finish(c, "MPI_Barrier", error);
    CALL_LEAVE(CALL_BARRIER);
    return error;
}
MPI_ALIAS(Barrier);

int PMPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IBARRIER);
    int error = barrier_request("MPI_Ibarrier", FORM_NONBLOCKING, comm_of(comm), request);
    CALL_LEAVE(CALL_IBARRIER);
    return error;
}
MPI_ALIAS(Ibarrier);

int PMPI_Barrier_init(MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    return barrier_request("MPI_Barrier_init", FORM_PERSISTENT, comm_of(comm), request);
}
MPI_ALIAS(Barrier_init);

struct broadcast {
    void *buffer;
    size_t count;
    struct datatype *type;
    int root;
};

COLL_INLINE int bcast_arguments(struct broadcast *b, void *buffer, int count, MPI_Datatype datatype, int root,
                                const struct communicator *comm)
{
    *b = (struct broadcast){buffer, (size_t)count, type_of(datatype), root};
    int error = coll_check_comm(comm);
    if (!error)
        error = coll_check_root(comm, root);
    if (error)
        return error;
    error = count < 0 ? chq_reason(MPI_ERR_COUNT, "negative count") : chq_type_check(b->type);
    return coll_unless_beside_root(error, comm, root);
}

COLL_INLINE int bcast(const void *arguments, struct communicator *comm)
{
    const struct broadcast *b = arguments;
    if (unlikely(comm->inter))
        return chq_inter_bcast(b->buffer, b->count, b->type, b->root, comm);
    return b->count > 0 && comm->size > 1 ? chq_coll_bcast(b->buffer, b->count, b->type, b->root, comm) : MPI_SUCCESS;
}

static int bcast_request(const char *call, enum form form, int error, const struct broadcast *b,
                         struct communicator *comm, MPI_Request *request)
{
    struct coll_start start = {.name = call, .body = bcast, .arguments = b, .bytes = sizeof *b, .types = {b->type}};
    return chq_coll_request(&start, form, error, comm, request);
}

int PMPI_Bcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm)
{
    CALL_ENTER(CALL_BCAST);
    struct communicator *c = comm_of(comm);
    struct broadcast b;
    int error = bcast_arguments(&b, buffer, count, datatype, root, c);
    if (!error)
        error = bcast(&b, c);
    error = coll_finish(c, "MPI_Bcast", error);
    CALL_LEAVE(CALL_BCAST);
    return error;
}
MPI_ALIAS(Bcast);

int PMPI_Ibcast(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IBCAST);
    struct communicator *c = comm_of(comm);
    struct broadcast b;
    int error = bcast_arguments(&b, buffer, count, datatype, root, c);
    error = bcast_request("MPI_Ibcast", FORM_NONBLOCKING, error, &b, c, request);
    CALL_LEAVE(CALL_IBCAST);
    return error;
}
MPI_ALIAS(Ibcast);

int PMPI_Bcast_init(void *buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm, MPI_Info info,
                    MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct broadcast b;
    int error = bcast_arguments(&b, buffer, count, datatype, root, c);
    return bcast_request("MPI_Bcast_init", FORM_PERSISTENT, error, &b, c, request);
}
MPI_ALIAS(Bcast_init);
