/* Groups, communicators, attributes, names, info, Cartesian topologies. */
#include "check.h"

static void groups(void)
{
    MPI_Group world, even, odd, some, result;
    int size, rank, n = (check_size + 1) / 2, ranks[64], there[64], compare, ranges[1][3] = {{0, check_size - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(world, &size);
    CHECK_EQUAL(size, check_size);
    MPI_Group_rank(world, &rank);
    CHECK_EQUAL(rank, check_rank);
    for (int i = 0; i < n; i++)
        ranks[i] = 2 * i;
    MPI_Group_incl(world, n, ranks, &even);
    MPI_Group_range_incl(world, 1, ranges, &some);
    MPI_Group_compare(even, some, &compare);
    CHECK_EQUAL(compare, MPI_IDENT);
    MPI_Group_free(&some);
    MPI_Group_excl(world, n, ranks, &odd);
    MPI_Group_range_excl(world, 1, ranges, &some);
    MPI_Group_compare(odd, some, &compare);
    CHECK_EQUAL(compare, MPI_IDENT);
    MPI_Group_free(&some);
    MPI_Group_rank(even, &rank);
    CHECK_EQUAL(rank, check_rank % 2 ? MPI_UNDEFINED : check_rank / 2);
    MPI_Group_union(odd, even, &result);
    MPI_Group_compare(result, world, &compare);
    CHECK_EQUAL(compare, check_size == 1 ? MPI_IDENT : MPI_SIMILAR);
    MPI_Group_free(&result);
    MPI_Group_intersection(odd, even, &result);
    CHECK(result == MPI_GROUP_EMPTY);
    MPI_Group_free(&result);
    MPI_Group_difference(world, even, &result);
    MPI_Group_compare(result, odd, &compare);
    CHECK_EQUAL(compare, MPI_IDENT);
    MPI_Group_free(&result);
    for (int i = 0; i < n; i++)
        ranks[i] = i;
    ranks[n] = MPI_PROC_NULL;
    MPI_Group_translate_ranks(even, n + 1, ranks, world, there);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(there[i], 2 * i);
    CHECK_EQUAL(there[n], MPI_PROC_NULL);
    MPI_Group_translate_ranks(even, n, ranks, odd, there);
    for (int i = 0; i < n; i++)
        CHECK_EQUAL(there[i], MPI_UNDEFINED);
    /* Reversed: similar, and communicators over it. */
    int back[1][3] = {{check_size - 1, 0, -1}};
    MPI_Comm reversed;
    MPI_Group_range_incl(world, 1, back, &result);
    MPI_Comm_create(MPI_COMM_WORLD, result, &reversed);
    MPI_Comm_rank(reversed, &rank);
    CHECK_EQUAL(rank, check_size - 1 - check_rank);
    int value = rank, sum = 0, next = (rank + 1) % check_size;
    MPI_Status status;
    MPI_Sendrecv(&value, 1, MPI_INT, next, 1, &sum, 1, MPI_INT, MPI_ANY_SOURCE, 1, reversed, &status);
    CHECK_EQUAL(status.MPI_SOURCE, (rank + check_size - 1) % check_size);
    CHECK_EQUAL(sum, status.MPI_SOURCE);
    MPI_Comm_compare(MPI_COMM_WORLD, reversed, &compare);
    CHECK_EQUAL(compare, check_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&reversed);
    MPI_Comm_create(MPI_COMM_WORLD, even, &reversed);
    CHECK((reversed == MPI_COMM_NULL) == (check_rank % 2));
    if (reversed != MPI_COMM_NULL) {
        MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, reversed);
        CHECK_EQUAL(sum, n * (n - 1));
        MPI_Comm_free(&reversed);
    }
    if (check_rank % 2 == 0) {
        MPI_Comm_create_group(MPI_COMM_WORLD, even, 3, &reversed);
        MPI_Comm_size(reversed, &size);
        CHECK_EQUAL(size, n);
        MPI_Barrier(reversed);
        MPI_Comm_free(&reversed);
    }
    MPI_Group_free(&world);
    MPI_Group_free(&even);
    MPI_Group_free(&odd);
}

/* Processes whose nodes have the name of this one's. */
static int count_on_node(void)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", *all = malloc((size_t)check_size * sizeof own);
    int length, count = 0;
    MPI_Get_processor_name(own, &length);
    MPI_Allgather(own, sizeof own, MPI_CHAR, all, sizeof own, MPI_CHAR, MPI_COMM_WORLD);
    for (int i = 0; i < check_size; i++)
        count += !strcmp(own, all + (size_t)i * sizeof own);
    free(all);
    return count;
}

