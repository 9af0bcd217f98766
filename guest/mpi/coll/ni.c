/* Collectives that the network interface does by itself (device.h, `collective`). */
#include "mpi/coll/coll.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

/* Whether blocks move between the root and all. Processes may describe theirs by different counts and types; the bytes agree. */
static bool moves_blocks(enum coll_kind kind) { return kind == COLL_GATHER || kind == COLL_SCATTER; }

static struct mpi_collective describe(enum coll_kind kind, size_t count, const struct datatype *type,
                                      const struct op *op, const struct communicator *comm)
{
    static const uint8_t kinds[] = {
        [COLL_BARRIER] = MPI_COLLECTIVE_BARRIER, [COLL_BCAST] = MPI_COLLECTIVE_BCAST,
        [COLL_REDUCE] = MPI_COLLECTIVE_REDUCE,   [COLL_ALLREDUCE] = MPI_COLLECTIVE_ALLREDUCE,
        [COLL_GATHER] = MPI_COLLECTIVE_GATHER,   [COLL_SCATTER] = MPI_COLLECTIVE_SCATTER,
    };
    if (moves_blocks(kind)) {
        count *= type->size;
        type = type_byte();
    }
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

static void wait_for(const struct mpi_collective *what, struct request *request)
{
    request_start(request, REQUEST_SEND);
    if (!chq.device->collective(what, request))
        chq_die("the network interface refuses a collective that it said it takes");
    request_wait(request);
}

static int run(const struct mpi_collective *what)
{
    struct request request;
    wait_for(what, &request);
    return request.error;
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

/* This process's block. What is missing of it, in a program that gives less than it says elsewhere, is zero. */
static void pack_own(const struct side *own, char *packed, size_t block)
{
    size_t moved = chq_pack(own->buffer, own->count, own->type, packed, block);
    memset(packed + moved, 0, block - moved);
}

/* The operation is described by the side that the device was asked about (public_gather.c): at the root that of all
 * blocks. An error leaves what a scatter's buffer had; what a gather's has then is not defined.
 * The error is of a type, and read at a place, by which these functions are as long as when none came from here: nothing
 * else of programs moves, on other machines neither (link.ld). */
static unsigned long move_blocks(enum coll_kind kind, const struct side *own, const struct side *all, int root,
                                 struct communicator *comm)
{
    const struct side *asked = comm->rank == root ? all : own;
    struct mpi_collective what = describe(kind, asked->count, asked->type, NULL, comm);
    size_t block = what.bytes, blocks = comm->rank == root ? (size_t)comm->size : 0;
    struct scratch own_room, all_room;
    char *mine = chq_scratch(&own_room, block), *every = chq_scratch(&all_room, blocks * block);
    char *at_root = blocks ? every : NULL;
    bool gathers = kind == COLL_GATHER;
    what.root = root;
    what.send = gathers ? mine : at_root;
    what.recv = gathers ? at_root : mine;
    if (gathers)
        pack_own(own, mine, block);
    for (size_t i = 0; !gathers && i < blocks; i++)
        chq_pack(side_block(all, (int)i), all->count, all->type, every + i * block, block);
    struct request request;
    wait_for(&what, &request);
    if (!gathers && !request.error)
        chq_unpack(mine, block, own->buffer, own->count, own->type);
    for (size_t i = 0; gathers && i < blocks; i++)
        chq_unpack(every + i * block, block, side_block(all, (int)i), all->count, all->type);
    scratch_free(&own_room);
    scratch_free(&all_room);
    return (uint32_t)request.error;
}

int chq_gather_ni(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    return (int)move_blocks(COLL_GATHER, send, recv, root, comm);
}

int chq_scatter_ni(const struct side *send, const struct side *recv, int root, struct communicator *comm)
{
    return (int)move_blocks(COLL_SCATTER, recv, send, root, comm);
}
