/* Collectives of an intercommunicator, each blocking and nonblocking. Run with 2 ranks or more; the even ranks
 * are one side, the odd ones the other. Every process computes from the definition what it must get. */
#include "check.h"

enum { RANKS_MAX = 16, LONG = 3000 };

static MPI_Comm inter;
static int rank, size, others, odd;

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

static int world_of(int side_is_odd, int r) { return 2 * r + side_is_odd; }

/* Root argument when rank `root` of the odd or even side is the root. */
static int root_argument(int root_side, int root)
{
    return root_side != odd ? root : rank == root ? MPI_ROOT : MPI_PROC_NULL;
}

static void wait(MPI_Request *request) { MPI_Wait(request, MPI_STATUS_IGNORE); }

static void barrier(int nonblocking)
{
    /* Nobody of one side comes out before all of the other are in: rank 0 there goes in late. */
    static int entered;
    int told = 0;
    MPI_Request request, message = MPI_REQUEST_NULL;
    entered++;
    for (int side = 0; side < 2; side++) {
        if (side == odd && rank == 0)
            for (int i = 0; i < others; i++)
                MPI_Ssend(&entered, 1, MPI_INT, i, 3, inter);
        if (side != odd)
            MPI_Irecv(&told, 1, MPI_INT, 0, 3, inter, &message);
        if (side != odd)
            MPI_Wait(&message, MPI_STATUS_IGNORE);
        if (nonblocking) {
            MPI_Ibarrier(inter, &request);
            wait(&request);
        } else {
            MPI_Barrier(inter);
        }
    }
    CHECK_EQUAL(told, entered);
}