static void splits(void)
{
    MPI_Comm comm, inner, copies[20];
    int rank, size, result;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 3, -check_rank, &comm);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int members = (check_size - check_rank % 3 + 2) / 3;
    CHECK_EQUAL(size, members);
    CHECK_EQUAL(rank, members - 1 - check_rank / 3);
    MPI_Comm_split(comm, rank ? 1 : MPI_UNDEFINED, 0, &inner);
    CHECK((inner == MPI_COMM_NULL) == (rank == 0));
    if (inner != MPI_COMM_NULL) {
        int sum = 0, one = 1;
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inner);
        CHECK_EQUAL(sum, size - 1);
        MPI_Comm_free(&inner);
    }
    /* Messages of one communicator never match another's. */
    for (int i = 0; i < 20; i++)
        MPI_Comm_dup(comm, &copies[i]);
    int right = (rank + 1) % size, left = (rank + size - 1) % size, got[20];
    MPI_Request requests[40];
    for (int i = 0; i < 20; i++) {
        got[i] = -1;
        MPI_Irecv(&got[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : left, MPI_ANY_TAG, copies[i], &requests[i]);
    }
    int values[20];
    for (int i = 19; i >= 0; i--) {
        values[i] = i;
        MPI_Isend(&values[i], 1, MPI_INT, right, 4, copies[i], &requests[20 + i]);
    }
    MPI_Waitall(40, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 20; i++)
        CHECK_EQUAL(got[i], i);
    MPI_Comm_compare(comm, copies[0], &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_compare(comm, comm, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    for (int i = 0; i < 20; i++)
        MPI_Comm_free(&copies[i]);
    MPI_Comm_free(&comm);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &comm);
    MPI_Comm_size(comm, &size);
    CHECK_EQUAL(size, count_on_node());
    MPI_Comm_free(&comm);
    /* Ids are reused: many more than there are at once. */
    for (int i = 0; i < 300; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_free(&comm);
    }
    /* Histories that differ between the processes: they still agree. */
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, 0, &comm);
    MPI_Comm kept[5];
    for (int i = 0; i < 5; i++)
        kept[i] = MPI_COMM_NULL;
    for (int i = 0; i < (check_rank % 2 ? 5 : 2); i++)
        MPI_Comm_dup(comm, &kept[i]);
    MPI_Comm_dup(MPI_COMM_WORLD, &inner);
    MPI_Barrier(inner);
    MPI_Comm_free(&inner);
    for (int i = 0; i < 5; i++)
        if (kept[i] != MPI_COMM_NULL)
            MPI_Comm_free(&kept[i]);
    MPI_Comm_free(&comm);
}

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

