/* Intercommunicators: made, asked, used point to point, duplicated, split, merged. Run with 2 ranks
 * or more; the even ranks are one side, the odd ones the other. */
#include <stdbool.h>

#include "check.h"

static int half_rank, half_size, other_size, odd;
static MPI_Comm half, inter;

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

/* World rank of a rank on the other side. */
static int world_of_other(int rank) { return 2 * rank + !odd; }

static void creation(void)
{
    odd = check_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    other_size = check_size - half_size;
    /* Leaders are the last of each half: the peer communicator is the world, read by leaders alone. */
    int leader = half_size - 1;
    MPI_Comm peer = half_rank == leader ? MPI_COMM_WORLD : MPI_COMM_NULL;
    CHECK_EQUAL(
        MPI_Intercomm_create(half, leader, peer, half_rank == leader ? world_of_other(other_size - 1) : -7, 5, &inter),
        MPI_SUCCESS);
}

static void asked(void)
{
    int flag, rank, size, result, world_ranks[64], ranks[64];
    MPI_Group group, remote, world;
    MPI_Comm_test_inter(inter, &flag);
    CHECK(flag);
    MPI_Comm_rank(inter, &rank);
    CHECK_EQUAL(rank, half_rank);
    MPI_Comm_size(inter, &size);
    CHECK_EQUAL(size, half_size);
    MPI_Comm_remote_size(inter, &size);
    CHECK_EQUAL(size, other_size);
    MPI_Comm_group(inter, &group);
    MPI_Comm_remote_group(inter, &remote);
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_size(remote, &size);
    CHECK_EQUAL(size, other_size);
    for (int i = 0; i < size; i++)
        ranks[i] = i;
    MPI_Group_translate_ranks(remote, size, ranks, world, world_ranks);
    for (int i = 0; i < size; i++)
        CHECK_EQUAL(world_ranks[i], world_of_other(i));
    MPI_Group_rank(remote, &rank);
    CHECK_EQUAL(rank, MPI_UNDEFINED);
    MPI_Group_rank(group, &rank);
    CHECK_EQUAL(rank, half_rank);
    MPI_Comm_compare(inter, inter, &result);
    CHECK_EQUAL(result, MPI_IDENT);
    MPI_Comm_compare(inter, half, &result);
    CHECK_EQUAL(result, MPI_UNEQUAL);
    MPI_Group_free(&group);
    MPI_Group_free(&remote);
    MPI_Group_free(&world);
}

/* Everybody on one side tells everybody on the other who it is, twice: received by name and from
 * anybody. */
