/* Collectives: one algorithm a file, chosen in select.h.
 *
 * An algorithm is called with checked arguments and MPI_IN_PLACE resolved: the send buffer is then
 * the receive buffer, or its own block of it. It returns an error class. What it can't do stands
 * in algorithms.h, and it is never called for that.
 */
#ifndef CHASQUI_COLL_H
#define CHASQUI_COLL_H

#include "mpi/coll/algorithms.h"
#include "mpi/op/op.h"
#include "mpi/pt2pt/point.h"

/* Neighbourhood collectives have a tag, and nothing to choose. */
enum { COLL_NEIGHBOR = COLL_KINDS };

typedef int coll_barrier(struct communicator *comm);
coll_barrier chq_barrier_dissemination, chq_barrier_tree, chq_barrier_ni;

typedef int coll_bcast(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm);
coll_bcast chq_bcast_binomial, chq_bcast_scatter_allgather, chq_bcast_chain, chq_bcast_ni;

typedef int coll_reduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                        int root, struct communicator *comm);
coll_reduce chq_reduce_binomial, chq_reduce_rabenseifner, chq_reduce_ni;

typedef int coll_allreduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                           struct communicator *comm);
coll_allreduce chq_allreduce_recursive_doubling, chq_allreduce_ring, chq_allreduce_rabenseifner, chq_allreduce_ni;
coll_allreduce chq_scan_recursive_doubling, chq_scan_linear;
coll_allreduce chq_exscan_recursive_doubling, chq_exscan_linear;

/* Buffer, count and type of one side of a gather or scatter; counts a rank. */
struct side {
    void *buffer;
    size_t count;
    struct datatype *type;
    const int *counts, *displacements; /* Null: `count` each, one after another. */
};
typedef int coll_gather(const struct side *send, const struct side *recv, int root, struct communicator *comm);
coll_gather chq_gather_binomial, chq_gather_linear, chq_gather_ni, chq_scatter_binomial, chq_scatter_linear,
    chq_scatter_ni;
coll_gather chq_gatherv_binomial, chq_scatterv_binomial;

typedef int coll_allgather(const struct side *send, const struct side *recv, struct communicator *comm);
coll_allgather chq_allgather_ring, chq_allgather_recursive_doubling, chq_allgather_bruck, chq_allgatherv_bruck;

/* One side of an all-to-all. */
struct blocks {
    char *buffer;
    size_t count; /* When `counts` is null: blocks of so many elements, one after another. */
    struct datatype *type;
    const int *counts, *displacements; /* In elements of `type`, or in bytes when `types` is there. */
    const MPI_Datatype *types;
};
typedef int coll_alltoall(const struct blocks *send, const struct blocks *recv, struct communicator *comm);
coll_alltoall chq_alltoall_bruck, chq_alltoall_pairwise, chq_alltoall_linear;

typedef int coll_reduce_scatter(const void *send, void *recv, const int counts[], struct datatype *type,
                                const struct op *op, struct communicator *comm);
coll_reduce_scatter chq_reduce_scatter_pairwise, chq_reduce_scatter_halving, chq_reduce_scatter_by_reduce;

/* ni.c: whether the network interface takes a case, the same answer on all processes. */
bool chq_ni_takes(enum coll_kind kind, size_t count, const struct datatype *type, const struct op *op,
                  const struct communicator *comm);
/* select.c: from MPI_Init, when the device can do collectives: it is asked first. */
void chq_coll_ask_device(void);

/* Selected, for the library itself. */
int chq_coll_barrier(struct communicator *comm);
int chq_coll_bcast(void *buffer, size_t count, struct datatype *type, int root, struct communicator *comm);
int chq_coll_reduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op, int root,
                    struct communicator *comm);
int chq_coll_allreduce(const void *send, void *recv, size_t count, struct datatype *type, const struct op *op,
                       struct communicator *comm);
int chq_coll_allreduce_max(struct communicator *comm, int32_t *values, size_t count);
int chq_coll_allgather_bytes(struct communicator *comm, const void *own, void *all, size_t bytes);

/* A nonblocking collective: the function that the blocking one calls, run as a coroutine
 * (mpi/request/coroutine.h) over a communicator that differs from the program's in context and tag alone.
 * So an algorithm is written once, as if it blocked. */
typedef int coll_body(const void *arguments, struct communicator *comm);

struct coll_start {
    const char *name; /* Of the public function: what a report says the process waits for. */
    coll_body *body;
    const void *arguments; /* Checked. `bytes` of them are copied. */
    size_t bytes;
    /* What must live until the end, though the program may give it up before; null or 0: none. */
    struct datatype *types[2];
    struct op *op;
    const MPI_Datatype *type_lists[2];
    int list_lengths[2];
};

/* The end of a public function of the form: `error` is that of its arguments. Starts the operation,
 * or keeps it for MPI_Start; *request is its request, or null when there is an error, which is raised. */