/* How alike two communicators are, in every degree. */
static void compared(void)
{
    MPI_Comm copy, mirrored, part;
    int result;
    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_WORLD, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Comm_compare(MPI_COMM_WORLD, copy, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_split(copy, 0, -check_rank, &mirrored);
    MPI_Comm_compare(copy, mirrored, &result);
    CHECK_EQUAL(result, check_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_split(copy, check_rank == 0, 0, &part);
    MPI_Comm_compare(copy, part, &result);
    CHECK_EQUAL(result, check_size == 1 ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_compare(MPI_COMM_SELF, part, &result);
    int alone = check_rank == 0 || check_size == 2;
    CHECK_EQUAL(result, alone ? MPI_CONGRUENT : MPI_UNEQUAL);
    MPI_Comm_free(&part);
    MPI_Comm_free(&mirrored);
    MPI_Comm_free(&copy);
}

/* Duplications begun in different orders: they agree all the same. */
static void crossed(void)
{
    enum { PAIRS = 4 };
    MPI_Comm base[2], made[2 * PAIRS];
    MPI_Request requests[2 * PAIRS];
    int sum, one = 1;
    for (int i = 0; i < 2; i++)
        MPI_Comm_dup(MPI_COMM_WORLD, &base[i]);
    for (int i = 0; i < 2 * PAIRS; i++) {
        int which = check_rank % 2 ? i ^ 1 : i;
        MPI_Comm_idup(base[which % 2], &made[which], &requests[which]);
    }
    MPI_Waitall(2 * PAIRS, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < 2 * PAIRS; i++) {
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[i]);
        CHECK_EQUAL(sum, check_size);
        MPI_Comm_free(&made[i]);
    }
    for (int i = 0; i < 2; i++)
        MPI_Comm_free(&base[i]);
}

static void errors(void)
{
    MPI_Comm comm = MPI_COMM_WORLD, made;
    MPI_Group world, group;
    MPI_Info bad = (MPI_Info)MPI_COMM_WORLD;
    int value, ranks[2] = {0, 0}, ranges[1][3] = {{0, check_size, 1}};
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    FAILS(MPI_Comm_dup(MPI_COMM_NULL, &made), MPI_ERR_COMM);
    CHECK(made == MPI_COMM_NULL);
    FAILS(MPI_Comm_dup_with_info(MPI_COMM_WORLD, bad, &made), MPI_ERR_INFO);
    FAILS(MPI_Comm_set_info(MPI_COMM_WORLD, bad), MPI_ERR_INFO);
    FAILS(MPI_Comm_split(MPI_COMM_WORLD, -1, 0, &made), MPI_ERR_ARG);
    FAILS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &made), MPI_ERR_ARG);
    FAILS(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &made), MPI_ERR_GROUP);
    FAILS(MPI_Comm_create_group(MPI_COMM_WORLD, world, -1, &made), MPI_ERR_TAG);
    FAILS(MPI_Comm_create_group(MPI_COMM_WORLD, MPI_GROUP_NULL, 0, &made), MPI_ERR_GROUP);
    if (check_size > 1)
        FAILS(MPI_Comm_create(MPI_COMM_SELF, world, &made), MPI_ERR_GROUP);
    FAILS(MPI_Comm_compare(MPI_COMM_WORLD, MPI_COMM_NULL, &value), MPI_ERR_COMM);
    FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
    FAILS(MPI_Group_range_incl(world, 1, ranges, &group), MPI_ERR_RANK);
    ranges[0][1] = 0;
    ranges[0][2] = 0;
    FAILS(MPI_Group_range_incl(world, 1, ranges, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_range_excl(world, -1, ranges, &group), MPI_ERR_ARG);
    FAILS(MPI_Group_excl(world, 2, ranks, &group), MPI_ERR_RANK);
    FAILS(MPI_Group_translate_ranks(world, -1, ranks, world, ranks), MPI_ERR_ARG);
    FAILS(MPI_Group_translate_ranks(world, 1, &check_size, world, ranks), MPI_ERR_RANK);
    FAILS(MPI_Group_union(world, MPI_GROUP_NULL, &group), MPI_ERR_GROUP);
    FAILS(MPI_Group_compare(MPI_GROUP_NULL, world, &value), MPI_ERR_GROUP);
    MPI_Group_compare(MPI_GROUP_EMPTY, MPI_GROUP_EMPTY, &value);
    CHECK_EQUAL(value, MPI_IDENT);
    MPI_Group_incl(world, 0, NULL, &group);
    CHECK(group == MPI_GROUP_EMPTY);
    /* A range that ends between two of its steps, and one that names nobody. */
    int odd_end[2][3] = {{0, check_size - 1, check_size + 1}, {check_size - 1, 0, check_size}};
    MPI_Group_range_incl(world, check_size > 1 ? 1 : 0, odd_end, &group);
    MPI_Group_size(group, &value);
    CHECK_EQUAL(value, check_size > 1);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    /* Nobody at all. */
    MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_EMPTY, &made);
    CHECK(made == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, 0, MPI_INFO_NULL, &made);
    CHECK(made == MPI_COMM_NULL);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_UNDEFINED, 0, MPI_INFO_NULL, &made);
    CHECK(made == MPI_COMM_NULL);
}

