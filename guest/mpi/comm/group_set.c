/* Groups from groups (MPI 5.0, section 7.3.2). Every constructor first marks, in a list of world
 * ranks, which are in. */
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/thread.h"

static bool contains(struct group *group, uint32_t world)
{
    return chq_group_rank_of_world(group, world) != MPI_UNDEFINED;
}

/* A group of the `count` world ranks at `world`. */
static MPI_Group make(const uint16_t *world, int count)
{
    struct group *group = chq_group_new(count);
    if (count > 0) {
        memcpy(group->world, world, (size_t)count * sizeof *world);
        chq_group_seal(group);
    }
    return chq_group_handle(group);
}

/* Members of `a` that are (or are not) in `b`, at `world`; their number. */
static int choose(struct group *a, struct group *b, bool in, uint16_t *world)
{
    int count = 0;
    for (int i = 0; i < a->size; i++) {
        uint32_t member = group_world_rank(a, i);
        if (contains(b, member) == in)
            world[count++] = (uint16_t)member;
    }
    return count;
}

enum set_operation { UNION, INTERSECTION, DIFFERENCE };

static int combine(const char *call, enum set_operation operation, MPI_Group group1, MPI_Group group2,
                   MPI_Group *newgroup)
{
    struct group *a = chq_group_of(group1), *b = chq_group_of(group2);
    if (!a || !b)
        return chq_fail(NULL, call, MPI_ERR_GROUP, NULL);
    uint16_t *world = chq_malloc((size_t)(a->size + b->size) * sizeof *world);
    int count;
    if (operation == UNION) {
        /* All of the first group, then what the second adds. */
        for (count = 0; count < a->size; count++)
            world[count] = (uint16_t)group_world_rank(a, count);
        count += choose(b, a, false, world + count);
    } else {
        count = choose(a, b, operation == INTERSECTION, world);
    }
    *newgroup = make(world, count);
    free(world);
    return MPI_SUCCESS;
}

int PMPI_Group_union(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    LOCAL_CALL();
    return combine("MPI_Group_union", UNION, group1, group2, newgroup);
}
MPI_ALIAS(Group_union);

int PMPI_Group_intersection(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    LOCAL_CALL();
    return combine("MPI_Group_intersection", INTERSECTION, group1, group2, newgroup);
}
MPI_ALIAS(Group_intersection);

int PMPI_Group_difference(MPI_Group group1, MPI_Group group2, MPI_Group *newgroup)
{
    LOCAL_CALL();
    return combine("MPI_Group_difference", DIFFERENCE, group1, group2, newgroup);
}
MPI_ALIAS(Group_difference);

/* The members that `ranks` names, in that order, or all others in the group's order. Each rank may
 * be named once. */
static int select_ranks(const char *call, struct group *group, int n, const int *ranks, bool include,
                        MPI_Group *newgroup)
{
    if (n < 0)
        return chq_fail(NULL, call, MPI_ERR_ARG, "negative number of ranks");
    int error = MPI_SUCCESS, count = 0;
    size_t members = (size_t)group->size + 1;
    uint8_t *named = chq_malloc(members);
    uint16_t *world = chq_malloc(members * sizeof *world);
    memset(named, 0, members);
    for (int i = 0; i < n && !error; i++) {
        if (ranks[i] < 0 || ranks[i] >= group->size)
            error = chq_reason(MPI_ERR_RANK, "not a rank of the group");
        else if (named[ranks[i]]++)
            error = chq_reason(MPI_ERR_RANK, "a rank is named twice");
        else if (include)
            world[count++] = (uint16_t)group_world_rank(group, ranks[i]);
    }
    for (int i = 0; i < group->size && !include; i++)
        if (!named[i])
            world[count++] = (uint16_t)group_world_rank(group, i);
    if (!error)
        *newgroup = make(world, count);
    free(named);
    free(world);
    return error ? chq_fail(NULL, call, error, NULL) : MPI_SUCCESS;
}

int PMPI_Group_incl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    LOCAL_CALL();
    struct group *g = chq_group_of(group);
    if (!g)
        return chq_fail(NULL, "MPI_Group_incl", MPI_ERR_GROUP, NULL);
    return select_ranks("MPI_Group_incl", g, n, ranks, true, newgroup);
}
MPI_ALIAS(Group_incl);

int PMPI_Group_excl(MPI_Group group, int n, const int ranks[], MPI_Group *newgroup)
{
    LOCAL_CALL();
    struct group *g = chq_group_of(group);
    if (!g)
        return chq_fail(NULL, "MPI_Group_excl", MPI_ERR_GROUP, NULL);
    return select_ranks("MPI_Group_excl", g, n, ranks, false, newgroup);
}
MPI_ALIAS(Group_excl);

/* Ranges are triples: first, last, stride. Whether they are right, and how many ranks they name. */
static int check_ranges(const struct group *group, int n, int ranges[][3], int *count)
{
    if (n < 0)
        return chq_reason(MPI_ERR_ARG, "negative number of ranges");
    *count = 0;
    for (int i = 0; i < n; i++) {
        int first = ranges[i][0], last = ranges[i][1], stride = ranges[i][2];
        if (stride == 0)
            return chq_reason(MPI_ERR_ARG, "a range has stride 0");
        if (stride > 0 ? last < first : last > first)
            continue; /* It is empty. */
        long steps = ((long)last - first) / stride, reached = first + steps * stride;
        if (first < 0 || first >= group->size || reached < 0 || reached >= group->size)
            return chq_reason(MPI_ERR_RANK, "a range leaves the group");
        *count += (int)steps + 1;
    }
    return MPI_SUCCESS;
}

static int select_ranges(const char *call, MPI_Group handle, int n, int ranges[][3], bool include, MPI_Group *newgroup)
{
    struct group *group = chq_group_of(handle);
    int count = 0, error = group ? check_ranges(group, n, ranges, &count) : MPI_ERR_GROUP;
    if (error)
        return chq_fail(NULL, call, error, NULL);
    int *ranks = chq_malloc((size_t)count * sizeof *ranks);
    count = 0;
    for (int i = 0; i < n; i++)
        for (long rank = ranges[i][0]; ranges[i][2] > 0 ? rank <= ranges[i][1] : rank >= ranges[i][1];
             rank += ranges[i][2])
            ranks[count++] = (int)rank;
    error = select_ranks(call, group, count, ranks, include, newgroup);
    free(ranks);
    return error;
}

int PMPI_Group_range_incl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    LOCAL_CALL();
    return select_ranges("MPI_Group_range_incl", group, n, ranges, true, newgroup);
}
MPI_ALIAS(Group_range_incl);

int PMPI_Group_range_excl(MPI_Group group, int n, int ranges[][3], MPI_Group *newgroup)
{
    LOCAL_CALL();
    return select_ranges("MPI_Group_range_excl", group, n, ranges, false, newgroup);
}
MPI_ALIAS(Group_range_excl);
