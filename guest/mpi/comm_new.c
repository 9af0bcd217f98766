/* New communicators (MPI 5.0, section 7.4.2). */
#include "mpi/attribute.h"
#include "mpi/coll/coll.h"
#include "mpi/comm.h"
#include "mpi/errhandler.h"
#include "mpi/error.h"
#include "mpi/info.h"
#include "mpi/mark.h"
#include "mpi/memory.h"
#include "mpi/platform.h"
#include "mpi/process.h"
#include "mpi/topology.h"

static int intra_check(const struct communicator *comm)
{
    int error = chq_comm_check(comm);
    if (!error && comm->inter)
        error = chq_reason(MPI_ERR_COMM, "not for an intercommunicator");
    return error;
}

static int comm_dup(struct communicator *comm, struct communicator **made)
{
    uint16_t context;
    int error = chq_context_agree(comm, &context);
    if (error)
        return error;
    comm->group->references++;
    *made = chq_comm_new(comm, comm->group, context);
    (*made)->topology = chq_topology_copy(comm->topology);
    error = chq_attributes_copy(comm, *made);
    if (error) {
        chq_comm_free(*made);
        *made = NULL;
    }
    return error;
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    MARK_CALL(CALL_COMM_DUP);
    struct communicator *c = comm_of(comm), *made = NULL;
    int error = intra_check(c);
    if (!error)
        error = comm_dup(c, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_dup", error, NULL);
    MARK_RETURN(CALL_COMM_DUP);
    return error;
}
MPI_ALIAS(Comm_dup);

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    MARK_CALL(CALL_COMM_DUP);
    struct communicator *c = comm_of(comm), *made = NULL;
    int error = intra_check(c);
    if (!error)
        error = comm_dup(c, &made);
    if (!error)
        error = chq_info_copy(info, &made->info);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_dup_with_info", error, NULL);
    MARK_RETURN(CALL_COMM_DUP);
    return error;
}
MPI_ALIAS(Comm_dup_with_info);

/* Nonblocking: all but the context id is copied at the call, so that what the program changes later
 * is not (MPI 5.0, section 7.4.2). */
struct duplicate {
    struct communicator *made;
    MPI_Comm *result;
};

/* It has no context id of its own yet, but that of the world, which stays taken. */
static void discard(struct communicator *made)
{
    chq_comm_free(made);
    chq_context_take(chq_world.context);
}

static int agree_for_duplicate(const void *arguments, struct communicator *comm)
{
    const struct duplicate *duplicate = arguments;
    uint16_t context;
    int error = chq_context_agree(comm, &context);
    if (error) {
        discard(duplicate->made);
        return error;
    }
    chq_comm_set_context(duplicate->made, context);
    *duplicate->result = (MPI_Comm)duplicate->made;
    return MPI_SUCCESS;
}

static int comm_idup(const char *call, struct communicator *comm, const MPI_Info *info, MPI_Comm *newcomm, MPI_Request *request)
{
    struct duplicate duplicate = {NULL, newcomm};
    struct coll_start start = {.name = call, .body = agree_for_duplicate, .arguments = &duplicate, .bytes = sizeof duplicate};
    int error = intra_check(comm);
    *newcomm = MPI_COMM_NULL;
    if (!error) {
        comm->group->references++;
        duplicate.made = chq_comm_new(comm, comm->group, chq_world.context);
        duplicate.made->topology = chq_topology_copy(comm->topology);
        error = chq_attributes_copy(comm, duplicate.made);
    }
    if (!error && info)
        error = chq_info_copy(*info, &duplicate.made->info);
    if (error && duplicate.made)
        discard(duplicate.made);
    return chq_coll_request(&start, FORM_NONBLOCKING, error, comm, request);
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    MARK_CALL(CALL_COMM_IDUP);
    int error = comm_idup("MPI_Comm_idup", comm_of(comm), NULL, newcomm, request);
    MARK_RETURN(CALL_COMM_IDUP);
    return error;
}
MPI_ALIAS(Comm_idup);

int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    MARK_CALL(CALL_COMM_IDUP);
    int error = comm_idup("MPI_Comm_idup_with_info", comm_of(comm), &info, newcomm, request);
    MARK_RETURN(CALL_COMM_IDUP);
    return error;
}
MPI_ALIAS(Comm_idup_with_info);

/* A communicator over a group that is part of `comm`'s; collective over `comm`. Null for those
 * outside the group. */
