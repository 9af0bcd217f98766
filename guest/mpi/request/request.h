/* Requests: a communication that may take time. */
#ifndef CHASQUI_REQUEST_H
#define CHASQUI_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"
#include "mpi/comm/comm.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/match.h"
#include "mpi/runtime/process.h"

enum { REQUEST_VALID = 0x52455155 };

enum request_kind {
    REQUEST_FREE, /* In the pool: a handle that still names it is stale. */
    REQUEST_SEND,
    REQUEST_RECEIVE,
    REQUEST_COLLECTIVE, /* Nonblocking or persistent (coll/nonblocking.c). */
    REQUEST_GENERALIZED /* grequest.c */
};

enum send_mode { MODE_STANDARD, MODE_READY, MODE_SYNCHRONOUS, MODE_BUFFERED };

struct request {
    struct match_node
        node; /* Of a posted receive: the transport's, with `posted`, `expected`, `stamp`, `mask` (transport.h). */
    /* Eight bytes that request_start sets by one store. */
    bool complete;   /* Nothing is outstanding. */
    uint8_t kind;    /* enum request_kind */
    bool ends;       /* Completion has more to do (chq_request_end): `packed`, `type` or `freed`. */
    bool persistent; /* The handle survives completion. */
    bool active;     /* Persistent: started and not yet waited for. */
    bool freed;      /* The program gave the handle up: release when complete. */
    bool cancelled;
    bool counted; /* Holds a reference to its communicator until it is released. */
    int32_t error;
    uint32_t valid;
    uint8_t mode; /* enum send_mode */
    bool posted;  /* Waits for its message. */
    bool expected; /* Waits, and the device places its message (host/expect.c). */
    uint64_t stamp; /* Order among posted receives. */
    uint64_t mask;  /* Bits of the key that must match, while it is chq.lone. */

    void *buffer;          /* Dense data, or the program's buffer of `count` elements of `type`. */
    size_t bytes;          /* Send: length of the data; receive: room for it. */
    struct datatype *type; /* Receive that must be unpacked; null: dense. */
    size_t count;
    void *packed; /* Temporary copy, freed at completion; null: none. */
    struct communicator *comm;

    /* The message of a receive, once matched. */
    uint32_t source; /* World rank. */
    int32_t tag;
    size_t got; /* Bytes of data, after truncation. */

    union {
        struct {
            char *from;  /* Receiver in a rendezvous: where the next segment goes. */
            size_t left; /* Likewise: bytes still to come. */
        };
        struct { /* Collective or generalized. */
            void (*forget)(struct request *request);  /* At its release: frees what `user_buffer` names. */
            void (*restart)(struct request *request); /* Of a persistent collective: MPI_Start. */
        };
    };
    struct chasqui_envelope envelope; /* Sender: of the message. */

    /* A persistent request's arguments. */
    void *user_buffer;
    struct datatype *user_type;
    size_t user_count;
    int peer;
    int user_tag;

    const char *what; /* Collective or generalized: for reports of what a process waits for. */
};

/* The simulator reads these at MARK_DELIVER, if it follows accesses to messages' data. */
_Static_assert(offsetof(struct request, buffer) == CHASQUI_MARK_REQUEST_BUFFER, "request: buffer");
_Static_assert(offsetof(struct request, type) == CHASQUI_MARK_REQUEST_TYPE, "request: type");
_Static_assert(offsetof(struct request, got) == CHASQUI_MARK_REQUEST_GOT, "request: got");
/* And these of a process that waits when the run ends. */
_Static_assert(offsetof(struct request, node.key) == CHASQUI_REQUEST_KEY, "request: key");
_Static_assert(offsetof(struct request, complete) == CHASQUI_REQUEST_COMPLETE, "request: complete");
_Static_assert(offsetof(struct request, kind) == CHASQUI_REQUEST_COMPLETE + 1, "request: kind");
_Static_assert(offsetof(struct request, comm) == CHASQUI_REQUEST_COMMUNICATOR, "request: comm");
_Static_assert(offsetof(struct request, envelope) == CHASQUI_REQUEST_ENVELOPE, "request: envelope");
_Static_assert((int)REQUEST_SEND == CHASQUI_REQUEST_SEND && (int)REQUEST_RECEIVE == CHASQUI_REQUEST_RECEIVE, "kinds");
_Static_assert((int)MATCH_ANY_SOURCE == CHASQUI_REQUEST_ANY_SOURCE, "any source");

/* A send that was complete when its call returned: one object serves them all. */
extern struct request chq_sent;

/* From MPI_Init, before there is any request. */
void chq_request_init(void);

void chq_request_release(struct request *request);

/* Prepares a request that lives on a stack or was just made (request_new). */
static inline void request_start(struct request *request, enum request_kind kind)
{
    request->complete = false;
    request->kind = (uint8_t)kind;
    request->ends = false;
    request->persistent = false;
    request->active = false;
    request->freed = false;
    request->cancelled = false;
    request->counted = false;
    request->error = MPI_SUCCESS;
    request->packed = NULL;
    request->type = NULL;
}

static inline struct request *request_new(enum request_kind kind)
{
    struct request *request = pool_take(&chq.requests);
    request_start(request, kind);
    request->valid = REQUEST_VALID;
    return request;
}

/* Nothing is outstanding any more. The request may be gone afterwards. */
void chq_request_end(struct request *request);
static inline void request_complete(struct request *request)
{
    if (unlikely(request->ends))
        chq_request_end(request);
    else
        request->complete = true;
}

/* The handle's request; null: MPI_REQUEST_NULL. *error is set when it is no request. */
struct request *chq_request_of(MPI_Request handle, int *error);

#endif