static void bcast(int nonblocking, int root_side, int root, int count)
{
    static int data[LONG];
    MPI_Request request;
    int argument = root_argument(root_side, root);
    for (int i = 0; i < count; i++)
        data[i] = argument == MPI_ROOT ? 7 * i + root : -1;
    if (nonblocking) {
        MPI_Ibcast(data, count, MPI_INT, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Bcast(data, count, MPI_INT, argument, inter);
    }
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(data[i], argument == MPI_PROC_NULL ? -1 : 7 * i + root);
}

static void gather(int nonblocking, int root_side, int root)
{
    int own[2] = {check_rank, -check_rank}, got[2 * RANKS_MAX], counts[RANKS_MAX], places[RANKS_MAX];
    MPI_Request request;
    int argument = root_argument(root_side, root);
    memset(got, -1, sizeof got);
    if (nonblocking) {
        MPI_Igather(own, 2, MPI_INT, got, 2, MPI_INT, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Gather(own, 2, MPI_INT, got, 2, MPI_INT, argument, inter);
    }
    for (int i = 0; i < others; i++)
        CHECK_EQUAL(got[2 * i], argument == MPI_ROOT ? world_of(!odd, i) : -1);
    /* Rank i sends i % 2 + 1 elements; they land backwards. */
    memset(got, -1, sizeof got);
    for (int i = 0; i < others; i++) {
        counts[i] = i % 2 + 1;
        places[i] = 2 * (others - 1 - i);
    }
    if (nonblocking) {
        MPI_Igatherv(own, rank % 2 + 1, MPI_INT, got, counts, places, MPI_INT, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Gatherv(own, rank % 2 + 1, MPI_INT, got, counts, places, MPI_INT, argument, inter);
    }
    for (int i = 0; i < others && argument == MPI_ROOT; i++) {
        CHECK_EQUAL(got[places[i]], world_of(!odd, i));
        CHECK_EQUAL(got[places[i] + 1], counts[i] == 2 ? -world_of(!odd, i) : -1);
    }
}

static void scatter(int nonblocking, int root_side, int root)
{
    int all[2 * RANKS_MAX], got[2] = {-1, -1}, counts[RANKS_MAX], places[RANKS_MAX];
    MPI_Request request;
    int argument = root_argument(root_side, root);
    for (int i = 0; i < 2 * others; i++)
        all[i] = 100 * check_rank + i;
    if (nonblocking) {
        MPI_Iscatter(all, 2, MPI_INT, got, 2, MPI_INT, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Scatter(all, 2, MPI_INT, got, 2, MPI_INT, argument, inter);
    }
    CHECK_EQUAL(got[1], argument < 0 ? -1 : 100 * world_of(!odd, root) + 2 * rank + 1);
    for (int i = 0; i < others; i++) {
        counts[i] = i % 2 + 1;
        places[i] = 2 * (others - 1 - i);
    }
    got[0] = got[1] = -1;
    if (nonblocking) {
        MPI_Iscatterv(all, counts, places, MPI_INT, got, rank % 2 + 1, MPI_INT, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Scatterv(all, counts, places, MPI_INT, got, rank % 2 + 1, MPI_INT, argument, inter);
    }
    int first = 100 * world_of(!odd, root) + 2 * (size - 1 - rank);
    CHECK_EQUAL(got[0], argument < 0 ? -1 : first);
    CHECK_EQUAL(got[1], argument < 0 || rank % 2 == 0 ? -1 : first + 1);
}

static void allgather(int nonblocking)
{
    int own[2] = {check_rank, check_rank + 1}, got[3 * RANKS_MAX], counts[RANKS_MAX], places[RANKS_MAX];
    MPI_Request request;
    memset(got, -1, sizeof got);
    if (nonblocking) {
        MPI_Iallgather(own, 2, MPI_INT, got, 2, MPI_INT, inter, &request);
        wait(&request);
    } else {
        MPI_Allgather(own, 2, MPI_INT, got, 2, MPI_INT, inter);
    }
    for (int i = 0; i < 2 * others; i++)
        CHECK_EQUAL(got[i], world_of(!odd, i / 2) + i % 2);
    memset(got, -1, sizeof got);
    for (int i = 0; i < others; i++) {
        counts[i] = i % 3;
        places[i] = 3 * (others - 1 - i);
    }
    int mine = rank % 3;
    if (nonblocking) {
        MPI_Iallgatherv(own, mine, MPI_INT, got, counts, places, MPI_INT, inter, &request);
        wait(&request);
    } else {
        MPI_Allgatherv(own, mine, MPI_INT, got, counts, places, MPI_INT, inter);
    }
    for (int i = 0; i < others; i++)
        for (int j = 0; j < 3; j++)
            CHECK_EQUAL(got[places[i] + j], j < counts[i] ? world_of(!odd, i) + j : -1);
    /* One way only: the even side sends nothing. */
    memset(got, -1, sizeof got);
    MPI_Allgather(own, odd, MPI_INT, got, !odd, MPI_INT, inter);
    for (int i = 0; i < others; i++)
        CHECK_EQUAL(got[i], odd ? -1 : world_of(1, i));
}

static void alltoall(int nonblocking)
{
    int out[2 * RANKS_MAX], in[2 * RANKS_MAX], counts[RANKS_MAX], places[RANKS_MAX], bytes[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    MPI_Request request;
    for (int i = 0; i < others; i++) {
        out[2 * i] = 100 * check_rank + i;
        out[2 * i + 1] = -out[2 * i];
        counts[i] = (rank + i) % 2 + 1;
        places[i] = 2 * i;
        bytes[i] = places[i] * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    for (int form = 0; form < 3; form++) {
        memset(in, -1, sizeof in);
        if (form == 0 && nonblocking)
            MPI_Ialltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter, &request);
        else if (form == 1 && nonblocking)
            MPI_Ialltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, inter, &request);
        else if (nonblocking)
            MPI_Ialltoallw(out, counts, bytes, types, in, counts, bytes, types, inter, &request);
        else if (form == 0)
            MPI_Alltoall(out, 2, MPI_INT, in, 2, MPI_INT, inter);
        else if (form == 1)
            MPI_Alltoallv(out, counts, places, MPI_INT, in, counts, places, MPI_INT, inter);
        else
            MPI_Alltoallw(out, counts, bytes, types, in, counts, bytes, types, inter);
        if (nonblocking)
            wait(&request);
        for (int i = 0; i < others; i++) {
            int value = 100 * world_of(!odd, i) + rank;
            CHECK_EQUAL(in[2 * i], value);
            CHECK_EQUAL(in[2 * i + 1], form > 0 && counts[i] == 1 ? -1 : -value);
        }
    }
}

/* Sum over the ranks of the other side. */
static int sum_of_others(int factor, int more)
{
    int sum = 0;
    for (int i = 0; i < others; i++)
        sum += factor * world_of(!odd, i) + more;
    return sum;
}

static void reduce(int nonblocking, int root_side, int root, int count)
{
    static int own[LONG], got[LONG];
    MPI_Request request;
    int argument = root_argument(root_side, root);
    for (int i = 0; i < count; i++) {
        own[i] = check_rank + i;
        got[i] = -1;
    }
    if (nonblocking) {
        MPI_Ireduce(own, got, count, MPI_INT, MPI_SUM, argument, inter, &request);
        wait(&request);
    } else {
        MPI_Reduce(own, got, count, MPI_INT, MPI_SUM, argument, inter);
    }
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(got[i], argument == MPI_ROOT ? sum_of_others(1, i) : -1);
}

static void allreduce(int nonblocking, int count)
{
    static int own[LONG], got[LONG];
    MPI_Request request;
    for (int i = 0; i < count; i++)
        own[i] = check_rank + i;
    if (nonblocking) {
        MPI_Iallreduce(own, got, count, MPI_INT, MPI_SUM, inter, &request);
        wait(&request);
    } else {
        MPI_Allreduce(own, got, count, MPI_INT, MPI_SUM, inter);
    }
    for (int i = 0; i < count; i++)
        CHECK_EQUAL(got[i], sum_of_others(1, i));
}

/* Both sides reduce vectors of size * others elements; each rank gets its share of the other's. */
static void reduce_scatter(int nonblocking)
{
    int own[RANKS_MAX * RANKS_MAX], got[RANKS_MAX * RANKS_MAX], counts[RANKS_MAX];
    MPI_Request request;
    for (int i = 0; i < size * others; i++)
        own[i] = check_rank + 10 * i;
    if (nonblocking) {
        MPI_Ireduce_scatter_block(own, got, others, MPI_INT, MPI_SUM, inter, &request);
        wait(&request);
    } else {
        MPI_Reduce_scatter_block(own, got, others, MPI_INT, MPI_SUM, inter);
    }
    for (int i = 0; i < others; i++)
        CHECK_EQUAL(got[i], sum_of_others(1, 10 * (rank * others + i)));
    /* The last rank gets all. */
    for (int i = 0; i < size; i++)
        counts[i] = i == size - 1 ? size * others : 0;
    got[0] = -1;
    if (nonblocking) {
        MPI_Ireduce_scatter(own, got, counts, MPI_INT, MPI_SUM, inter, &request);
        wait(&request);
    } else {
        MPI_Reduce_scatter(own, got, counts, MPI_INT, MPI_SUM, inter);
    }
    for (int i = 0; i < size * others; i++)
        if (rank == size - 1)
            CHECK_EQUAL(got[i], sum_of_others(1, 10 * i));
}

/* Several at once, waited for in another order than begun, and what is beside a root says nothing at all. */
static void together(void)
{
    int one = 1, sum[2] = {0, 0}, value = odd ? 0 : 5;
    MPI_Request requests[4];
    MPI_Comm copy;
    int root = root_argument(0, 0);
    MPI_Comm_idup(inter, &copy, &requests[0]);
    MPI_Iallreduce(&one, &sum[0], 1, MPI_INT, MPI_SUM, inter, &requests[1]);
    if (root == MPI_PROC_NULL)
        MPI_Ibcast(NULL, -1, MPI_DATATYPE_NULL, root, inter, &requests[2]);
    else
        MPI_Ibcast(&value, 1, MPI_INT, root, inter, &requests[2]);
    MPI_Iallreduce(&one, &sum[1], 1, MPI_INT, MPI_SUM, inter, &requests[3]);
    for (int i = 3; i >= 0; i--)
        wait(&requests[i]);
    CHECK(sum[0] == others && sum[1] == others && value == 5);
    MPI_Allreduce(&one, &sum[0], 1, MPI_INT, MPI_SUM, copy);
    CHECK_EQUAL(sum[0], others);
    MPI_Comm_free(&copy);
}

static void errors(void)
{
    int value = 0, got[RANKS_MAX];
    MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, others, inter), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, -9, inter), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&value, -1, MPI_INT, MPI_ROOT, inter), MPI_ERR_COUNT);
    FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, 0, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(MPI_IN_PLACE, 1, MPI_INT, got, 1, MPI_INT, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Allreduce(MPI_IN_PLACE, got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
    FAILS(MPI_Scan(&value, got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    FAILS(MPI_Exscan(&value, got, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, MPI_ROOT, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, MPI_PROC_NULL, MPI_COMM_WORLD), MPI_ERR_ROOT);
}

int main(int argc, char **argv)
{
    MPI_Comm half;
    check_init(&argc, &argv);
    odd = check_rank % 2;
    MPI_Comm_split(MPI_COMM_WORLD, odd, 0, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, !odd, 1, &inter);
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_size(inter, &size);
    MPI_Comm_remote_size(inter, &others);
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        barrier(nonblocking);
        for (int side = 0; side < 2; side++) {
            int last = (side == odd ? size : others) - 1;
            for (int root = 0; root <= last; root += last ? last : 1) {
                bcast(nonblocking, side, root, 1);
                bcast(nonblocking, side, root, LONG);
                gather(nonblocking, side, root);
                scatter(nonblocking, side, root);
                reduce(nonblocking, side, root, 2);
                reduce(nonblocking, side, root, LONG);
            }
        }
        allgather(nonblocking);
        alltoall(nonblocking);
        allreduce(nonblocking, 3);
        allreduce(nonblocking, LONG);
        reduce_scatter(nonblocking);
    }
    together();
    errors();
    MPI_Comm_free(&half);
    MPI_Comm_free(&inter);
    return check_end("intercoll");
}
