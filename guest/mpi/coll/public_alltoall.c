/* All-to-alls as the program calls them (MPI 5.0, section 6.8). In place, the data is packed aside
 * first and sent from there. */
#include "mpi/coll/public.h"
#include "mpi/runtime/error.h"

/* Checked arguments. */
struct exchange {
    struct blocks send, recv;
};

static int check_blocks(const struct blocks *side, const struct communicator *comm)
{
    int error = coll_check_buffer(side->buffer);
    if (!error && !side->types)
        error = chq_type_check(side->type);
    if (!side->counts)
        return !error && side->count > INT32_MAX ? chq_reason(MPI_ERR_COUNT, "negative count") : error;
    for (int i = 0; i < comm->size && !error; i++) {
        error = side->counts[i] < 0 ? chq_reason(MPI_ERR_COUNT, "negative count") : MPI_SUCCESS;
        if (!error && side->types)
            error = chq_type_check(blocks_type(side, i));
    }
    return error;
}

static int exchange_arguments(const struct exchange *e, const struct communicator *comm)
{
    int error = coll_check_comm(comm);
    if (!error)
        error = check_blocks(&e->recv, comm);
    if (!error && e->send.buffer != MPI_IN_PLACE)
        error = check_blocks(&e->send, comm);
    else if (!error && comm->inter)
        error = coll_not_in_place();
    return error;
}

static int exchange_request(const char *call, enum form form, int error, coll_body *body, const struct exchange *e,
                            struct communicator *comm, MPI_Request *request)
{
    bool in_place = e->send.buffer == MPI_IN_PLACE;
    struct coll_start start = {.name = call, .body = body, .arguments = e, .bytes = sizeof *e};
    start.types[0] = in_place ? NULL : e->send.type;
    start.types[1] = e->recv.type;
    start.type_lists[0] = e->send.types;
    start.type_lists[1] = e->recv.types;
    start.list_lengths[0] = e->send.types && !in_place ? comm->size : 0;
    start.list_lengths[1] = e->recv.types ? comm->size : 0;
    return chq_coll_request(&start, form, error, comm, request);
}

/* Blocks of differing sizes, in place: packed one after another, sent as bytes. */
static int packed_in_place(coll_alltoall *algorithm, const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size;
    size_t total = 0;
    int *numbers = chq_malloc(2 * (size_t)n * sizeof *numbers);
    int *counts = numbers, *displacements = numbers + n;
    for (int i = 0; i < n; i++) {
        counts[i] = (int)((size_t)recv->counts[i] * blocks_type(recv, i)->size);
        displacements[i] = (int)total;
        total += (size_t)counts[i];
    }
    char *packed = chq_malloc(total);
    for (int i = 0; i < n; i++) {
        chq_pack(blocks_at(recv, i), (size_t)recv->counts[i], blocks_type(recv, i), packed + displacements[i],
                 (size_t)counts[i]);
    }
    struct blocks send = {packed, 0, type_byte(), counts, displacements, NULL};
    int error = algorithm(&send, recv, comm);
    free(packed);
    free(numbers);
    return error;
}

static int alltoall(const void *arguments, struct communicator *comm)
{
    static coll_alltoall *const algorithms[] = {CHQ_ALLTOALL(CHQ_ALGORITHM_FUNCTION)};
    const struct exchange *e = arguments;
    const struct blocks *recv = &e->recv;
    if (unlikely(comm->inter))
        return chq_inter_alltoall(&e->send, recv, comm);
    int algorithm = coll_select(COLL_ALLTOALL, recv->count * recv->type->size, comm, recv->count, recv->type, NULL);
    if (algorithm < 0)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    if (e->send.buffer != MPI_IN_PLACE)
        return algorithms[algorithm](&e->send, recv, comm);
    size_t count = recv->count * (size_t)comm->size, bytes = count * recv->type->size;
    void *packed = chq_malloc(bytes);
    chq_pack(recv->buffer, count, recv->type, packed, bytes);
    struct blocks send = {packed, recv->count * recv->type->size, type_byte(), NULL, NULL, NULL};
    int error = algorithms[algorithm](&send, recv, comm);
    free(packed);
    return error;
}

static int alltoallw(const void *arguments, struct communicator *comm)
{
    static coll_alltoall *const algorithms[] = {CHQ_ALLTOALLW(CHQ_ALGORITHM_FUNCTION)};
    const struct exchange *e = arguments;
    if (unlikely(comm->inter))
        return chq_inter_alltoall(&e->send, &e->recv, comm);
    /* How long the blocks are differs from process to process, so it can't decide. */
    int algorithm = coll_select(COLL_ALLTOALLW, 0, comm, 0, type_byte(), NULL);
    if (algorithm < 0)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    return e->send.buffer == MPI_IN_PLACE ? packed_in_place(algorithms[algorithm], &e->recv, comm)
                                          : algorithms[algorithm](&e->send, &e->recv, comm);
}

static inline struct blocks equal_blocks(const void *buffer, int count, MPI_Datatype type)
{
    return (struct blocks){(char *)(uintptr_t)buffer, (size_t)count, type_of(type), NULL, NULL, NULL};
}

