/* The ends of requests that every transport has. */
#include "mpi/transport/transport.h"

void chq_deliver(struct request *request, const void *payload, size_t bytes)
{
    if (unlikely(request->type != NULL)) {
        void *packed = NULL;
        if (!payload && bytes > 0) {
            packed = chq_malloc(bytes);
            chq.device->take(packed, bytes);
            payload = packed;
        }
        chq_unpack(payload, bytes, request->buffer, request->count, request->type);
        free(packed);
    } else if (payload) {
        chq_copy(request->buffer, payload, bytes);
    } else if (bytes > 0) {
        chq.device->take(request->buffer, bytes);
    }
    MARK_DELIVER(request);
    request_complete(request);
}

void chq_cancelled(struct request *request)
{
    if (request->kind == REQUEST_RECEIVE) {
        request->source = MATCH_ANY_SOURCE;
        request->tag = MPI_ANY_TAG;
        request->got = 0;
    }
    request->cancelled = true;
    chq_tell();
    request_complete(request);
}
