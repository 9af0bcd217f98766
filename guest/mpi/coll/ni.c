/* Collectives that the network interface does by itself (device.h, `collective`). */
#include "mpi/coll/coll.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

static struct mpi_collective describe(enum coll_kind kind, size_t count, const struct datatype *type,
                                      const struct op *op, const struct communicator *comm)
{
    static const uint8_t kinds[] = {
        [COLL_BARRIER] = MPI_COLLECTIVE_BARRIER, [COLL_BCAST] = MPI_COLLECTIVE_BCAST,
        [COLL_REDUCE] = MPI_COLLECTIVE_REDUCE,   [COLL_ALLREDUCE] = MPI_COLLECTIVE_ALLREDUCE,
        [COLL_GATHER] = MPI_COLLECTIVE_GATHER,   [COLL_SCATTER] = MPI_COLLECTIVE_SCATTER,
    };
    return (struct mpi_collective){
        .kind = kinds[kind],
        .ranks = comm->size,
        .rank = comm->rank,
        .world = comm->world,
        .context = comm->context + CONTEXT_COLLECTIVE,
        .tag = comm->collective_tag + kind,
        .count = count,
        .bytes = count * type->size,
        .type = type->class,
        .op = op && !op->function ? op->number : MPI_COLLECTIVE_NO_OPERATOR,
    };
}

bool chq_ni_takes(enum coll_kind kind, size_t count, const struct datatype *type, const struct op *op,
                  const struct communicator *comm)
{
    struct mpi_collective what = describe(kind, count, type, op, comm);
    return chq.device->collective && comm->size > 1 && chq.device->collective(&what, NULL);
}

void mpi_collective_done(struct request *request)
{
    chq_tell();
    request_complete(request);
}

static int run(const struct mpi_collective *what)
{
    struct request request;
    request_start(&request, REQUEST_SEND);
    chq.device->collective(what, &request);
    request_wait(&request);
    return MPI_SUCCESS;
}

int chq_barrier_ni(struct communicator *comm)
{
    struct mpi_collective what = describe(COLL_BARRIER, 0, type_byte(), NULL, comm);
    return run(&what);
}

int chq_bcast_ni(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm)
{
    struct mpi_collective what = describe(COLL_BCAST, count, type, NULL, comm);
    what.root = root;
    what.send = what.recv = buffer;
    return run(&what);
}

int chq_allreduce_ni(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                     struct communicator *comm)
{
    struct mpi_collective what = describe(COLL_ALLREDUCE, count, type, op, comm);
    what.send = send;
    what.recv = recv;
    return run(&what);
}

int chq_reduce_ni(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op, int root,
                  struct communicator *comm)
{
    struct mpi_collective what = describe(COLL_REDUCE, count, type, op, comm);
    what.root = root;
    what.send = send;
    what.recv = comm->rank == root ? recv : NULL;
    return run(&what);
}

int chq_gather_ni(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    bool is_root = comm->rank == root;
    const struct side *equal = is_root ? recv : send;
    struct mpi_collective what = describe(COLL_GATHER, equal->count, equal->type, NULL, comm);
    size_t block = what.bytes;
    struct scratch own, all = {.heap = NULL};
    char *packed = chq_scratch(&own, block);
    chq_pack(send->buffer, send->count, send->type, packed, block);
    what.root = root;
    what.send = packed;
    what.recv = is_root ? chq_scratch(&all, (size_t)comm->size * block) : NULL;
    int error = run(&what);
    for (int i = 0; is_root && i < comm->size; i++)
        chq_unpack((char *)what.recv + (size_t)i * block, block, side_block(recv, i), recv->count, recv->type);
    scratch_free(&own);
    scratch_free(&all);
    return error;
}

int chq_scatter_ni(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    bool is_root = comm->rank == root;
    const struct side *equal = is_root ? send : recv;
    struct mpi_collective what = describe(COLL_SCATTER, equal->count, equal->type, NULL, comm);
    size_t block = what.bytes;
    struct scratch own, all = {.heap = NULL};
    char *blocks = is_root ? chq_scratch(&all, (size_t)comm->size * block) : NULL;
    for (int i = 0; is_root && i < comm->size; i++)
        chq_pack(side_block(send, i), send->count, send->type, blocks + (size_t)i * block, block);
    what.root = root;
    what.send = blocks;
    what.recv = chq_scratch(&own, block);
    int error = run(&what);
    chq_unpack(what.recv, block, recv->buffer, recv->count, recv->type);
    scratch_free(&own);
    scratch_free(&all);
    return error;
}
