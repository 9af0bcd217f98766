/* New communicators (MPI 5.0, section 7.4.2). */
#include "mpi/coll/bridge.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/attribute.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/info.h"
#include "mpi/comm/raise.h"
#include "mpi/comm/topology.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/thread.h"

static struct group *retained(struct group *group)
{
    group->references++;
    return group;
}

/* A duplicate with that context id. */
static int comm_copy(struct communicator *comm, uint16_t context, struct communicator **made)
{
    if (comm->inter)
        *made = chq_comm_new_inter(comm, retained(comm->group), retained(comm->remote), context);
    else
        *made = chq_comm_new(comm, retained(comm->group), context);
    (*made)->topology = chq_topology_retain(comm->topology);
    int error = chq_attributes_copy(comm->attributes, comm_handle(comm), &(*made)->attributes);
    if (error) {
        chq_comm_free(*made);
        *made = NULL;
    }
    return error;
}

static int comm_dup(struct communicator *comm, struct communicator **made)
{
    struct bridge bridge;
    uint16_t context;
    int error = chq_context_agree(comm, chq_bridge_of(comm, &bridge), &context);
    return error ? error : comm_copy(comm, context, made);
}

int PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_DUP);
    struct communicator *c = comm_of(comm), *made = NULL;
    int error = chq_comm_check(c);
    if (!error)
        error = comm_dup(c, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_dup", error, NULL);
    CALL_LEAVE(CALL_COMM_DUP);
    return error;
}
MPI_ALIAS(Comm_dup);

int PMPI_Comm_dup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_DUP);
    struct communicator *c = comm_of(comm), *made = NULL;
    struct info *hints = NULL;
    int error = chq_comm_check(c);
    if (!error)
        error = chq_info_copy(info, &hints);
    if (!error)
        error = comm_dup(c, &made);
    if (made)
        made->info = hints;
    else
        chq_info_free(hints);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_dup_with_info", error, NULL);
    CALL_LEAVE(CALL_COMM_DUP);
    return error;
}
MPI_ALIAS(Comm_dup_with_info);

/* Nonblocking: all but the context id is copied at the call, so that what the program changes later
 * is not (MPI 5.0, section 7.4.2). The handle is given at the call, too: Fortran's wrapper has no
 * place for it that lasts. */
struct duplicate {
    struct communicator *made;
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
    struct bridge bridge;
    uint16_t context;
    int error = chq_context_agree(comm, chq_bridge_of(comm, &bridge), &context);
    if (error) {
        discard(duplicate->made);
        return error;
    }
    chq_comm_set_context(duplicate->made, context);
    return MPI_SUCCESS;
}

static int comm_idup(const char *call, struct communicator *comm, const MPI_Info *info, MPI_Comm *newcomm,
                     MPI_Request *request)
{
    struct duplicate duplicate = {NULL};
    struct coll_start start = {
        .name = call, .body = agree_for_duplicate, .arguments = &duplicate, .bytes = sizeof duplicate};
    struct info *hints = NULL;
    int error = chq_comm_check(comm);
    *newcomm = MPI_COMM_NULL;
    if (!error && info)
        error = chq_info_copy(*info, &hints);
    if (!error) {
        error = comm_copy(comm, chq_world.context, &duplicate.made);
        chq_context_take(chq_world.context);
    }
    if (!error)
        duplicate.made->info = hints;
    else
        chq_info_free(hints);
    error = chq_coll_request(&start, FORM_NONBLOCKING, error, comm, request);
    if (!error)
        *newcomm = (MPI_Comm)duplicate.made;
    return error;
}

int PMPI_Comm_idup(MPI_Comm comm, MPI_Comm *newcomm, MPI_Request *request)
{
    CALL_ENTER(CALL_COMM_IDUP);
    int error = comm_idup("MPI_Comm_idup", comm_of(comm), NULL, newcomm, request);
    CALL_LEAVE(CALL_COMM_IDUP);
    return error;
}
MPI_ALIAS(Comm_idup);

int PMPI_Comm_idup_with_info(MPI_Comm comm, MPI_Info info, MPI_Comm *newcomm, MPI_Request *request)
{
    CALL_ENTER(CALL_COMM_IDUP);
    int error = comm_idup("MPI_Comm_idup_with_info", comm_of(comm), &info, newcomm, request);
    CALL_LEAVE(CALL_COMM_IDUP);
    return error;
}
MPI_ALIAS(Comm_idup_with_info);

