/* Communicators and groups. */
#ifndef CHASQUI_COMM_H
#define CHASQUI_COMM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "chasqui/abi.h"
#include "mpi/runtime/public.h"

struct attribute;
struct errhandler;
struct info;
struct topology;

/* Values of `valid`. Short paths take only what has COMM_VALID: where several threads may call MPI,
 * communicators are COMM_SHARED. */
enum { COMM_VALID = 0x434f4d4d, COMM_SHARED = COMM_VALID - 1, GROUP_VALID = 0x47525550 };

/* An ordered set of processes. */
struct group {
    uint32_t valid;
    int32_t references;
    int size;
    int rank;         /* Of this process; MPI_UNDEFINED: it is no member. */
    uint16_t *world;  /* World rank of each member; null: the identity. */
    uint16_t *member; /* Rank of each world process, GROUP_NOT_MEMBER if none; made when first
                         needed. Null where `world` is. */
};
enum { GROUP_NOT_MEMBER = 0xffff };

/* Context ids: each communicator owns CONTEXTS of them from `context` on, so that collectives,
 * and the library's own traffic, never match a program's receive (MPI 5.0, section 6.1). */
enum {
    CONTEXT_POINT = 0,
    CONTEXT_COLLECTIVE = 1,
    CONTEXT_NONBLOCKING = CHASQUI_CONTEXT_NONBLOCKING,
    CONTEXT_CREATION = CHASQUI_CONTEXT_CREATION,
    CONTEXTS = CHASQUI_CONTEXT_EACH
};
/* Communicators that may have their own at a time. */
enum { CONTEXT_IDS = 0x10000 / CONTEXTS };

struct communicator {
    /* First what the short paths read: one cache line. */
    uint32_t valid;
    int32_t size; /* Of the group to talk to: an intercommunicator's remote group. */
    int32_t rank; /* In `group`. */
    int32_t references; /* The handle, and requests that are not complete. */
    uint64_t head;      /* First envelope word of a message: context and source. */
    const uint16_t *world; /* group->world of the processes to talk to (an intercommunicator's
                              remote group). */
    uint16_t context;
    bool inter;
    uint32_t collective_tag; /* Added to the tags of collectives: the operation's own in a nonblocking one. */
    struct group *group;
    struct group *remote; /* Same as `group` unless `inter`. */
    int32_t local_size;   /* Of `group`. */
    uint32_t nonblocking; /* Nonblocking and persistent collectives so far. */
    struct errhandler *errhandler;
    struct topology *topology; /* Null: none. */
    struct attribute *attributes;
    struct info *info;
    char *name; /* Null: none set. */
    struct communicator *next, **link; /* Of those that the program has made, and what points to this one. */
    uint64_t spare[1];
};
_Static_assert(sizeof(struct communicator) == 128, "an index into chq_comms is a shift");
/* The simulator reads these of a process that waits when the run ends. */
_Static_assert(offsetof(struct communicator, size) == CHASQUI_COMMUNICATOR_SIZE, "communicator: size");
_Static_assert(offsetof(struct communicator, world) == CHASQUI_COMMUNICATOR_WORLD, "communicator: world");
_Static_assert(offsetof(struct communicator, context) == CHASQUI_COMMUNICATOR_CONTEXT, "communicator: context");
_Static_assert(offsetof(struct communicator, name) == CHASQUI_COMMUNICATOR_NAME, "communicator: name");
_Static_assert(MPI_MAX_OBJECT_NAME <= CHASQUI_COMMUNICATOR_NAME_BYTES, "communicator: name");

/* predefined handles: 0x100 null, 0x101 world, 0x102 self. */
extern struct communicator chq_comms[3];
#define chq_world (chq_comms[1])
#define chq_self (chq_comms[2])
enum { COMM_HANDLE_FIRST = 0x100 };
_Static_assert(COMM_HANDLE_FIRST + 1 == CHASQUI_COMMUNICATOR_HANDLE_WORLD, "MPI_COMM_WORLD");
_Static_assert(COMM_HANDLE_FIRST + 2 == CHASQUI_COMMUNICATOR_HANDLE_SELF, "MPI_COMM_SELF");

/* Whatever the handle is, the result may be read; its `valid` says so. */
static inline struct communicator *comm_of(MPI_Comm handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (likely(value - COMM_HANDLE_FIRST < 3))
        return &chq_comms[value - COMM_HANDLE_FIRST];
    return value < 0x1000 ? &chq_comms[0] : (struct communicator *)value;
}
static inline MPI_Comm comm_handle(struct communicator *comm)
{
    return comm == &chq_world ? MPI_COMM_WORLD : comm == &chq_self ? MPI_COMM_SELF : (MPI_Comm)comm;
}

static inline bool comm_is_valid(const struct communicator *comm)
{
    return comm->valid == COMM_VALID || comm->valid == COMM_SHARED;
}

/* World rank of a rank that is known to be in range. */
static inline uint32_t comm_world_rank(const struct communicator *comm, int rank)
{
    return likely(!comm->world) ? (uint32_t)rank : comm->world[rank];
}

static inline void comm_retain(struct communicator *comm) { comm->references++; }
void chq_comm_destroy(struct communicator *comm);
static inline void comm_release(struct communicator *comm)
{
    if (unlikely(--comm->references == 0))
        chq_comm_destroy(comm);
}

/* Rank in the (remote) group of a message's sender. */
int chq_group_rank_of_world(struct group *group, uint32_t world);
static inline int comm_rank_of_world(const struct communicator *comm, uint32_t world)
{
    return likely(!comm->world) ? (int)world : chq_group_rank_of_world(comm->remote, world);
}

/* Sets up the predefined communicators (from MPI_Init). */
void chq_comm_init(int rank, int size);
void chq_comms_finalize(void); /* None is valid any more. */

/* A communicator over `group` (whose reference it takes), with `parent`'s error handler. */
struct communicator *chq_comm_new(struct communicator *parent, struct group *group, uint16_t context);

/* An intercommunicator between two groups (whose references it takes). */
struct communicator *chq_comm_new_inter(struct communicator *parent, struct group *group, struct group *remote,
                                        uint16_t context);

/* A communicator that was made before its context id was agreed on. */
void chq_comm_set_context(struct communicator *comm, uint16_t context);

/* context.c. Ids of this process: taken, given back, and the lowest from `from` on that is free (CONTEXT_IDS: none). A
 * communicator's `context` is CONTEXTS times its id. */
void chq_context_take(uint16_t context);
void chq_context_free(uint16_t context);
int32_t chq_context_lowest_free(int32_t from);

/* Frees what the handle holds: collective in the standard, local here. */
int chq_comm_free(struct communicator *comm);

/* MPI_ERR_COMM with its reason unless valid. */
int chq_comm_check(const struct communicator *comm);
/* The same unless valid and no intercommunicator. */
int chq_comm_check_intra(const struct communicator *comm);
/* The same unless valid and an intercommunicator. */
int chq_comm_check_inter(const struct communicator *comm);

struct group *chq_group_new(int size); /* With a `world` array to fill; then chq_group_seal. */
void chq_group_seal(struct group *group);
struct group *chq_group_of(MPI_Group handle); /* Null: not a group. */
MPI_Group chq_group_handle(struct group *group);
void chq_group_release(struct group *group);
int chq_group_compare(struct group *a, struct group *b); /* MPI_IDENT, MPI_SIMILAR or MPI_UNEQUAL. */
static inline uint32_t group_world_rank(const struct group *group, int rank)
{
    return group->world ? group->world[rank] : (uint32_t)rank;
}

#endif
