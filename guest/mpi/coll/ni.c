/* Collectives that the network interface does by itself (device.h, `collective`). */
#include "mpi/coll/coll.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

static struct mpi_collective describe(enum coll_kind kind, size_t count, const struct datatype *type,
                                      const struct op *op, const struct communicator *comm)
{
    return (struct mpi_collective){
        .kind = kind == COLL_BARRIER ? MPI_COLLECTIVE_BARRIER
                : kind == COLL_BCAST ? MPI_COLLECTIVE_BCAST
                                     : MPI_COLLECTIVE_ALLREDUCE,
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