static int check_part(struct communicator *comm, const struct group *group)
{
    for (int i = 0; i < group->size; i++)
        if (chq_group_rank_of_world(comm->group, group_world_rank(group, i)) == MPI_UNDEFINED)
            return chq_reason(MPI_ERR_GROUP, "the group is not part of the communicator's");
    return MPI_SUCCESS;
}

/* A communicator over a group that is part of `comm`'s, between two when there is a bridge;
 * collective over `comm`. Null for processes outside, and when one side is empty. */
static int comm_create(struct communicator *comm, struct group *group, struct communicator **made)
{
    struct bridge across;
    const struct bridge *bridge = chq_bridge_of(comm, &across);
    struct group *remote = NULL;
    uint16_t context;
    int error = check_part(comm, group);
    if (!error && bridge)
        error = chq_bridge_groups(bridge, group, &remote);
    if (!error)
        error = chq_context_agree(comm, bridge, &context);
    bool alone = remote && remote->size == 0;
    if (!error && group->rank != MPI_UNDEFINED && !alone) {
        *made = remote ? chq_comm_new_inter(comm, retained(group), retained(remote), context)
                       : chq_comm_new(comm, retained(group), context);
    }
    if (remote)
        chq_group_release(remote);
    return error;
}

int PMPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_CREATE);
    struct communicator *c = comm_of(comm), *made = NULL;
    struct group *g = chq_group_of(group);
    int error = g ? chq_comm_check(c) : MPI_ERR_GROUP;
    if (!error)
        error = comm_create(c, g, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_create", error, NULL);
    CALL_LEAVE(CALL_COMM_CREATE);
    return error;
}
MPI_ALIAS(Comm_create);

int chq_comm_first(struct communicator *comm, int size, struct communicator **made)
{
    uint16_t context;
    *made = NULL;
    int error = chq_context_agree(comm, NULL, &context);
    if (error || comm->rank >= size)
        return error;
    struct group *group = comm->group;
    if (size == group->size) {
        retained(group);
    } else {
        group = chq_group_new(size);
        for (int i = 0; i < size; i++)
            group->world[i] = (uint16_t)comm_world_rank(comm, i);
        chq_group_seal(group);
    }
    *made = chq_comm_new(comm, group, context);
    return MPI_SUCCESS;
}

/* Collective over the group only. The members agree over a communicator that lives for this call
 * and whose context is `comm`'s for creation: calls over groups that share a process must not run
 * at the same time anyway, except from different threads, where `tag` tells them apart. */
static int comm_create_group(struct communicator *comm, struct group *group, int tag, struct communicator **made)
{
    struct communicator creation;
    memset(&creation, 0, sizeof creation);
    creation.valid = COMM_VALID;
    creation.references = 1;
    creation.size = creation.local_size = group->size;
    creation.rank = group->rank;
    creation.world = group->world;
    /* The collectives add CONTEXT_COLLECTIVE. */
    creation.context = (uint16_t)(comm->context + CONTEXT_CREATION - CONTEXT_COLLECTIVE);
    creation.head = comm->head + ((uint64_t)(CONTEXT_CREATION - CONTEXT_COLLECTIVE) << 16);
    creation.group = creation.remote = group;
    /* An agreement is collectives of one kind, so this gives each tag messages of its own. */
    creation.collective_tag = (uint32_t)tag;
    uint16_t context;
    int error = chq_context_agree(&creation, NULL, &context);
    if (error)
        return error;
    *made = chq_comm_new(comm, retained(group), context);
    return MPI_SUCCESS;
}

int PMPI_Comm_create_group(MPI_Comm comm, MPI_Group group, int tag, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_CREATE_GROUP);
    struct communicator *c = comm_of(comm), *made = NULL;
    struct group *g = chq_group_of(group);
    int error = g ? chq_comm_check_intra(c) : MPI_ERR_GROUP;
    if (!error && tag < 0)
        error = chq_reason(MPI_ERR_TAG, "negative tag");
    if (!error)
        error = check_part(c, g);
    if (!error && g->rank != MPI_UNDEFINED)
        error = comm_create_group(c, g, tag, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_create_group", error, NULL);
    CALL_LEAVE(CALL_COMM_CREATE_GROUP);
    return error;
}
MPI_ALIAS(Comm_create_group);