static inline struct blocks counted_blocks(const void *buffer, const int counts[], const int displacements[],
                                           MPI_Datatype type)
{
    return (struct blocks){(char *)(uintptr_t)buffer, 0, type_of(type), counts, displacements, NULL};
}

static inline struct blocks typed_blocks(const void *buffer, const int counts[], const int displacements[],
                                         const MPI_Datatype types[])
{
    return (struct blocks){(char *)(uintptr_t)buffer, 0, NULL, counts, displacements, types};
}

int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                  MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLTOALL);
    struct communicator *c = comm_of(comm);
    struct exchange e = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_arguments(&e, c);
    if (!error)
        error = alltoall(&e, c);
    error = coll_finish(c, "MPI_Alltoall", error);
    CALL_LEAVE(CALL_ALLTOALL);
    return error;
}
MPI_ALIAS(Alltoall);

int PMPI_Ialltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                   MPI_Datatype recvtype, MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IALLTOALL);
    struct communicator *c = comm_of(comm);
    struct exchange e = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_arguments(&e, c);
    error = exchange_request("MPI_Ialltoall", FORM_NONBLOCKING, error, alltoall, &e, c, request);
    CALL_LEAVE(CALL_IALLTOALL);
    return error;
}
MPI_ALIAS(Ialltoall);

int PMPI_Alltoall_init(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount,
                       MPI_Datatype recvtype, MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct exchange e = {equal_blocks(sendbuf, sendcount, sendtype), equal_blocks(recvbuf, recvcount, recvtype)};
    int error = exchange_arguments(&e, c);
    return exchange_request("MPI_Alltoall_init", FORM_PERSISTENT, error, alltoall, &e, c, request);
}
MPI_ALIAS(Alltoall_init);

int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                   void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLTOALLV);
    struct communicator *c = comm_of(comm);
    struct exchange e = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                         counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    int error = exchange_arguments(&e, c);
    if (!error)
        error = alltoallw(&e, c);
    error = coll_finish(c, "MPI_Alltoallv", error);
    CALL_LEAVE(CALL_ALLTOALLV);
    return error;
}
MPI_ALIAS(Alltoallv);

int PMPI_Ialltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                    void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm,
                    MPI_Request *request)
{
    CALL_ENTER(CALL_IALLTOALLV);
    struct communicator *c = comm_of(comm);
    struct exchange e = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                         counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    int error = exchange_arguments(&e, c);
    error = exchange_request("MPI_Ialltoallv", FORM_NONBLOCKING, error, alltoallw, &e, c, request);
    CALL_LEAVE(CALL_IALLTOALLV);
    return error;
}
MPI_ALIAS(Ialltoallv);

int PMPI_Alltoallv_init(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype,
                        void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype,
                        MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct exchange e = {counted_blocks(sendbuf, sendcounts, sdispls, sendtype),
                         counted_blocks(recvbuf, recvcounts, rdispls, recvtype)};
    int error = exchange_arguments(&e, c);
    return exchange_request("MPI_Alltoallv_init", FORM_PERSISTENT, error, alltoallw, &e, c, request);
}
MPI_ALIAS(Alltoallv_init);

int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                   void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                   MPI_Comm comm)
{
    CALL_ENTER(CALL_ALLTOALLW);
    struct communicator *c = comm_of(comm);
    struct exchange e = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                         typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    int error = exchange_arguments(&e, c);
    if (!error)
        error = alltoallw(&e, c);
    error = coll_finish(c, "MPI_Alltoallw", error);
    CALL_LEAVE(CALL_ALLTOALLW);
    return error;
}
MPI_ALIAS(Alltoallw);

int PMPI_Ialltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[],
                    void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[],
                    MPI_Comm comm, MPI_Request *request)
{
    CALL_ENTER(CALL_IALLTOALLW);
    struct communicator *c = comm_of(comm);
    struct exchange e = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                         typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    int error = exchange_arguments(&e, c);
    error = exchange_request("MPI_Ialltoallw", FORM_NONBLOCKING, error, alltoallw, &e, c, request);
    CALL_LEAVE(CALL_IALLTOALLW);
    return error;
}
MPI_ALIAS(Ialltoallw);

int PMPI_Alltoallw_init(const void *sendbuf, const int sendcounts[], const int sdispls[],
                        const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[],
                        const MPI_Datatype recvtypes[], MPI_Comm comm, MPI_Info info, MPI_Request *request)
{
    LOCAL_CALL();
    (void)info;
    struct communicator *c = comm_of(comm);
    struct exchange e = {typed_blocks(sendbuf, sendcounts, sdispls, sendtypes),
                         typed_blocks(recvbuf, recvcounts, rdispls, recvtypes)};
    int error = exchange_arguments(&e, c);
    return exchange_request("MPI_Alltoallw_init", FORM_PERSISTENT, error, alltoallw, &e, c, request);
}
MPI_ALIAS(Alltoallw_init);
