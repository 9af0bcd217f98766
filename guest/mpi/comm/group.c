/* Groups: making, freeing, asking (MPI 5.0, section 7.3). Set operations: group_set.c. */
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/thread.h"

static struct group empty = {GROUP_VALID, 1, 0, MPI_UNDEFINED, NULL, NULL};

struct group *chq_group_of(MPI_Group handle)
{
    if (handle == MPI_GROUP_EMPTY)
        return &empty;
    struct group *group = (struct group *)handle;
    if ((uintptr_t)handle < 0x1000 || group->valid != GROUP_VALID) {
        chq_reason(MPI_ERR_GROUP, "not a group");
        return NULL;
    }
    return group;
}

MPI_Group chq_group_handle(struct group *group) { return group == &empty ? MPI_GROUP_EMPTY : (MPI_Group)group; }

struct group *chq_group_new(int size)
{
    if (size == 0) {
        empty.references++;
        return &empty;
    }
    struct group *group = chq_malloc(sizeof *group);
    *group = (struct group){GROUP_VALID, 1, size, MPI_UNDEFINED, NULL, NULL};
    group->world = chq_malloc((size_t)size * sizeof *group->world);
    return group;
}

void chq_group_seal(struct group *group)
{
    for (int i = 0; i < group->size; i++)
        if (group->world[i] == chq.rank)
            group->rank = i;
}

void chq_group_release(struct group *group)
{
    if (group == &empty || --group->references > 0)
        return;
    group->valid = 0;
    free(group->world);
    free(group->member);
    free(group);
}

static void make_members(struct group *group)
{
    group->member = chq_malloc(chq.size * sizeof *group->member);
    memset(group->member, 0xff, chq.size * sizeof *group->member);
    for (int i = 0; i < group->size; i++)
        group->member[group->world[i]] = (uint16_t)i;
}

int chq_group_rank_of_world(struct group *group, uint32_t world)
{
    if (!group->world)
        return world < (uint32_t)group->size ? (int)world : MPI_UNDEFINED;
    if (!group->member)
        make_members(group);
    return group->member[world] == GROUP_NOT_MEMBER ? MPI_UNDEFINED : group->member[world];
}

int PMPI_Group_size(MPI_Group group, int *size)
{
    struct group *g = chq_group_of(group);
    if (!g)
        return chq_fail(NULL, "MPI_Group_size", MPI_ERR_GROUP, NULL);
    *size = g->size;
    return MPI_SUCCESS;
}
MPI_ALIAS(Group_size);

int PMPI_Group_rank(MPI_Group group, int *rank)
{
    struct group *g = chq_group_of(group);
    if (!g)
        return chq_fail(NULL, "MPI_Group_rank", MPI_ERR_GROUP, NULL);
    *rank = g->rank;
    return MPI_SUCCESS;
}
MPI_ALIAS(Group_rank);

int PMPI_Group_translate_ranks(MPI_Group group1, int n, const int ranks1[], MPI_Group group2, int ranks2[])
{
    LOCAL_CALL();
    struct group *from = chq_group_of(group1), *to = chq_group_of(group2);
    if (!from || !to)
        return chq_fail(NULL, "MPI_Group_translate_ranks", MPI_ERR_GROUP, NULL);
    if (n < 0)
        return chq_fail(NULL, "MPI_Group_translate_ranks", MPI_ERR_ARG, "negative number of ranks");
    for (int i = 0; i < n; i++) {
        if (ranks1[i] == MPI_PROC_NULL) {
            ranks2[i] = MPI_PROC_NULL;
            continue;
        }
        if (ranks1[i] < 0 || ranks1[i] >= from->size)
            return chq_fail(NULL, "MPI_Group_translate_ranks", MPI_ERR_RANK, "not a rank of the group");
        ranks2[i] = chq_group_rank_of_world(to, group_world_rank(from, ranks1[i]));
    }
    return MPI_SUCCESS;
}
MPI_ALIAS(Group_translate_ranks);

int chq_group_compare(struct group *a, struct group *b)
{
    int result = MPI_IDENT;
    if (a->size != b->size)
        return MPI_UNEQUAL;
    for (int i = 0; i < a->size; i++) {
        int there = chq_group_rank_of_world(b, group_world_rank(a, i));
        if (there == MPI_UNDEFINED)
            return MPI_UNEQUAL;
        if (there != i)
            result = MPI_SIMILAR;
    }
    return result;
}

int PMPI_Group_compare(MPI_Group group1, MPI_Group group2, int *result)
{
    LOCAL_CALL();
    struct group *a = chq_group_of(group1), *b = chq_group_of(group2);
    if (!a || !b)
        return chq_fail(NULL, "MPI_Group_compare", MPI_ERR_GROUP, NULL);
    *result = chq_group_compare(a, b);
    return MPI_SUCCESS;
}
MPI_ALIAS(Group_compare);

int PMPI_Group_free(MPI_Group *group)
{
    LOCAL_CALL();
    struct group *g = chq_group_of(*group);
    if (!g)
        return chq_fail(NULL, "MPI_Group_free", MPI_ERR_GROUP, NULL);
    chq_group_release(g);
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Group_free);

int PMPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_group", error, NULL);
    c->group->references++;
    *group = chq_group_handle(c->group);
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_group);

int PMPI_Comm_remote_group(MPI_Comm comm, MPI_Group *group)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check_inter(c);
    if (error)
        return chq_fail(c, "MPI_Comm_remote_group", error, NULL);
    c->remote->references++;
    *group = chq_group_handle(c->remote);
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_remote_group);
