/* Nonblocking and persistent collectives against their blocking forms: random sizes, roots and types,
 * many under way at once on several communicators, finished in different orders by every kind of wait,
 * among point-to-point messages and blocking collectives. Arguments: seed, rounds. */
#include "check.h"

enum { OPERATIONS = 19, UNDER_WAY = 24, COUNT_MAX = 40, BLOCKS_MAX = 10, ELEMENTS = COUNT_MAX * BLOCKS_MAX, COMMS = 3 };

static MPI_Comm comms[COMMS]; /* The world, a duplicate, and half of it in reverse order. */
static MPI_Datatype strided;  /* An int in every other place. */
static MPI_Op joined;         /* Doesn't commute. */

/* An operation under way, with what its blocking form gave. */
struct operation {
    int kind;
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    int count, root, in_place;
    int counts[BLOCKS_MAX], displacements[BLOCKS_MAX], byte_displacements[BLOCKS_MAX];
    MPI_Datatype types[BLOCKS_MAX];
    int send[ELEMENTS * 2], recv[ELEMENTS * 2], wanted[ELEMENTS * 2];
};

static struct operation operations[UNDER_WAY];
static MPI_Request requests[UNDER_WAY];

/* Affine maps x -> a x + b, in one int each: their composition doesn't commute. */
static void join(void *in, void *inout, int *len, MPI_Datatype *of)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*of, &lb, &extent);
    for (int i = 0; i < *len; i++) {
        unsigned x = *(unsigned *)((char *)in + i * extent), *y = (unsigned *)((char *)inout + i * extent);
        *y = ((x >> 16) * (*y >> 16) & 0xffff) << 16 | (((*y >> 16) * (x & 0xffff) + (*y & 0xffff)) & 0xffff);
    }
}

static const char *name_of(int kind)
{
    static const char *const names[OPERATIONS] = {
        "barrier",   "bcast",     "gather",      "gatherv",        "scatter",
        "scatterv",  "allgather", "allgatherv",  "alltoall",       "alltoallv",
        "alltoallw", "reduce",    "allreduce",   "reduce_scatter", "reduce_scatter_block",
        "scan",      "exscan",    "bcast again", "allreduce again"};
    return names[kind];
}

/* What all processes draw alike. */
static void draw(struct operation *o)
{
    o->kind = (int)check_random(OPERATIONS);
    o->comm = comms[check_random(COMMS)];
    o->count = (int)check_random(4) ? (int)check_random(COUNT_MAX / 4) : (int)check_random(COUNT_MAX);
    o->type = check_random(2) ? MPI_INT : strided;
    o->in_place = (int)check_random(2);
    /* A predefined operator isn't defined for the strided type. */
    o->op = o->type == strided || check_random(2) ? joined : MPI_SUM;
    unsigned root = check_random(1000);
    int size;
    MPI_Comm_size(o->comm, &size);
    o->root = (int)root % size;
    for (int i = 0, at = 0; i < BLOCKS_MAX; i++) {
        o->counts[i] = (int)check_random((unsigned)(COUNT_MAX / 2));
        o->displacements[i] = at;
        o->byte_displacements[i] = at * (o->type == strided ? 8 : 4);
        o->types[i] = o->type;
        at += o->counts[i] + (int)check_random(3);
    }
    /* In an all-to-all with counts, what a process sends must fit what the other receives. */
    for (int i = 0; i < BLOCKS_MAX && o->kind >= 9 && o->kind <= 10; i++)
        o->counts[i] = o->count / 2;
    for (int i = 0; i < BLOCKS_MAX && o->kind >= 9 && o->kind <= 10; i++)
        o->displacements[i] = i * (o->count / 2 + 1),
        o->byte_displacements[i] = o->displacements[i] * (o->type == strided ? 8 : 4);
}

static void fill(struct operation *o)
{
    int rank;
    MPI_Comm_rank(o->comm, &rank);
    for (int i = 0; i < ELEMENTS * 2; i++) {
        o->send[i] = (int)((unsigned)(rank * 7919 + i * 31 + o->kind * 17) * 2654435u + 1);
        o->recv[i] = o->wanted[i] = o->send[i] ^ 0x5555;
    }
}

