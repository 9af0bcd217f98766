/* Nonblocking collectives (MPI 5.0, section 6.12) and persistent ones (section 6.13): the blocking
 * algorithms as coroutines.
 *
 * Each operation of a communicator has a number, which the messages' tags bear: all processes call
 * nonblocking collectives in the same order, so they number them alike, and operations under way never
 * take each other's messages, in whatever order they advance. A persistent one is numbered when it is
 * made, since its starts need not come in the same order everywhere.
 */
#include "mpi/coll/coll.h"
#include "mpi/comm/raise.h"
#include "mpi/request/coroutine.h"
#include "mpi/runtime/thread.h"

/* Bits of a tag below an operation's number: the algorithms' own tags. */
enum { KIND_BITS = 5, NUMBER_BITS = 31 - KIND_BITS };
_Static_assert(COLL_KINDS <= 1 << KIND_BITS, "a collective's tag must not reach the operation's number");

/* What the coroutine works on, at the top of its stack. */
struct operation {
    struct communicator comm;
    struct coll_start start; /* `arguments`: behind this. */
    struct request *request;
};

/* A persistent operation. */
struct kept {
    struct coll_start start; /* `arguments`: behind this. */
    uint32_t tag;
    void *block; /* chq_coll_keep; null: none. */
};

static uint32_t next_tag(struct communicator *comm)
{
    return (++comm->nonblocking & (((uint32_t)1 << NUMBER_BITS) - 1)) << KIND_BITS;
}

static void copy_start(struct coll_start *to, const struct coll_start *from, void *arguments)
{
    *to = *from;
    to->arguments = arguments;
    if (from->bytes)
        memcpy(arguments, from->arguments, from->bytes);
}

static void hold(const struct coll_start *start)
{
    for (int side = 0; side < 2; side++) {
        if (start->types[side])
            type_retain(start->types[side]);
        for (int i = 0; i < start->list_lengths[side]; i++)
            type_retain(type_of(start->type_lists[side][i]));
    }
    if (start->op)
        op_retain(start->op);
}

static void let_go(const struct coll_start *start)
{
    for (int side = 0; side < 2; side++) {
        if (start->types[side])
            chq_type_release(start->types[side]);
        for (int i = 0; i < start->list_lengths[side]; i++)
            chq_type_release(type_of(start->type_lists[side][i]));
    }
    if (start->op)
        chq_op_release(start->op);
}

static void run(void *room)
{
    struct operation *operation = room;
    struct request *request = operation->request;
    request->error = operation->start.body(operation->start.arguments, &operation->comm);
    if (!request->persistent)
        let_go(&operation->start);
    request_complete(request);
}

static void launch(struct request *request, const struct coll_start *start, uint32_t tag)
{
    struct coroutine *coroutine = chq_coroutine_new(run, sizeof(struct operation) + start->bytes);
    struct operation *operation = coroutine->room;
    struct communicator *comm = &operation->comm;
    *comm = *request->comm;
    /* The algorithms add CONTEXT_COLLECTIVE. */
    comm->context += CONTEXT_NONBLOCKING - CONTEXT_COLLECTIVE;
    comm->head += (uint64_t)(CONTEXT_NONBLOCKING - CONTEXT_COLLECTIVE) << 16;
    comm->collective_tag = tag;
    copy_start(&operation->start, start, operation + 1);
    operation->request = request;
    chq_coroutine_start(coroutine);
}

static struct request *new_request(const struct coll_start *start, struct communicator *comm)
{
    struct request *request = request_new(REQUEST_COLLECTIVE);
    request->comm = comm;
    request->counted = true;
    comm_retain(comm);
    request->what = start->name;
    return request;
}

/* Started. Of one that fails at once, usually before it has sent anything, no request is left. */
static int start_now(const struct coll_start *start, struct communicator *comm, MPI_Request *result)
{
    struct request *request = new_request(start, comm);
    hold(start);
    launch(request, start, next_tag(comm));
    int error = request->complete ? request->error : MPI_SUCCESS;
    if (error)
        chq_request_release(request);
    else
        *result = (MPI_Request)request;
    return error;
}

static void restart(struct request *request)
{
    struct kept *kept = request->user_buffer;
    launch(request, &kept->start, kept->tag);
}

static void forget(struct request *request)
{
    struct kept *kept = request->user_buffer;
    let_go(&kept->start);
    free(kept->block);
    free(kept);
}

static void keep(const struct coll_start *start, struct communicator *comm, MPI_Request *result)
{
    struct request *request = new_request(start, comm);
    struct kept *kept = chq_malloc(sizeof *kept + start->bytes);
    copy_start(&kept->start, start, kept + 1);
    kept->tag = next_tag(comm);
    kept->block = NULL;
    hold(start);
    request->persistent = true;
    request->complete = true;
    request->user_buffer = kept;
    request->restart = restart;
    request->forget = forget;
    *result = (MPI_Request)request;
}

int chq_coll_request(const struct coll_start *start, enum form form, int error, struct communicator *comm,
                     MPI_Request *request)
{
    if (!error && form == FORM_NONBLOCKING)
        error = start_now(start, comm, request);
    else if (!error)
        keep(start, comm, request);
    if (likely(!error))
        return MPI_SUCCESS;
    *request = MPI_REQUEST_NULL;
    return chq_fail(comm, start->name, error, NULL);
}

void chq_coll_keep(MPI_Request handle, void *block)
{
    LOCAL_CALL();
    struct request *request = (struct request *)handle;
    if (request->persistent) {
        struct kept *kept = request->user_buffer;
        kept->block = block;
    } else if (request->complete) {
        free(block);
    } else {
        request->packed = block;
        request->ends = true;
    }
}
