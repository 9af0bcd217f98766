/* All-to-alls as the program calls them (MPI 5.0, section 6.8). In place, the data is packed aside
 * first and sent from there. */
#include "mpi/coll/coll.h"
#include "mpi/error.h"
#include "mpi/mark.h"

static struct datatype *block_type(const struct blocks *side, int rank) { return side->types ? type_of(side->types[rank]) : side->type; }

static int check_blocks(const struct blocks *side, const struct communicator *comm)
{
    int error = side->types ? MPI_SUCCESS : chq_type_check(side->type);
    if (!side->counts)
        return !error && side->count > INT32_MAX ? chq_reason(MPI_ERR_COUNT, "negative count") : error;
    for (int i = 0; i < comm->size && !error; i++) {
        error = side->counts[i] < 0 ? chq_reason(MPI_ERR_COUNT, "negative count") : MPI_SUCCESS;
        if (!error && side->types)
            error = chq_type_check(block_type(side, i));
    }
    return error;
}

static int check(const struct communicator *comm, const struct blocks *send, const struct blocks *recv)
{
    int error = chq_comm_check(comm);
    if (!error && comm->inter)
        error = chq_reason(MPI_ERR_COMM, "not for an intercommunicator");
    if (!error)
        error = check_blocks(recv, comm);
    if (!error && send->buffer != MPI_IN_PLACE)
        error = check_blocks(send, comm);
    return error;
}

/* Blocks of differing sizes, in place: packed one after another, sent as bytes. */
static int pairwise_in_place(const struct blocks *recv, struct communicator *comm)
{
    int n = comm->size;
    size_t total = 0;
    int *numbers = chq_malloc(2 * (size_t)n * sizeof *numbers);
    int *counts = numbers, *displacements = numbers + n;
    for (int i = 0; i < n; i++) {
        counts[i] = (int)((size_t)recv->counts[i] * block_type(recv, i)->size);
        displacements[i] = (int)total;
        total += (size_t)counts[i];
    }
    char *packed = chq_malloc(total);
    for (int i = 0; i < n; i++) {
        struct datatype *type = block_type(recv, i);
        char *block = recv->types ? recv->buffer + recv->displacements[i] : element(recv->buffer, (size_t)(MPI_Aint)recv->displacements[i], type);
        chq_pack(block, (size_t)recv->counts[i], type, packed + displacements[i], (size_t)counts[i]);
    }
    struct blocks send = {packed, 0, type_byte(), counts, displacements, NULL};
    int error = chq_alltoall_pairwise(&send, recv, comm);
    free(packed);
    free(numbers);
    return error;
}

static int alltoall(struct blocks send, struct blocks recv, struct communicator *comm)
{
    static coll_alltoall *const algorithms[] = {chq_alltoall_bruck, chq_alltoall_pairwise};
    int error = check(comm, &send, &recv);
    if (error)
        return error;
    int algorithm = chq_coll_select(COLL_ALLTOALL, recv.count * recv.type->size, comm, recv.count, recv.type, NULL);
    if (algorithm < 0)
        return MPI_ERR_UNSUPPORTED_OPERATION;
    void *packed = NULL;
    if (send.buffer == MPI_IN_PLACE) {
        size_t count = recv.count * (size_t)comm->size, bytes = count * recv.type->size;
        packed = chq_malloc(bytes);
        chq_pack(recv.buffer, count, recv.type, packed, bytes);
        send = (struct blocks){packed, recv.count * recv.type->size, type_byte(), NULL, NULL, NULL};
    }
    error = algorithms[algorithm](&send, &recv, comm);
    free(packed);
    return error;
}

int PMPI_Alltoall(const void *sendbuf, int sendcount, MPI_Datatype sendtype, void *recvbuf, int recvcount, MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_ALLTOALL);
    struct communicator *c = comm_of(comm);
    struct blocks send = {(char *)(uintptr_t)sendbuf, (size_t)sendcount, type_of(sendtype), NULL, NULL, NULL};
    struct blocks recv = {recvbuf, (size_t)recvcount, type_of(recvtype), NULL, NULL, NULL};
    int error = alltoall(send, recv, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Alltoall", error, NULL);
    MARK_RETURN(CALL_ALLTOALL);
    return error;
}
MPI_ALIAS(Alltoall);

static int alltoallw(const struct blocks *send, const struct blocks *recv, struct communicator *comm)
{
    int error = check(comm, send, recv);
    if (error)
        return error;
    return send->buffer == MPI_IN_PLACE ? pairwise_in_place(recv, comm) : chq_alltoall_pairwise(send, recv, comm);
}

int PMPI_Alltoallv(const void *sendbuf, const int sendcounts[], const int sdispls[], MPI_Datatype sendtype, void *recvbuf, const int recvcounts[], const int rdispls[], MPI_Datatype recvtype, MPI_Comm comm)
{
    MARK_CALL(CALL_ALLTOALLV);
    struct communicator *c = comm_of(comm);
    struct blocks send = {(char *)(uintptr_t)sendbuf, 0, type_of(sendtype), sendcounts, sdispls, NULL};
    struct blocks recv = {recvbuf, 0, type_of(recvtype), recvcounts, rdispls, NULL};
    int error = alltoallw(&send, &recv, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Alltoallv", error, NULL);
    MARK_RETURN(CALL_ALLTOALLV);
    return error;
}
MPI_ALIAS(Alltoallv);

int PMPI_Alltoallw(const void *sendbuf, const int sendcounts[], const int sdispls[], const MPI_Datatype sendtypes[], void *recvbuf, const int recvcounts[], const int rdispls[], const MPI_Datatype recvtypes[], MPI_Comm comm)
{
    MARK_CALL(CALL_ALLTOALLW);
    struct communicator *c = comm_of(comm);
    struct blocks send = {(char *)(uintptr_t)sendbuf, 0, NULL, sendcounts, sdispls, sendtypes};
    struct blocks recv = {recvbuf, 0, NULL, recvcounts, rdispls, recvtypes};
    int error = alltoallw(&send, &recv, c);
    if (unlikely(error))
        error = chq_fail(c, "MPI_Alltoallw", error, NULL);
    MARK_RETURN(CALL_ALLTOALLW);
    return error;
}
MPI_ALIAS(Alltoallw);