/* One form or the other: the blocking one into `recv`, or with `request` the nonblocking one. */
static int call(struct operation *o, int *recv, MPI_Request *request)
{
    int rank, n = o->count, root = o->root;
    MPI_Comm comm = o->comm;
    MPI_Datatype t = o->type;
    MPI_Comm_rank(comm, &rank);
    const int *c = o->counts, *d = o->displacements, *b = o->byte_displacements;
    const void *send = o->in_place ? MPI_IN_PLACE : o->send, *at_root = rank == root ? send : o->send;
    void *to = o->in_place && rank == root ? MPI_IN_PLACE : recv;
#define FORMS(Name, name, ...) (request ? MPI_I##name(__VA_ARGS__, request) : MPI_##Name(__VA_ARGS__))
    switch (o->kind) {
    case 0: return FORMS(Barrier, barrier, comm);
    case 1:
    case 17: return FORMS(Bcast, bcast, recv, n, t, root, comm);
    case 2: return FORMS(Gather, gather, at_root, n, t, recv, n, t, root, comm);
    case 3: return FORMS(Gatherv, gatherv, at_root, c[rank], t, recv, c, d, t, root, comm);
    case 4: /* In place the root's own block isn't touched, wherever it sends from. */
        return FORMS(Scatter, scatter, o->send, n, t, to, n, t, root, comm);
    case 5: return FORMS(Scatterv, scatterv, o->send, c, d, t, to, c[rank], t, root, comm);
    case 6: return FORMS(Allgather, allgather, send, n, t, recv, n, t, comm);
    case 7: return FORMS(Allgatherv, allgatherv, send, c[rank], t, recv, c, d, t, comm);
    case 8: return FORMS(Alltoall, alltoall, send, n, t, recv, n, t, comm);
    case 9: return FORMS(Alltoallv, alltoallv, send, c, d, t, recv, c, d, t, comm);
    case 10: return FORMS(Alltoallw, alltoallw, send, c, b, o->types, recv, c, b, o->types, comm);
    case 11: return FORMS(Reduce, reduce, at_root, recv, n, t, o->op, root, comm);
    case 13: return FORMS(Reduce_scatter, reduce_scatter, send, recv, c, t, o->op, comm);
    case 14: return FORMS(Reduce_scatter_block, reduce_scatter_block, send, recv, n / 4, t, o->op, comm);
    case 15: return FORMS(Scan, scan, send, recv, n, t, o->op, comm);
    case 16: return FORMS(Exscan, exscan, send, recv, n, t, o->op, comm);
    default: return FORMS(Allreduce, allreduce, send, recv, n, t, o->op, comm);
    }
}

/* Reductions in place leave behind what they like in the rest of a reduce-scatter's buffer. */
static void compare(const struct operation *o)
{
    int rank, elements = ELEMENTS;
    MPI_Comm_rank(o->comm, &rank);
    if (o->kind == 13)
        elements = o->counts[rank];
    if (o->kind == 14)
        elements = o->count / 4;
    if (o->kind == 16 && rank == 0)
        return;
    size_t bytes = (size_t)elements * (o->type == strided ? 2 : 1) * sizeof(int);
    if (memcmp(o->recv, o->wanted, bytes) != 0) {
        fprintf(stderr, "%s, count %d, root %d, in place %d: ", name_of(o->kind), o->count, o->root, o->in_place);
        CHECK(!"differs from the blocking form");
    }
}

/* Finishes `started` requests in one of many ways; the order differs from process to process. */
static void finish(int started, int way)
{
    int index, flag, done, indices[UNDER_WAY], left = started;
    MPI_Status statuses[UNDER_WAY];
    switch (way) {
    case 0: MPI_Waitall(started, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        for (int i = 0; i < started; i++)
            MPI_Wait(&requests[check_rank % 2 ? i : started - 1 - i], &statuses[0]);
        break;
    case 2:
        for (; left > 0; left--) {
            MPI_Waitany(started, requests, &index, MPI_STATUS_IGNORE);
            CHECK(index >= 0 && index < started && requests[index] == MPI_REQUEST_NULL);
        }
        break;
    case 3:
        while (left > 0) {
            MPI_Waitsome(started, requests, &done, indices, statuses);
            CHECK(done > 0);
            left -= done;
        }
        break;
    case 4:
        do
            MPI_Testall(started, requests, &flag, statuses);
        while (!flag);
        break;
    case 5:
        while (left > 0) {
            int i = (left * 7 + check_rank) % started;
            while (requests[i] == MPI_REQUEST_NULL)
                i = (i + 1) % started;
            do {
                MPI_Request_get_status(requests[i], &flag, MPI_STATUS_IGNORE);
            } while (!flag);
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
            CHECK(flag);
            left--;
        }
        break;
    default:
        while (left > 0) {
            MPI_Testsome(started, requests, &done, indices, MPI_STATUSES_IGNORE);
            left -= done;
        }
    }
    for (int i = 0; i < started; i++)
        CHECK(requests[i] == MPI_REQUEST_NULL);
}

/* Messages and a blocking collective while collectives are under way. */
static void meanwhile(int round)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, got = -1, sum = 0;
    MPI_Sendrecv(&round, 1, MPI_INT, right, round, &got, 1, MPI_INT, left, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, round);
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, comms[round % 2]);
    CHECK_EQUAL(sum, check_size * (check_size - 1) / 2);
}

