/* Point-to-point communication inside the library. All return error classes and raise nothing:
 * the public function that was called does, with its own name. */
#ifndef CHASQUI_POINT_H
#define CHASQUI_POINT_H

#include "mpi/request/request.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/process.h"

/* For the short paths: neither null nor MPI_IN_PLACE, the only values below any address, by one comparison. */
static inline bool point_is_buffer(const void *buffer) { return (uintptr_t)buffer > (uintptr_t)MPI_IN_PLACE; }

/* Part of chq_send_check and chq_receive_check: the rest is known to be right. */
static inline int point_check_buffer(const void *buffer, int count, const struct datatype *type)
{
    if (buffer == MPI_IN_PLACE)
        return chq_reason(MPI_ERR_BUFFER, "MPI_IN_PLACE is for collectives");
    if (!buffer && count > 0 && type->size > 0 && type_is_predefined(type))
        return chq_reason(MPI_ERR_BUFFER, "null buffer");
    return MPI_SUCCESS;
}

/* send.c. Starts a send in a request that request_start has prepared. The arguments are checked.
 * On return the request may be complete already. `how`: SEND_HOW of the mode and the context's
 * place among its communicator's (CONTEXT_*), in one word, so that all arguments are in registers. */
#define SEND_HOW(mode, context) ((uint32_t)(mode) | (uint32_t)(context) << 16)
void chq_send_start(struct request *request, uint32_t how, const void *buffer, size_t count, struct datatype *type,
                    int destination, int tag, struct communicator *comm);
int chq_send_check(const void *buffer, int count, const struct datatype *type, int destination, int tag,
                   const struct communicator *comm);

/* recv.c */
void chq_receive_start(struct request *request, void *buffer, size_t count, struct datatype *type, int source, int tag,
                       struct communicator *comm, int context);
int chq_receive_check(const void *buffer, int count, const struct datatype *type, int source, int tag,
                      const struct communicator *comm);

/* bsend.c. The attached buffer's copy of a message is freed at completion of its request. */
int chq_buffered_send(const void *buffer, size_t count, struct datatype *type, int destination, int tag,
                      struct communicator *comm);
void chq_buffer_flush(void);

/* grequest.c: calls of the program's functions; their results. */
int chq_grequest_query(const struct request *request, MPI_Status *status);
int chq_grequest_cancel(const struct request *request);
int chq_grequest_free(struct request *request);

/* status.c */
void chq_status_empty(MPI_Status *status);
void chq_status_set(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled);
void chq_status_of(const struct request *request, MPI_Status *status);
size_t chq_status_bytes(const MPI_Status *status);

/* finish.c. Completion of a nonblocking request as the program sees it: status, handle, release. */
int chq_request_finish(MPI_Request *handle, struct request *request, MPI_Status *status);

#endif