enum form { FORM_NONBLOCKING, FORM_PERSISTENT };
int chq_coll_request(const struct coll_start *start, enum form form, int error, struct communicator *comm,
                     MPI_Request *request);

/* `block`, of malloc, is freed when the operation of such a request needs its arguments no more. */
void chq_coll_keep(MPI_Request request, void *block);

/* Messages within a collective. `tag` is its enum coll_kind. */
static inline void coll_isend(struct request *request, const void *buffer, size_t count, struct datatype *type, int to,
                              int tag, struct communicator *comm)
{
    request_start(request, REQUEST_SEND);
    chq_send_start(request, SEND_HOW(MODE_STANDARD, CONTEXT_COLLECTIVE), buffer, count, type, to,
                   (int)(comm->collective_tag + (uint32_t)tag), comm);
}

static inline void coll_irecv(struct request *request, void *buffer, size_t count, struct datatype *type, int from,
                              int tag, struct communicator *comm)
{
    request_start(request, REQUEST_RECEIVE);
    chq_receive_start(request, buffer, count, type, from, (int)(comm->collective_tag + (uint32_t)tag), comm,
                      CONTEXT_COLLECTIVE);
}

/* Waits for a receive; its error. */
int chq_coll_received(struct request *request);
void chq_coll_send(const void *buffer, size_t count, struct datatype *type, int to, int tag, struct communicator *comm);
int chq_coll_recv(void *buffer, size_t count, struct datatype *type, int from, int tag, struct communicator *comm);
int chq_coll_exchange(const void *send, size_t send_count, struct datatype *send_type, int to, void *recv,
                      size_t recv_count, struct datatype *recv_type, int from, int tag, struct communicator *comm);

/* Temporary memory: on the stack when short. */
struct scratch {
    void *heap;
    uint64_t small[64] __attribute__((aligned(16)));
};
void *chq_scratch(struct scratch *scratch, size_t bytes);
static inline void scratch_free(struct scratch *scratch)
{
    if (unlikely(scratch->heap != NULL))
        free(scratch->heap);
}
/* Room for `count` elements; the result is the address an MPI buffer argument would have. */
static inline void *scratch_elements(struct scratch *scratch, size_t count, const struct datatype *type)
{
    return (char *)chq_scratch(scratch, type_span(type, count)) - type->true_lb;
}

static inline void copy_elements(const void *from, void *to, size_t count, const struct datatype *type)
{
    if (from == to || count == 0)
        return;
    if (type_is_dense(type))
        chq_copy(to, from, count * type->size);
    else
        chq_copy_typed(from, count, type, to, count, type);
}

static inline char *element(const void *buffer, size_t index, const struct datatype *type)
{
    return (char *)(uintptr_t)buffer + (MPI_Aint)index * type->extent;
}

static inline struct datatype *type_byte(void) { return &chq_types[0x247 - TYPE_HANDLE_FIRST]; }

/* Block of a rank on one side of a gather, scatter or allgather. */
static inline char *side_block(const struct side *side, int rank)
{
    return element(side->buffer,
                   side->counts ? (size_t)(MPI_Aint)side->displacements[rank] : (size_t)rank * side->count, side->type);
}
static inline size_t side_count(const struct side *side, int rank)
{
    return side->counts ? (size_t)side->counts[rank] : side->count;
}

/* Block of a rank on one side of an all-to-all. */
static inline struct datatype *blocks_type(const struct blocks *side, int rank)
{
    return side->types ? type_of(side->types[rank]) : side->type;
}
static inline size_t blocks_count(const struct blocks *side, int rank)
{
    return side->counts ? (size_t)side->counts[rank] : side->count;
}
static inline char *blocks_at(const struct blocks *side, int rank)
{
    if (side->types)
        return side->buffer + side->displacements[rank];
    return element(side->buffer,
                   side->counts ? (size_t)(MPI_Aint)side->displacements[rank] : (size_t)rank * side->count, side->type);
}
static inline void blocks_copy_own(const struct blocks *send, const struct blocks *recv, int rank)
{
    chq_copy_typed(blocks_at(send, rank), blocks_count(send, rank), blocks_type(send, rank), blocks_at(recv, rank),
                   blocks_count(recv, rank), blocks_type(recv, rank));
}

/* (a + b) mod n for 0 <= a, b < n: no division. */
static inline int ring_add(int a, int b, int n) { return a + b >= n ? a + b - n : a + b; }
static inline int ring_subtract(int a, int b, int n) { return a >= b ? a - b : a - b + n; }

static inline int coll_least(int a, int b) { return a < b ? a : b; }

/* In a binomial tree of n ranks: lowest bit of a relative rank, the size of its subtree; for the root the
 * first power of two that isn't below n. */
static inline int coll_subtree(int relative, int n)
{
    int mask = 1;
    while (mask < n && !(relative & mask))
        mask <<= 1;
    return mask;
}

#endif