static void rounds(int number)
{
    for (int round = 0; round < number; round++) {
        int started = 1 + (int)check_random(UNDER_WAY), way = (int)check_random(7), mixed = (int)check_random(2);
        for (int i = 0; i < started; i++) {
            draw(&operations[i]);
            fill(&operations[i]);
            CHECK_EQUAL(call(&operations[i], operations[i].wanted, NULL), MPI_SUCCESS);
        }
        for (int i = 0; i < started; i++) {
            CHECK_EQUAL(call(&operations[i], operations[i].recv, &requests[i]), MPI_SUCCESS);
            if (mixed && i % 3 == 1)
                meanwhile(round);
        }
        finish(started, way);
        for (int i = 0; i < started; i++)
            compare(&operations[i]);
    }
}

/* The program may give up types and operators, and the communicator, before the end. */
static void given_up(void)
{
    int values[4] = {check_rank, -1, check_rank, -1}, sums[4] = {0, -1, 0, -1};
    MPI_Comm comm;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Request request;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_create_resized(MPI_INT, 0, 8, &type);
    MPI_Type_commit(&type);
    MPI_Op_create(join, 0, &op);
    MPI_Iallreduce(values, sums, 2, type, op, comm, &request);
    MPI_Type_free(&type);
    MPI_Op_free(&op);
    MPI_Comm_free(&comm);
    CHECK(op == MPI_OP_NULL);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(sums[0], sums[2]);
    CHECK_EQUAL(sums[1], -1);
}

/* Several duplicates are agreed on at once, beside blocking ones. */
static void duplicates(void)
{
    MPI_Comm made[4], blocking;
    MPI_Request pending[4];
    for (int i = 0; i < 4; i++)
        MPI_Comm_idup(comms[i % COMMS], &made[i], &pending[i]);
    MPI_Comm_dup(comms[2], &blocking);
    for (int i = 3; i >= 0; i--)
        MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++) {
        int result, size, sum = 0, one = 1;
        MPI_Comm_compare(made[i], comms[i % COMMS], &result);
        CHECK_EQUAL(result, MPI_CONGRUENT);
        MPI_Comm_size(made[i], &size);
        MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made[i], &pending[i]);
        MPI_Barrier(blocking);
        MPI_Wait(&pending[i], MPI_STATUS_IGNORE);
        CHECK_EQUAL(sum, size);
    }
    for (int i = 0; i < 4; i++)
        MPI_Comm_free(&made[i]);
    MPI_Comm_free(&blocking);
}

/* Persistent ones, started in another order on odd ranks than on even ones, and again. */
static void persistent(void)
{
    int value = 0, sum, last, data[3], total;
    MPI_Request kept[4];
    MPI_Allreduce_init(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[0]);
    MPI_Bcast_init(data, 3, MPI_INT, check_size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &kept[2]);
    MPI_Scan_init(&value, &last, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &kept[3]);
    for (int round = 0; round < 5; round++) {
        value = check_rank + round;
        for (int i = 0; i < 3; i++)
            data[i] = check_rank == check_size - 1 ? round + i : -1;
        if (round % 2)
            MPI_Startall(4, kept);
        for (int i = 0; i < 4 && round % 2 == 0; i++)
            MPI_Start(&kept[check_rank % 2 ? i : 3 - i]);
        MPI_Waitall(4, kept, MPI_STATUSES_IGNORE);
        total = check_size * (check_size - 1) / 2 + round * check_size;
        CHECK_EQUAL(sum, total);
        CHECK_EQUAL(data[2], round + 2);
        CHECK_EQUAL(last, check_rank * (check_rank + 1) / 2 + round * (check_rank + 1));
    }
    for (int i = 0; i < 4; i++) {
        CHECK(kept[i] != MPI_REQUEST_NULL);
        CHECK_EQUAL(MPI_Request_free(&kept[i]), MPI_SUCCESS);
    }
}

/* Generalized requests count the calls of their functions. */
struct counted {
    int queries, frees, cancels, complete;
};

static int query(void *state, MPI_Status *status)
{
    struct counted *counted = state;
    counted->queries++;
    status->MPI_SOURCE = 3;
    status->MPI_TAG = 4;
    MPI_Status_set_elements(status, MPI_INT, 5);
    MPI_Status_set_cancelled(status, counted->cancels > 0);
    return MPI_SUCCESS;
}

static int release(void *state)
{
    ((struct counted *)state)->frees++;
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete)
{
    ((struct counted *)state)->cancels++;
    ((struct counted *)state)->complete = complete;
    return MPI_SUCCESS;
}

