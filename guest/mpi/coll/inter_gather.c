/* Gather and scatter between two groups: the root talks to each rank of the other directly, all its
 * messages under way at once. Allgather: each rank sends its block to the other side's rank 0, which
 * broadcasts them all to its own. */
#include "mpi/coll/inter.h"
#include "mpi/transport/progress.h"

int chq_inter_gather(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    int error = MPI_SUCCESS;
    if (root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (root != MPI_ROOT) {
        chq_coll_send(send->buffer, send->count, send->type, root, COLL_GATHER, comm);
        return MPI_SUCCESS;
    }
    struct request *requests = chq_malloc((size_t)comm->size * sizeof *requests);
    for (int i = 0; i < comm->size; i++)
        coll_irecv(&requests[i], side_block(recv, i), side_count(recv, i), recv->type, i, COLL_GATHER, comm);
    for (int i = 0; i < comm->size; i++) {
        int failed = chq_coll_received(&requests[i]);
        if (failed)
            error = failed;
    }
    free(requests);
    return error;
}

int chq_inter_scatter(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    if (root == MPI_PROC_NULL)
        return MPI_SUCCESS;
    if (root != MPI_ROOT)
        return chq_coll_recv(recv->buffer, recv->count, recv->type, root, COLL_SCATTER, comm);
    struct request *requests = chq_malloc((size_t)comm->size * sizeof *requests);
    for (int i = 0; i < comm->size; i++)
        coll_isend(&requests[i], side_block(send, i), side_count(send, i), send->type, i, COLL_SCATTER, comm);
    for (int i = 0; i < comm->size; i++)
        request_wait(&requests[i]);
    free(requests);
    return MPI_SUCCESS;
}

static size_t block_bytes(const struct side *side, int rank) { return side_count(side, rank) * side->type->size; }

/* At rank 0: the other side's blocks, one after another. */
static int collect(const struct side *recv, char *packed, struct communicator *comm)
{
    struct side blocks = {.buffer = packed, .type = type_byte()};
    int *numbers = chq_malloc(2 * (size_t)comm->size * sizeof *numbers);
    for (int i = 0, at = 0; i < comm->size; i++) {
        numbers[i] = (int)block_bytes(recv, i);
        numbers[comm->size + i] = at;
        at += numbers[i];
    }
    blocks.counts = numbers;
    blocks.displacements = numbers + comm->size;
    int error = chq_inter_gather(NULL, &blocks, MPI_ROOT, comm);
    free(numbers);
    return error;
}

int chq_inter_allgather(const struct side *send, const struct side *recv, struct communicator *comm)
{
    struct bridge bridge;
    struct scratch scratch;
    struct request out;
    size_t total = 0;
    int error = MPI_SUCCESS;
    chq_bridge_of(comm, &bridge);
    for (int i = 0; i < comm->size; i++)
        total += block_bytes(recv, i);
    char *packed = chq_scratch(&scratch, total);
    coll_isend(&out, send->buffer, send->count, send->type, 0, COLL_GATHER, comm);
    if (comm->rank == 0)
        error = collect(recv, packed, comm);
    if (!error && total > 0 && comm->local_size > 1)
        error = chq_coll_bcast(packed, total, type_byte(), 0, bridge.home);
    for (int i = 0; i < comm->size && !error; i++) {
        chq_unpack(packed, block_bytes(recv, i), side_block(recv, i), side_count(recv, i), recv->type);
        packed += block_bytes(recv, i);
    }
    request_wait(&out);
    scratch_free(&scratch);
    return error;
}
