/* Buffered sends (MPI 5.0, section 3.6): a message that can't leave at once is copied into the
 * buffer that the program attached. The buffer is a list of blocks in the order of their
 * addresses; a block is free when its message has gone. */
#include "mpi/comm/raise.h"
#include "mpi/pt2pt/point.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/thread.h"
#include "mpi/transport/progress.h"

struct block {
    struct block *next; /* By address; null: the last. */
    size_t bytes;       /* After this header. */
    struct request request;
    bool used;
};
_Static_assert(sizeof(struct block) + 16 <= MPI_BSEND_OVERHEAD, "what mpi.h promises");

static struct {
    void *buffer; /* As attached; null: none. */
    int size;
    struct block *first;
} attached;

int PMPI_Buffer_attach(void *buffer, int size)
{
    LOCAL_CALL();
    if (attached.buffer)
        return chq_fail(NULL, "MPI_Buffer_attach", MPI_ERR_BUFFER, "a buffer is attached already");
    if (size < 0 || !buffer)
        return chq_fail(NULL, "MPI_Buffer_attach", MPI_ERR_ARG, "no buffer");
    attached.buffer = buffer;
    attached.size = size;
    attached.first = NULL;
    uintptr_t start = ((uintptr_t)buffer + 15) & ~(uintptr_t)15;
    uintptr_t end = (uintptr_t)buffer + (uintptr_t)size;
    if (start + sizeof(struct block) < end) {
        attached.first = (struct block *)start;
        attached.first->next = NULL;
        attached.first->bytes = end - start - sizeof(struct block);
        attached.first->used = false;
    }
    return MPI_SUCCESS;
}
MPI_ALIAS(Buffer_attach);

static bool block_is_free(const struct block *block) { return !block->used || block->request.complete; }

/* First fit, merging neighbours that have become free. */
static struct block *block_new(size_t bytes)
{
    bytes = (bytes + 15) & ~(size_t)15;
    for (struct block *block = attached.first; block; block = block->next) {
        if (!block_is_free(block))
            continue;
        while (block->next && block_is_free(block->next)) {
            block->bytes += sizeof(struct block) + block->next->bytes;
            block->next = block->next->next;
        }
        block->used = false;
        if (block->bytes < bytes)
            continue;
        if (block->bytes >= bytes + sizeof(struct block) + 16) {
            struct block *rest = (struct block *)(void *)((char *)(block + 1) + bytes);
            rest->next = block->next;
            rest->bytes = block->bytes - bytes - sizeof(struct block);
            rest->used = false;
            block->next = rest;
            block->bytes = bytes;
        }
        block->used = true;
        return block;
    }
    return NULL;
}

int chq_buffered_send(const void *buffer, size_t count, struct datatype *type, int destination, int tag,
                      struct communicator *comm)
{
    if (destination == MPI_PROC_NULL)
        return MPI_SUCCESS;
    size_t bytes = count * type->size;
    struct block *block = block_new(bytes);
    if (!block) {
        /* Messages that have room to leave now make room here. */
        chq_look();
        block = block_new(bytes);
    }
    if (!block)
        return chq_reason(MPI_ERR_BUFFER, "the attached buffer has no room for the message");
    chq_pack(buffer, count, type, block + 1, bytes);
    request_start(&block->request, REQUEST_SEND);
    chq_send_start(&block->request, SEND_HOW(MODE_BUFFERED, CONTEXT_POINT), block + 1, bytes, type_of(MPI_PACKED),
                   destination, tag, comm);
    return MPI_SUCCESS;
}

void chq_buffer_flush(void)
{
    if (!attached.buffer)
        return;
    for (struct block *block = attached.first; block; block = block->next)
        if (block->used)
            request_wait(&block->request);
}

int PMPI_Buffer_detach(void *buffer_addr, int *size)
{
    CALL_ENTER(CALL_BUFFER_DETACH);
    chq_buffer_flush();
    *(void **)buffer_addr = attached.buffer;
    *size = attached.size;
    attached.buffer = NULL;
    attached.size = 0;
    attached.first = NULL;
    CALL_LEAVE(CALL_BUFFER_DETACH);
    return MPI_SUCCESS;
}
MPI_ALIAS(Buffer_detach);

static int buffered_call(const char *call, const void *buffer, int count, MPI_Datatype datatype, int destination,
                         int tag, MPI_Comm handle)
{
    struct communicator *comm = comm_of(handle);
    struct datatype *type = type_of(datatype);
    int error = chq_send_check(buffer, count, type, destination, tag, comm);
    if (!error)
        error = chq_buffered_send(buffer, (size_t)count, type, destination, tag, comm);
    return error ? chq_fail(comm, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Bsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    CALL_ENTER(CALL_BSEND);
    int error = buffered_call("MPI_Bsend", buf, count, datatype, dest, tag, comm);
    CALL_LEAVE(CALL_BSEND);
    return error;
}
MPI_ALIAS(Bsend);

int PMPI_Ibsend(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm,
                MPI_Request *request)
{
    CALL_ENTER(CALL_IBSEND);
    int error = buffered_call("MPI_Ibsend", buf, count, datatype, dest, tag, comm);
    if (!error)
        *request = (MPI_Request)&chq_sent;
    CALL_LEAVE(CALL_IBSEND);
    return error;
}
MPI_ALIAS(Ibsend);