static void talk(MPI_Comm comm, int tag)
{
    int rank, others, sent[2], got[2];
    MPI_Status status;
    MPI_Request requests[128];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_remote_size(comm, &others);
    sent[0] = check_rank;
    sent[1] = rank;
    for (int i = 0; i < 2 * others; i++)
        MPI_Isend(sent, 2, MPI_INT, i / 2, tag + 100 * (i % 2), comm, &requests[i]);
    for (int i = 0; i < 2 * others; i++) {
        bool named = i < others;
        MPI_Recv(got, 2, MPI_INT, named ? i : MPI_ANY_SOURCE, tag + 100 * !named, comm, &status);
        CHECK(!named || status.MPI_SOURCE == i);
        CHECK_EQUAL(status.MPI_SOURCE, got[1]);
        CHECK(got[0] % 2 != odd);
    }
    MPI_Waitall(2 * others, requests, MPI_STATUSES_IGNORE);
    /* Probing knows the other side's ranks too. */
    if (rank < others) {
        MPI_Isend(sent, 2, MPI_INT, rank, tag + 1, comm, &requests[0]);
        MPI_Probe(MPI_ANY_SOURCE, tag + 1, comm, &status);
        CHECK_EQUAL(status.MPI_SOURCE, rank);
        MPI_Recv(got, 2, MPI_INT, status.MPI_SOURCE, tag + 1, comm, MPI_STATUS_IGNORE);
        CHECK_EQUAL(got[1], rank);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
}

static void duplicates(void)
{
    MPI_Comm copy, copies[10];
    int result, flag;
    MPI_Comm_dup(inter, &copy);
    MPI_Comm_compare(inter, copy, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    talk(copy, 20);
    for (int i = 0; i < 10; i++)
        MPI_Comm_dup_with_info(copy, MPI_INFO_NULL, &copies[i]);
    MPI_Comm_free(&copy);
    CHECK(copy == MPI_COMM_NULL);
    for (int i = 0; i < 10; i++) {
        talk(copies[i], i);
        MPI_Comm_test_inter(copies[i], &flag);
        CHECK(flag);
        MPI_Comm_free(&copies[i]);
    }
}

/* Colors on both sides: the ranks that share one; a color of one side alone gives nothing. */
static void splits(void)
{
    MPI_Comm part;
    int size, result;
    MPI_Comm_split(inter, half_rank % 2, -half_rank, &part);
    int mine = (half_size - half_rank % 2 + 1) / 2, theirs = (other_size - half_rank % 2 + 1) / 2;
    CHECK((part == MPI_COMM_NULL) == (theirs == 0));
    if (part != MPI_COMM_NULL) {
        int rank;
        MPI_Comm_size(part, &size);
        CHECK_EQUAL(size, mine);
        MPI_Comm_remote_size(part, &size);
        CHECK_EQUAL(size, theirs);
        MPI_Comm_rank(part, &rank);
        CHECK_EQUAL(rank, mine - 1 - half_rank / 2);
        talk(part, 30);
        MPI_Comm_free(&part);
    }
    MPI_Comm_split(inter, odd, 0, &part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_split(inter, half_rank == 0 ? 1 : MPI_UNDEFINED, 0, &part);
    CHECK((part == MPI_COMM_NULL) == (half_rank != 0));
    if (part != MPI_COMM_NULL) {
        talk(part, 31);
        MPI_Comm_free(&part);
    }
    /* The same processes in another order. */
    MPI_Comm_split(inter, 0, -half_rank, &part);
    MPI_Comm_compare(inter, part, &result);
    CHECK_EQUAL(result, half_size == 1 && other_size == 1 ? MPI_CONGRUENT : MPI_SIMILAR);
    MPI_Comm_free(&part);
}

static void parts(void)
{
    MPI_Group group, first;
    MPI_Comm part;
    int zero[1] = {0}, size;
    MPI_Comm_group(inter, &group);
    MPI_Group_incl(group, 1, zero, &first);
    MPI_Comm_create(inter, first, &part);
    CHECK((part == MPI_COMM_NULL) == (half_rank != 0));
    if (part != MPI_COMM_NULL) {
        MPI_Comm_remote_size(part, &size);
        CHECK_EQUAL(size, 1);
        talk(part, 40);
        MPI_Comm_free(&part);
    }
    /* One side sends nobody. */
    MPI_Comm_create(inter, odd ? MPI_GROUP_EMPTY : group, &part);
    CHECK(part == MPI_COMM_NULL);
    MPI_Comm_create(inter, group, &part);
    talk(part, 41);
    MPI_Comm_free(&part);
    MPI_Group_free(&group);
    MPI_Group_free(&first);
}

static void merges(void)
{
    MPI_Comm all;
    int rank, size, flag, sum = 0;
    for (int high = 0; high < 2; high++) {
        MPI_Intercomm_merge(inter, odd == high, &all);
        MPI_Comm_test_inter(all, &flag);
        CHECK(!flag);
        MPI_Comm_size(all, &size);
        CHECK_EQUAL(size, check_size);
        MPI_Comm_rank(all, &rank);
        CHECK_EQUAL(rank, odd == high ? other_size + half_rank : half_rank);
        MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
        MPI_Comm_free(&all);
    }
    /* Both say the same: all agree on some order. */
    MPI_Intercomm_merge(inter, 1, &all);
    MPI_Comm_rank(all, &rank);
    CHECK(rank == half_rank || rank == other_size + half_rank);
    MPI_Comm_free(&all);
}

static void errors(void)
{
    MPI_Comm made;
    MPI_Group group;
    int value = 0;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Comm_remote_size(MPI_COMM_WORLD, &value), MPI_ERR_COMM);
    FAILS(MPI_Comm_remote_group(MPI_COMM_WORLD, &group), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_merge(MPI_COMM_WORLD, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Intercomm_create(MPI_COMM_WORLD, check_size, MPI_COMM_WORLD, 0, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, check_size, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, check_rank, 0, &made), MPI_ERR_RANK);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_WORLD, check_rank, -1, &made), MPI_ERR_TAG);
    FAILS(MPI_Intercomm_create(MPI_COMM_SELF, 0, MPI_COMM_NULL, check_rank, 0, &made), MPI_ERR_COMM);
    CHECK(made == MPI_COMM_NULL);
    /* A rank is one of the other side. */
    FAILS(MPI_Send(&value, 1, MPI_INT, other_size, 0, inter), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, other_size, 0, inter, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    FAILS(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made), MPI_ERR_COMM);
    FAILS(MPI_Cart_create(inter, 0, NULL, NULL, 0, &made), MPI_ERR_COMM);
    FAILS(MPI_Graph_create(inter, 0, NULL, NULL, 0, &made), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    creation();
    asked();
    talk(inter, 1);
    duplicates();
    splits();
    parts();
    merges();
    errors();
    MPI_Comm_free(&half);
    MPI_Comm_free(&inter);
    return check_end("inter");
}
