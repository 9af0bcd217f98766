/* The form of a trace that `chasqui play` carries out, which python/chasqui/playing/form.py writes: little-endian.
 *
 *   struct trace_header
 *   struct trace_part of each rank
 *   the ranks' actions, each rank's at the offset that its part says
 *
 * TRACE_SEQUENCE: a rank carries its actions out one after the other. An action with a list has it in the records behind
 * its own, 4 numbers of 64 bits in each, the last one filled up with zeros.
 *
 * TRACE_GRAPH: a rank's actions are TRACE_COMPUTE, TRACE_SEND and TRACE_RECV. Behind them are `list` successors, of 32
 * bits each: the number of the action that waits, and SUCCESSOR_OF_START if it waits for the start alone. */
#ifndef CHASQUI_PLAY_TRACE_H
#define CHASQUI_PLAY_TRACE_H

#include <stdint.h>

#define TRACE_MAGIC "CHQPLAY1"

enum trace_order { TRACE_SEQUENCE, TRACE_GRAPH };

struct trace_header {
    char magic[8];
    uint32_t ranks;
    uint32_t order; /* enum trace_order */
    uint64_t hz;    /* frequency of the harts that it is carried out on, by whose cycles its times are measured */
};

/* A rank's part. */
struct trace_part {
    uint64_t offset;        /* of its first action [bytes] */
    uint64_t actions;       /* records of actions and lists; of a graph the actions */
    uint64_t list;          /* of a graph: all its successors; else numbers in the longest list */
    uint64_t send_bytes;    /* room for the largest data that it sends in a call [bytes] */
    uint64_t receive_bytes; /* room for the largest that it receives in a call [bytes] */
    uint32_t requests;      /* slots of requests */
    uint32_t communicators; /* slots of communicators */
    uint32_t processors;    /* of a graph: its `cpu` numbers are below */
    uint32_t reserved;
};

/* What an action does. `comm` is a slot of communicators where nothing else is said, `request` one of requests. */
enum trace_kind {
    TRACE_COMPUTE = 1,           /* for `bytes` picoseconds */
    TRACE_SEND = 2,              /* to `peer` with `tag`, `bytes` of data; so the next ones */
    TRACE_SSEND = 3,
    TRACE_RSEND = 4,
    TRACE_BSEND = 5,
    TRACE_ISEND = 6,             /* begins `request` */
    TRACE_ISSEND = 7,
    TRACE_IRSEND = 8,
    TRACE_IBSEND = 9,
    TRACE_RECV = 10,             /* from `peer` */
    TRACE_IRECV = 11,
    TRACE_SENDRECV = 12,         /* list: source, tag and bytes of what is received */
    TRACE_SENDRECV_REPLACE = 13, /* so, in one buffer */
    TRACE_SEND_INIT = 14,
    TRACE_RECV_INIT = 15,
    TRACE_START = 16,            /* `request` */
    TRACE_STARTALL = 17,         /* list: requests */
    TRACE_REQUEST_FREE = 18,
    TRACE_WAIT = 19,
    TRACE_WAITALL = 20,          /* list: requests */
    TRACE_TEST = 21,             /* whatever it answers */
    TRACE_TESTALL = 22,          /* so; list: requests */
    TRACE_TESTANY = 23,
    TRACE_TESTSOME = 24,
    TRACE_PROBE = 25,            /* `peer`, `tag` */
    TRACE_IPROBE = 26,           /* whatever it answers */
    TRACE_BUFFER_ATTACH = 27,    /* `bytes` */
    TRACE_BUFFER_DETACH = 28,
    TRACE_BARRIER = 29,
    TRACE_BCAST = 30,            /* of `bytes` from `peer` */
    TRACE_REDUCE = 31,           /* of `bytes` to `peer`; `tag`: the operator, struct reduction */
    TRACE_ALLREDUCE = 32,
    TRACE_SCAN = 33,
    TRACE_EXSCAN = 34,
    TRACE_REDUCE_SCATTER = 35,   /* list: bytes of each rank */
    TRACE_GATHER = 36,           /* `bytes` of each rank to `peer`, which receives `more` of each */
    TRACE_ALLGATHER = 37,
    TRACE_SCATTER = 38,          /* `bytes` for each rank from `peer`, of which each receives `more` */
    TRACE_ALLTOALL = 39,         /* `bytes` for each rank, and `more` of each */
    TRACE_GATHERV = 40,          /* `bytes` to `peer`; there the list: bytes of each rank */
    TRACE_ALLGATHERV = 41,       /* `bytes` to all; list: bytes of each rank */
    TRACE_SCATTERV = 42,         /* `bytes` from `peer`; there the list: bytes for each rank */
    TRACE_ALLTOALLV = 43,        /* list: bytes for each rank, then bytes of each */
    TRACE_COMM_DUP = 44,         /* of `comm`; the slot of the new communicator is `request`, here and below */
    TRACE_COMM_SPLIT = 45,       /* `peer` is the colour, -1: MPI_UNDEFINED; `tag` the key */
    TRACE_COMM_CREATE = 46,      /* list: ranks in `comm` */
    TRACE_CART_CREATE = 47,      /* list: of each dimension 2 * length + (1 if it is periodic) */
    TRACE_CART_SUB = 48,         /* list: of each dimension whether it remains */
    TRACE_COMM_FREE = 49,
};