static int copies, deletions;
static int copy(MPI_Comm comm, int keyval, void *extra, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(extra == &copies);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return MPI_SUCCESS;
}
static int deletion(MPI_Comm comm, int keyval, void *value, void *extra)
{
    (void)comm, (void)keyval, (void)value, (void)extra;
    deletions++;
    return MPI_SUCCESS;
}

static void attributes(void)
{
    int *value, flag, keys[3];
    void *pointer;
    static char base[4];
    MPI_Comm comm;
    MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, &value, &flag);
    CHECK(flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_IO, &value, &flag);
    CHECK(flag);
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_HOST, &value, &flag);
    CHECK(flag && *value == MPI_PROC_NULL);
    MPI_Comm_create_keyval(copy, deletion, &keys[0], &copies);
    MPI_Keyval_create(MPI_NULL_COPY_FN, deletion, &keys[1], NULL);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[2], NULL);
    for (int i = 0; i < 3; i++)
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], base + i);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    CHECK_EQUAL(copies, 1);
    MPI_Comm_get_attr(comm, keys[0], &pointer, &flag);
    CHECK(flag && pointer == base + 1);
    MPI_Attr_get(comm, keys[1], &pointer, &flag);
    CHECK(!flag);
    MPI_Comm_get_attr(comm, keys[2], &pointer, &flag);
    CHECK(flag && pointer == base + 2);
    MPI_Comm_free(&comm);
    CHECK_EQUAL(deletions, 1);
    MPI_Comm_set_attr(MPI_COMM_WORLD, keys[1], base);
    CHECK_EQUAL(deletions, 2);
    for (int i = 0; i < 3; i++) {
        MPI_Attr_delete(MPI_COMM_WORLD, keys[i]);
        MPI_Comm_free_keyval(&keys[i]);
        CHECK_EQUAL(keys[i], MPI_KEYVAL_INVALID);
    }
    CHECK_EQUAL(deletions, 4);
}

static void names(void)
{
    char name[MPI_MAX_OBJECT_NAME], host[MPI_MAX_PROCESSOR_NAME], version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, flag, major, minor;
    MPI_Comm comm;
    MPI_Info info, used;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    CHECK(strcmp(name, "MPI_COMM_WORLD") == 0);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_get_name(comm, name, &length);
    CHECK_EQUAL(length, 0);
    MPI_Comm_set_name(comm, "mine");
    MPI_Comm_get_name(comm, name, &length);
    CHECK(length == 4 && strcmp(name, "mine") == 0);
    MPI_Comm_test_inter(comm, &flag);
    CHECK(!flag);
    MPI_Get_processor_name(host, &length);
    CHECK_EQUAL(length, strlen(host));
    MPI_Get_library_version(version, &length);
    CHECK_EQUAL(length, strlen(version));
    MPI_Get_version(&major, &minor);
    CHECK_EQUAL(major, MPI_VERSION);
    MPI_Info_create(&info);
    MPI_Info_set(info, "a", "one");
    MPI_Info_set(info, "b", "two");
    MPI_Info_set(info, "a", "three");
    MPI_Info_get_nkeys(info, &length);
    CHECK_EQUAL(length, 2);
    MPI_Comm_set_info(comm, info);
    MPI_Info_free(&info);
    CHECK(info == MPI_INFO_NULL);
    MPI_Comm_get_info(comm, &used);
    MPI_Info_get(used, "a", 3, name, &flag);
    CHECK(flag && strcmp(name, "thr") == 0);
    MPI_Info_get_valuelen(used, "a", &length, &flag);
    CHECK(flag && length == 5);
    MPI_Info_get_nthkey(used, 1, name);
    CHECK(strcmp(name, "b") == 0);
    MPI_Info_delete(used, "a");
    MPI_Info_get(used, "a", 3, name, &flag);
    CHECK(!flag);
    MPI_Info_free(&used);
    MPI_Comm_free(&comm);
    char *memory;
    MPI_Alloc_mem(100, MPI_INFO_NULL, &memory);
    memory[99] = 1;
    MPI_Free_mem(memory);
}