static void generalized(void)
{
    struct counted counted[3] = {{0}};
    MPI_Request made[3], same;
    MPI_Status status;
    int flag, index, elements;
    for (int i = 0; i < 3; i++)
        CHECK_EQUAL(MPI_Grequest_start(query, release, cancel, &counted[i], &made[i]), MPI_SUCCESS);
    MPI_Test(&made[0], &flag, &status);
    CHECK(!flag);
    MPI_Cancel(&made[0]);
    CHECK(counted[0].cancels == 1 && !counted[0].complete);
    MPI_Grequest_complete(made[0]);
    MPI_Request_get_status(made[0], &flag, &status);
    CHECK(flag && counted[0].queries == 1 && counted[0].frees == 0);
    MPI_Wait(&made[0], &status);
    CHECK(made[0] == MPI_REQUEST_NULL && counted[0].queries == 2 && counted[0].frees == 1);
    MPI_Get_elements(&status, MPI_INT, &elements);
    MPI_Test_cancelled(&status, &flag);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && elements == 5 && flag);
    MPI_Ibarrier(MPI_COMM_WORLD, &made[0]);
    MPI_Grequest_complete(made[1]);
    for (int i = 0; i < 2; i++)
        MPI_Waitany(2, made, &index, MPI_STATUS_IGNORE);
    CHECK(counted[1].queries == 1 && counted[1].frees == 1);
    /* Given up before its end: freed by its completion. */
    same = made[2];
    MPI_Request_free(&made[2]);
    CHECK_EQUAL(counted[2].frees, 0);
    MPI_Grequest_complete(same);
    CHECK(counted[2].frees == 1 && counted[2].queries == 0);
}

static void error_class(int error, int wanted)
{
    int class = -1;
    MPI_Error_class(error, &class);
    CHECK_EQUAL(class, wanted);
}

static void errors(void)
{
    int value = 0, sum;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error_class(MPI_Ibcast(&value, 1, MPI_INT, check_size, MPI_COMM_WORLD, &request), MPI_ERR_ROOT);
    CHECK(request == MPI_REQUEST_NULL);
    error_class(MPI_Ibcast(&value, -1, MPI_INT, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    error_class(MPI_Iallreduce(&value, &sum, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD, &request), MPI_ERR_OP);
    error_class(MPI_Iallreduce(&value, &sum, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD, &request), MPI_ERR_TYPE);
    error_class(MPI_Ibarrier(MPI_COMM_NULL, &request), MPI_ERR_COMM);
    error_class(MPI_Barrier_init(MPI_COMM_NULL, MPI_INFO_NULL, &request), MPI_ERR_COMM);
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    error_class(MPI_Cancel(&request), MPI_ERR_REQUEST);
    error_class(MPI_Start(&request), MPI_ERR_REQUEST);
    CHECK_EQUAL(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* A collective may be freed when it is complete, and not before: here not before rank 0 begins. */
static void freed(void)
{
    enum { PLAIN, PERSISTENT, KINDS };
    int flag = 0, values[KINDS] = {check_rank ? 0 : 17, check_rank ? 0 : 19};
    MPI_Request requests[KINDS];
    MPI_Comm comm, gate;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &gate);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (check_rank == 0)
        MPI_Barrier(gate);
    MPI_Ibcast(&values[PLAIN], 1, MPI_INT, 0, comm, &requests[PLAIN]);
    MPI_Bcast_init(&values[PERSISTENT], 1, MPI_INT, 0, comm, MPI_INFO_NULL, &requests[PERSISTENT]);
    MPI_Start(&requests[PERSISTENT]);
    if (check_rank) {
        for (int i = 0; i < KINDS; i++) {
            error_class(MPI_Request_free(&requests[i]), MPI_ERR_REQUEST);
            CHECK(requests[i] != MPI_REQUEST_NULL);
        }
        MPI_Barrier(gate);
    }
    while (!flag)
        MPI_Request_get_status_all(KINDS, requests, &flag, MPI_STATUSES_IGNORE);
    for (int i = 0; i < KINDS; i++) {
        CHECK_EQUAL(MPI_Request_free(&requests[i]), MPI_SUCCESS);
        CHECK(requests[i] == MPI_REQUEST_NULL && values[i] == 17 + 2 * i);
    }
    MPI_Comm_free(&comm);
    MPI_Comm_free(&gate);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    unsigned long long seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
    check_seed(seed);
    if (check_rank == 0)
        printf("nonblocking: seed %llu\n", seed);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    MPI_Op_create(join, 0, &joined);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &comms[2]);
    rounds(argc > 2 ? atoi(argv[2]) : 5);
    given_up();
    duplicates();
    persistent();
    generalized();
    errors();
    freed();
    return check_end("nonblocking");
}