/* What a process says about itself in a split. */
struct entry {
    int32_t color, key;
};

/* The members of `all` with that color, in the order of key and then rank. Insertion into a list
 * that is usually sorted already. */
static struct group *members(const struct group *all, const struct entry *entries, int color)
{
    struct scratch scratch;
    int *ranks = chq_scratch(&scratch, (size_t)all->size * sizeof *ranks), count = 0;
    for (int rank = 0; rank < all->size; rank++) {
        if (entries[rank].color != color)
            continue;
        int at = count++;
        for (; at > 0 && entries[ranks[at - 1]].key > entries[rank].key; at--)
            ranks[at] = ranks[at - 1];
        ranks[at] = rank;
    }
    struct group *group = chq_group_new(count);
    for (int i = 0; i < count; i++)
        group->world[i] = (uint16_t)group_world_rank(all, ranks[i]);
    chq_group_seal(group);
    scratch_free(&scratch);
    return group;
}

/* From the entries of all: the new communicator of one color. Null when the other side of
 * an intercommunicator has no process of it. */
static struct communicator *split_new(struct communicator *comm, const struct entry *entries, int color,
                                      uint16_t context)
{
    struct group *group = members(comm->group, entries, color);
    if (!comm->inter)
        return chq_comm_new(comm, group, context);
    struct group *remote = members(comm->remote, entries + comm->local_size, color);
    if (remote->size > 0)
        return chq_comm_new_inter(comm, group, remote, context);
    chq_group_release(remote);
    chq_group_release(group);
    return NULL;
}

int chq_comm_split(struct communicator *comm, int color, int key, struct communicator **made)
{
    struct bridge across;
    const struct bridge *bridge = chq_bridge_of(comm, &across);
    struct communicator *home = bridge_home(bridge, comm);
    struct entry own = {color, key};
    size_t near = (size_t)home->size * sizeof own, far = bridge ? (size_t)comm->size * sizeof own : 0;
    struct entry *entries = chq_malloc(near + far);
    uint16_t context;
    *made = NULL;
    int error = chq_coll_allgather_bytes(home, &own, entries, sizeof own);
    if (!error && bridge)
        error = chq_bridge_exchange(bridge, entries, near, entries + home->size, far);
    if (!error)
        error = chq_context_agree(comm, bridge, &context);
    if (!error && color != MPI_UNDEFINED)
        *made = split_new(comm, entries, color, context);
    free(entries);
    return error;
}

static int split_call(const char *call, MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    struct communicator *c = comm_of(comm), *made = NULL;
    int error = chq_comm_check(c);
    if (!error && color < 0 && color != MPI_UNDEFINED)
        error = chq_reason(MPI_ERR_ARG, "negative color");
    if (!error)
        error = chq_comm_split(c, color, key, &made);
    *newcomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    return error ? chq_fail(c, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_SPLIT);
    int error = split_call("MPI_Comm_split", comm, color, key, newcomm);
    CALL_LEAVE(CALL_COMM_SPLIT);
    return error;
}
MPI_ALIAS(Comm_split);

/* Processes of a node can share memory, and no resource below their node, as far as this library can tell. Only the guided
 * types can name a resource that does not exist. */
int PMPI_Comm_split_type(MPI_Comm comm, int split_type, int key, MPI_Info info, MPI_Comm *newcomm)
{
    CALL_ENTER(CALL_COMM_SPLIT);
    struct communicator *c = comm_of(comm);
    struct info *hints = NULL;
    int node = (int)chq_platform_placement(chq.ni)->node;
    int error = chq_comm_check_intra(c);
    if (!error && split_type != MPI_UNDEFINED &&
        (split_type < MPI_COMM_TYPE_SHARED || split_type > MPI_COMM_TYPE_RESOURCE_GUIDED))
        error = chq_reason(MPI_ERR_ARG, "not a split type");
    if (!error)
        error = chq_info_copy(info, &hints);
    chq_info_free(hints);
    *newcomm = MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Comm_split_type", error, NULL);
    else
        error = split_call("MPI_Comm_split_type", comm, split_type == MPI_COMM_TYPE_SHARED ? node : MPI_UNDEFINED, key,
                           newcomm);
    CALL_LEAVE(CALL_COMM_SPLIT);
    return error;
}
MPI_ALIAS(Comm_split_type);