static void cartesian(void)
{
    int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3], got[3], rank, n, status, source, dest;
    MPI_Comm cart, line, line2;
    MPI_Dims_create(check_size, 2, dims);
    CHECK_EQUAL(dims[0] * dims[1], check_size);
    CHECK(dims[0] >= dims[1]);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &cart);
    MPI_Topo_test(cart, &status);
    CHECK_EQUAL(status, MPI_CART);
    MPI_Topo_test(MPI_COMM_WORLD, &status);
    CHECK_EQUAL(status, MPI_UNDEFINED);
    MPI_Cartdim_get(cart, &n);
    CHECK_EQUAL(n, 2);
    MPI_Comm_rank(cart, &rank);
    MPI_Cart_coords(cart, rank, 2, coords);
    CHECK_EQUAL(coords[0] * dims[1] + coords[1], rank);
    MPI_Cart_rank(cart, coords, &n);
    CHECK_EQUAL(n, rank);
    int wrapped[2] = {coords[0] - dims[0], coords[1]};
    MPI_Cart_rank(cart, wrapped, &n);
    CHECK_EQUAL(n, rank);
    int d[2], p[2];
    MPI_Cart_get(cart, 2, d, p, got);
    CHECK(d[0] == dims[0] && d[1] == dims[1] && p[0] == 1 && p[1] == 0 && got[0] == coords[0] && got[1] == coords[1]);
    MPI_Cart_shift(cart, 0, 1, &source, &dest);
    CHECK_EQUAL(dest, (coords[0] + 1) % dims[0] * dims[1] + coords[1]);
    CHECK_EQUAL(source, (coords[0] + dims[0] - 1) % dims[0] * dims[1] + coords[1]);
    MPI_Cart_shift(cart, 1, 1, &source, &dest);
    CHECK_EQUAL(dest, coords[1] + 1 < dims[1] ? rank + 1 : MPI_PROC_NULL);
    CHECK_EQUAL(source, coords[1] > 0 ? rank - 1 : MPI_PROC_NULL);
    int remain[2] = {0, 1};
    MPI_Cart_sub(cart, remain, &line);
    MPI_Comm_size(line, &n);
    CHECK_EQUAL(n, dims[1]);
    MPI_Comm_rank(line, &n);
    CHECK_EQUAL(n, coords[1]);
    MPI_Comm_dup(line, &line2);
    MPI_Cart_get(line2, 1, d, p, got);
    CHECK(d[0] == dims[1] && p[0] == 0 && got[0] == coords[1]);
    MPI_Comm_free(&line);
    MPI_Comm_free(&line2);
    MPI_Comm_free(&cart);
    /* A grid with fewer places than processes. */
    int one[1] = {check_size > 1 ? check_size - 1 : 1};
    MPI_Cart_create(MPI_COMM_WORLD, 1, one, periods, 0, &cart);
    CHECK((cart == MPI_COMM_NULL) == (check_rank >= one[0]));
    if (cart != MPI_COMM_NULL)
        MPI_Comm_free(&cart);
    /* Of 7488 the largest factor could be 24 (24 x 24 x 13), of 5040 20 (20 x 18 x 14); these are closer
     * to each other, and as close with a larger smallest one. */
    static const int cases[][5] = {{12, 2, 4, 3, 0},      {7, 2, 7, 1, 0},       {16, 3, 4, 2, 2},
                                   {60, 3, 5, 4, 3},      {27, 3, 3, 3, 3},      {1, 2, 1, 1, 0},
                                   {7488, 3, 26, 18, 16}, {5040, 3, 21, 16, 15}, {2147483647, 2, 2147483647, 1, 0}};
    for (int i = 0; i < 9; i++) {
        int made[3] = {0, 0, 0};
        MPI_Dims_create(cases[i][0], cases[i][1], made);
        for (int j = 0; j < cases[i][1]; j++)
            CHECK_EQUAL(made[j], cases[i][2 + j]);
    }
    int fixed[3] = {0, 3, 0};
    MPI_Dims_create(24, 3, fixed);
    CHECK(fixed[0] == 4 && fixed[1] == 3 && fixed[2] == 2);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    groups();
    splits();
    attributes();
    names();
    cartesian();
    compared();
    crossed();
    errors();
    return check_end("comms");
}