/* Where a list has `more` numbers: these kinds. (Others use `more` for bytes.) */
static inline int trace_has_list(unsigned kind)
{
    switch (kind) {
    case TRACE_SENDRECV:
    case TRACE_SENDRECV_REPLACE:
    case TRACE_STARTALL:
    case TRACE_WAITALL:
    case TRACE_TESTALL:
    case TRACE_TESTANY:
    case TRACE_TESTSOME:
    case TRACE_REDUCE_SCATTER:
    case TRACE_GATHERV:
    case TRACE_ALLGATHERV:
    case TRACE_SCATTERV:
    case TRACE_ALLTOALLV:
    case TRACE_COMM_CREATE:
    case TRACE_CART_CREATE:
    case TRACE_CART_SUB: return 1;
    default: return 0;
    }
}

struct trace_action {
    uint16_t kind; /* enum trace_kind */
    uint16_t comm; /* of a graph: the processor, `cpu` */
    int32_t peer;  /* -1: MPI_ANY_SOURCE; PEER_NULL: MPI_PROC_NULL */
    int32_t tag;   /* -1: MPI_ANY_TAG */
    uint32_t request; /* of a graph: what it waits for */
    uint64_t bytes; /* BYTES_ANY: of a receive, as many as come */
    uint64_t more; /* of a list: its numbers; of a graph: the first successor, and from bit 32 on how many there are */
};

#define BYTES_ANY 0xffffffffu

enum { PEER_ANY = -1, PEER_NULL = -2, TAG_ANY = -1 };

#define SUCCESSOR_OF_START 0x80000000u

/* An operator in `tag`: 256 times the operator, and the type. */
enum trace_type { TYPE_BYTE, TYPE_CHAR, TYPE_SHORT, TYPE_INT, TYPE_LONG, TYPE_FLOAT, TYPE_DOUBLE };
enum trace_operator {
    OPERATOR_NONE, /* costs nothing but its call: the trace says what it takes */
    OPERATOR_SUM,
    OPERATOR_PROD,
    OPERATOR_MIN,
    OPERATOR_MAX,
    OPERATOR_LAND,
    OPERATOR_LOR,
    OPERATOR_LXOR,
    OPERATOR_BAND,
    OPERATOR_BOR,
    OPERATOR_BXOR,
};

_Static_assert(sizeof(struct trace_header) == 24, "trace_header");
_Static_assert(sizeof(struct trace_part) == 56, "trace_part");
_Static_assert(sizeof(struct trace_action) == 32, "trace_action");

#endif