static int comm_create(struct communicator *comm, struct group *group, struct communicator **made)
{
    uint16_t context;
    for (int i = 0; i < group->size; i++)
        if (chq_group_rank_of_world(comm->group, group_world_rank(group, i)) == MPI_UNDEFINED)
            return chq_reason(MPI_ERR_GROUP, "the group is not part of the communicator's");
    int error = chq_context_agree(comm, &context);
    *made = NULL;
    if (error || group->rank == MPI_UNDEFINED)
        return error;
    group->references++;
    *made = chq_comm_new(comm, group, context);
    return MPI_SUCCESS;
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    MARK_CALL(CALL_COMM_CREATE);
    struct communicator *c = comm_of(comm), *made = NULL;
    struct group *g = chq_group_of(group);
    int error = g ? intra_check(c) : MPI_ERR_GROUP;
    if (!error)
        error = comm_create(c, g, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_create", error, NULL);
    MARK_RETURN(CALL_COMM_CREATE);
    return error;
}
MPI_ALIAS(Comm_create);

/* Collective over the group only. The members agree over a communicator that lives for this call
 * and whose context is `comm`'s for creation: calls over groups that share a process must not run
 * at the same time anyway, except from different threads, where `tag` tells them apart. */
static int comm_create_group(struct communicator *comm, struct group *group, struct communicator **made)
{
    struct communicator creation;
    memset(&creation, 0, sizeof creation);
    creation.valid = COMM_VALID;
    creation.references = 1;
    creation.size = group->size;
    creation.rank = group->rank;
    creation.world = group->world;
    /* The collectives add CONTEXT_COLLECTIVE. */
    creation.context = (uint16_t)(comm->context + CONTEXT_CREATION - CONTEXT_COLLECTIVE);
    creation.head = comm->head + ((uint64_t)(CONTEXT_CREATION - CONTEXT_COLLECTIVE) << 16);
    creation.group = creation.remote = group;
    uint16_t context;
    int error = chq_context_agree(&creation, &context);
    if (error)
        return error;
    group->references++;
    *made = chq_comm_new(comm, group, context);
    return MPI_SUCCESS;
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    (void)tag;
    MARK_CALL(CALL_COMM_CREATE);
    struct communicator *c = comm_of(comm), *made = NULL;
    struct group *g = chq_group_of(group);
    int error = g ? intra_check(c) : MPI_ERR_GROUP;
    if (!error && g->rank != MPI_UNDEFINED)
        error = comm_create_group(c, g, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_create_group", error, NULL);
    MARK_RETURN(CALL_COMM_CREATE);
    return error;
}
MPI_ALIAS(Comm_create_group);

/* What a process says about itself in a split. */
struct entry {
    int32_t color, key;
};

/* Ranks with this process's color, in the order of key and then rank. Insertion into a list that
 * is usually sorted already. */
static int sort_members(const struct entry *entries, int size, int color, int *ranks)
{
    int count = 0;
    for (int rank = 0; rank < size; rank++) {
        if (entries[rank].color != color)
            continue;
        int at = count++;
        for (; at > 0 && entries[ranks[at - 1]].key > entries[rank].key; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
    return count;
}

int chq_comm_split(struct communicator *comm, int color, int key, struct communicator **made)
{
    struct entry own = {color, key};
    struct entry *entries = chq_malloc((size_t)comm->size * (sizeof own + sizeof(int)));
    int *ranks = (int *)(entries + comm->size);
    uint16_t context;
    *made = NULL;
    int error = chq_coll_allgather_bytes(comm, &own, entries, sizeof own);
    if (!error)
        error = chq_context_agree(comm, &context);
    if (!error && color != MPI_UNDEFINED) {
        int count = sort_members(entries, comm->size, color, ranks);
        struct group *group = chq_group_new(count);
        for (int i = 0; i < count; i++)
            group->world[i] = (uint16_t)comm_world_rank(comm, ranks[i]);
        chq_group_seal(group);
        *made = chq_comm_new(comm, group, context);
    }
    free(entries);
    return error;
}

static int split_call(const char *call, MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct communicator *c = comm_of(comm), *made = NULL;
    int error = intra_check(c);
    if (!error && color < 0 && color != MPI_UNDEFINED)
        error = chq_reason(MPI_ERR_ARG, "negative color");
    if (!error)
        error = chq_comm_split(c, color, key, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    return error ? chq_fail(c, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    MARK_CALL(CALL_COMM_SPLIT);
    int error = split_call("MPI_Comm_split", comm, color, key, newcomm);
    MARK_RETURN(CALL_COMM_SPLIT);
    return error;
}
MPI_ALIAS(Comm_split);

/* Processes share no memory: each is alone on its node, as far as this library can tell. */
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    (void)info;
    MARK_CALL(CALL_COMM_SPLIT);
    struct communicator *c = comm_of(comm);
    int color = split_type == MPI_COMM_TYPE_SHARED ? (int)chq.rank : MPI_UNDEFINED;
    int error = intra_check(c);
    if (!error && split_type != MPI_UNDEFINED && (split_type < MPI_COMM_TYPE_SHARED || split_type > MPI_COMM_TYPE_RESOURCE_GUIDED))
        error = chq_reason(MPI_ERR_ARG, "not a split type");
    if (error)
        error = chq_fail(c, "MPI_Comm_split_type", error, NULL);
    else
        error = split_call("MPI_Comm_split_type", comm, color, key, newcomm);
    MARK_RETURN(CALL_COMM_SPLIT);
    return error;
}
MPI_ALIAS(Comm_split_type);
