/* Every collective with every algorithm: counts, roots, in place, dense and strided types, operators
 * that don't commute. Each rank can compute what all should get. Argument: n, to use every n-th count. */
#include <chasqui/collectives.h>

#include "check.h"

static const int counts[] = {0, 1, 2, 3, 7, 16, 40, 500};
enum { COUNTS = sizeof counts / sizeof *counts, MOST = 500, GUARD = -777 };

static MPI_Comm comm;
static int rank, size;
static const char *algorithm; /* The one that is forced. */
static int stride = 1;        /* Of the counts used. */

/* Contribution of a rank: element `at` of the block for `to`. */
static int value(int from, int to, int at) { return from * 1000003 + to * 1009 + at * 7 + 1; }

/* Elements of either type: an int, or an int in every other place. */
static MPI_Datatype strided;
static int step; /* Of the type in use: 1 or 2. */
static MPI_Datatype type;

static int *array(int elements)
{
    int *made = malloc((elements * 2 + 2) * sizeof *made);
    for (int i = 0; i < elements * 2 + 2; i++)
        made[i] = GUARD;
    return made;
}

/* An error means that the forced algorithm can't do the case: then nothing was sent. */
static int done(int error)
{
    if (error == MPI_SUCCESS)
        return 1;
    int class = -1;
    MPI_Error_class(error, &class);
    CHECK_EQUAL(class, MPI_ERR_UNSUPPORTED_OPERATION);
    return 0;
}

static void expect(const char *what, const int *got, int at, int wanted)
{
    if (got[at * step] == wanted)
        return;
    fprintf(stderr, "%s, %s, step %d: ", what, algorithm ? algorithm : "selected", step);
    CHECK_EQUAL(got[at * step], wanted);
}

/* Between strided elements, and behind the last, nothing may be touched. */
static void guarded(const int *got, int elements)
{
    for (int i = 0; i < elements * 2 + 2; i++)
        if ((step == 2 && i % 2) || i >= elements * step)
            if (got[i] != GUARD) {
                CHECK_EQUAL(got[i], GUARD);
                return;
            }
}

static void bcast(int count, int root)
{
    int *data = array(count);
    for (int i = 0; i < count && rank == root; i++)
        data[i * step] = value(root, 0, i);
    if (done(MPI_Bcast(data, count, type, root, comm))) {
        for (int i = 0; i < count; i++)
            expect("bcast", data, i, value(root, 0, i));
        guarded(data, count);
    }
    free(data);
}

static void gather(int count, int root, int in_place)
{
    int *send = array(count), *recv = array(count * size);
    for (int i = 0; i < count; i++) {
        send[i * step] = value(rank, 0, i);
        if (in_place)
            recv[(rank * count + i) * step] = value(rank, 0, i);
    }
    if (done(MPI_Gather(in_place && rank == root ? MPI_IN_PLACE : send, count, type, recv, count, type, root, comm)) &&
        rank == root) {
        for (int i = 0; i < count * size; i++)
            expect("gather", recv, i, value(i / count, 0, i % count));
        guarded(recv, count * size);
    }
    free(send);
    free(recv);
}

static void scatter(int count, int root, int in_place)
{
    int *send = array(count * size), *recv = array(count);
    for (int i = 0; i < count * size; i++)
        send[i * step] = value(root, i / count, i % count);
    if (done(MPI_Scatter(send, count, type, in_place && rank == root ? MPI_IN_PLACE : recv, count, type, root, comm)) &&
        !(in_place && rank == root)) {
        for (int i = 0; i < count; i++)
            expect("scatter", recv, i, value(root, rank, i));
        guarded(recv, count);
    }
    free(send);
    free(recv);
}

static void allgather(int count, int root, int in_place)
{
    (void)root;
    int *send = array(count), *recv = array(count * size);
    for (int i = 0; i < count; i++) {
        send[i * step] = value(rank, 0, i);
        if (in_place)
            recv[(rank * count + i) * step] = value(rank, 0, i);
    }
    if (done(MPI_Allgather(in_place ? MPI_IN_PLACE : send, count, type, recv, count, type, comm))) {
        for (int i = 0; i < count * size; i++)
            expect("allgather", recv, i, value(i / count, 0, i % count));
        guarded(recv, count * size);
    }
    free(send);
    free(recv);
}

static void alltoall(int count, int root, int in_place)
{
    (void)root;
    int *send = array(count * size), *recv = array(count * size);
    for (int i = 0; i < count * size; i++) {
        send[i * step] = value(rank, i / count, i % count);
        if (in_place)
            recv[i * step] = value(rank, i / count, i % count);
    }
    if (done(MPI_Alltoall(in_place ? MPI_IN_PLACE : send, count, type, recv, count, type, comm))) {
        for (int i = 0; i < count * size; i++)
            expect("alltoall", recv, i, value(i / count, rank, i % count));
        guarded(recv, count * size);
    }
    free(send);
    free(recv);
}

/* Block lengths that differ: rank r has count + r % 3 elements (0 stays 0). */
static int length_of(int r, int count) { return count ? count + r % 3 : r % 2; }

static void gatherv(int count, int root, int in_place)
{
    int recvcounts[64], displs[64], total = 0, own = length_of(rank, count);
    for (int i = size - 1; i >= 0; i--) { /* Blocks lie in another order than the ranks. */
        recvcounts[i] = length_of(i, count);
        displs[i] = total;
        total += recvcounts[i];
    }
    int *send = array(own), *recv = array(total), *all = array(total);
    for (int i = 0; i < own; i++) {
        send[i * step] = value(rank, 0, i);
        if (in_place)
            recv[(displs[rank] + i) * step] = all[(displs[rank] + i) * step] = value(rank, 0, i);
    }
    MPI_Gatherv(in_place && rank == root ? MPI_IN_PLACE : send, own, type, recv, rank == root ? recvcounts : NULL,
                rank == root ? displs : NULL, type, root, comm);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : send, own, type, all, recvcounts, displs, type, comm);
    for (int r = 0; r < size; r++)
        for (int i = 0; i < recvcounts[r]; i++) {
            if (rank == root)
                expect("gatherv", recv, displs[r] + i, value(r, 0, i));
            expect("allgatherv", all, displs[r] + i, value(r, 0, i));
        }
    guarded(all, total);
    MPI_Scatterv(recv, rank == root ? recvcounts : NULL, rank == root ? displs : NULL, type,
                 in_place && rank == root ? MPI_IN_PLACE : send, own, type, root, comm);
    for (int i = 0; i < own; i++)
        expect("scatterv", send, i, value(rank, 0, i));
    guarded(send, own);
    free(send);
    free(recv);
    free(all);
}

static void alltoallv(int count, int w, int in_place)
{
    int sendcounts[64], sdispls[64], recvcounts[64], rdispls[64], sends = 0, recvs = 0;
    MPI_Datatype types[64];
    for (int i = 0; i < size; i++) {
        /* In place, what goes to a rank must be as long as what comes from it. */
        sendcounts[i] = in_place ? length_of(rank + i, count) : length_of(rank * 2 + i, count);
        recvcounts[i] = in_place ? length_of(rank + i, count) : length_of(i * 2 + rank, count);
        sdispls[i] = sends;
        rdispls[i] = recvs;
        sends += sendcounts[i];
        recvs += recvcounts[i];
        types[i] = type;
    }
    int *send = array(sends), *recv = array(recvs);
    for (int r = 0; r < size; r++) {
        for (int i = 0; i < sendcounts[r]; i++)
            send[(sdispls[r] + i) * step] = value(rank, r, i);
        for (int i = 0; in_place && i < recvcounts[r]; i++)
            recv[(rdispls[r] + i) * step] = value(rank, r, i);
    }
    if (w) {
        for (int i = 0; i < size; i++) {
            sdispls[i] *= step * (int)sizeof(int);
            rdispls[i] *= step * (int)sizeof(int);
        }
        MPI_Alltoallw(in_place ? MPI_IN_PLACE : send, sendcounts, sdispls, types, recv, recvcounts, rdispls, types,
                      comm);
        for (int i = 0; i < size; i++)
            rdispls[i] /= step * (int)sizeof(int);
    } else {
        MPI_Alltoallv(in_place ? MPI_IN_PLACE : send, sendcounts, sdispls, type, recv, recvcounts, rdispls, type, comm);
    }
    for (int r = 0; r < size; r++)
        for (int i = 0; i < recvcounts[r]; i++)
            expect(w ? "alltoallw" : "alltoallv", recv, rdispls[r] + i, value(r, rank, i));
    guarded(recv, recvs);
    free(send);
    free(recv);
}

/* Reductions. Besides the sum, an operator that doesn't commute: x op y = the ranks x covers and
 * the ranks y covers, which must be next to each other. */
struct span {
    int first, last, weight;
};
static MPI_Datatype span_type;
static MPI_Op joined, sum_of_strided;

static void join(void *in, void *inout, int *len, MPI_Datatype *of)
{
    (void)of;
    struct span *a = in, *b = inout;
    for (int i = 0; i < *len; i++) {
        if (a[i].last + 1 != b[i].first || a[i].weight < 0 || b[i].weight < 0)
            b[i].weight = -1000000;
        else
            b[i].weight += a[i].weight;
        b[i].first = a[i].first;
    }
}

static void add_strided(void *in, void *inout, int *len, MPI_Datatype *of)
{
    MPI_Aint lb, extent;
    MPI_Type_get_extent(*of, &lb, &extent);
    for (int i = 0; i < *len; i++) {
        *(int *)inout += *(int *)in;
        in = (char *)in + extent;
        inout = (char *)inout + extent;
    }
}

/* Sum over ranks first..last of their elements. */
static int sum(int first, int last, int at)
{
    unsigned total = 0;
    for (int r = first; r <= last; r++)
        total += (unsigned)value(r, 0, at);
    return (int)total;
}

enum reduction { REDUCE, ALLREDUCE, SCAN, EXSCAN, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK };

static int call(enum reduction kind, const void *send, void *recv, int count, const int *parts, MPI_Datatype of,
                MPI_Op op, int root)
{
    switch (kind) {
    case REDUCE: return MPI_Reduce(send, recv, count, of, op, root, comm);
    case ALLREDUCE: return MPI_Allreduce(send, recv, count, of, op, comm);
    case SCAN: return MPI_Scan(send, recv, count, of, op, comm);
    case EXSCAN: return MPI_Exscan(send, recv, count, of, op, comm);
    case REDUCE_SCATTER: return MPI_Reduce_scatter(send, recv, parts, of, op, comm);
    default: return MPI_Reduce_scatter_block(send, recv, count / size, of, op, comm);
    }
}

static void reduction(enum reduction kind, int count, int root, int in_place)
{
    int parts[64], start = 0, length, first = 0, last = size - 1, defined = 1;
    if (kind == REDUCE_SCATTER_BLOCK)
        count *= size;
    for (int i = 0, left = count; i < size; i++) {
        parts[i] = kind == REDUCE_SCATTER_BLOCK ? count / size : i == size - 1 ? left : left / 3;
        start += i < rank ? parts[i] : 0;
        left -= parts[i];
    }
    length = kind >= REDUCE_SCATTER ? parts[rank] : count;
    start = kind >= REDUCE_SCATTER ? start : 0;
    if (kind == SCAN || kind == EXSCAN)
        last = kind == SCAN ? rank : rank - 1;
    if (kind == EXSCAN && rank == 0)
        defined = 0;
    if (kind == REDUCE && rank != root)
        defined = 0;
    int use_in_place = in_place && (kind != REDUCE || rank == root);

    int *send = array(count), *recv = array(count);
    for (int i = 0; i < count; i++)
        send[i * step] = value(rank, 0, i);
    if (use_in_place)
        memcpy(recv, send, (count * 2 + 2) * sizeof *recv);
    MPI_Op op = step == 1 ? MPI_SUM : sum_of_strided;
    if (done(call(kind, use_in_place ? MPI_IN_PLACE : send, recv, count, parts, type, op, root)) && defined) {
        for (int i = 0; i < length; i++)
            expect("reduction", recv, i, sum(first, last, start + i));
        guarded(recv, use_in_place ? count : length);
    }
    free(send);
    free(recv);

    struct span *from = calloc(count + 1, sizeof *from), *to = calloc(count + 1, sizeof *to);
    for (int i = 0; i < count; i++)
        from[i] = (struct span){rank, rank, rank + i};
    if (use_in_place)
        memcpy(to, from, count * sizeof *to);
    if (done(call(kind, use_in_place ? MPI_IN_PLACE : from, to, count, parts, span_type, joined, root)) && defined)
        for (int i = 0; i < length; i++) {
            int wanted = (last * (last + 1)) / 2 + (last + 1) * (start + i);
            if (to[i].first != 0 || to[i].last != last || to[i].weight != wanted) {
                fprintf(stderr, "reduction %d, %s, count %d, root %d: ", kind, algorithm ? algorithm : "selected",
                        count, root);
                CHECK_EQUAL(to[i].weight, wanted);
                break;
            }
        }
    free(from);
    free(to);
}

static void reduce(int count, int root, int in_place) { reduction(REDUCE, count, root, in_place); }
static void allreduce(int count, int root, int in_place) { reduction(ALLREDUCE, count, root, in_place); }
static void scan(int count, int root, int in_place) { reduction(SCAN, count, root, in_place); }
static void exscan(int count, int root, int in_place) { reduction(EXSCAN, count, root, in_place); }
static void reduce_scatter(int count, int root, int in_place)
{
    reduction(REDUCE_SCATTER, count, root, in_place);
    reduction(REDUCE_SCATTER_BLOCK, count, root, in_place);
}
static void bcast_case(int count, int root, int in_place)
{
    if (!in_place)
        bcast(count, root);
}
static void alltoallw(int count, int root, int in_place)
{
    (void)root;
    alltoallv(count, 0, in_place);
    alltoallv(count, 1, in_place);
}

static void all_cases(const char *name, void (*one)(int count, int root, int in_place))
{
    for (int index = -1; index < 0 || (algorithm = chasqui_collective_algorithm(name, index)) != NULL; index++) {
        if (index < 0)
            algorithm = NULL;
        CHECK(chasqui_collective_force(name, algorithm));
        for (int c = 0; c < COUNTS; c += stride)
            for (int in_place = 0; in_place < 2; in_place++)
                for (step = 1; step <= 2; step++) {
                    type = step == 1 ? MPI_INT : strided;
                    one(counts[c], c % size, in_place);
                    if (c < 3 && size > 1)
                        one(counts[c], size - 1, in_place);
                }
    }
    algorithm = NULL;
    chasqui_collective_force(name, NULL);
}

static void all_collectives(void)
{
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    all_cases("bcast", bcast_case);
    all_cases("gather", gather);
    all_cases("scatter", scatter);
    all_cases("allgather", allgather);
    all_cases("allgatherv", gatherv);
    all_cases("alltoall", alltoall);
    all_cases("alltoallw", alltoallw);
    all_cases("reduce", reduce);
    all_cases("allreduce", allreduce);
    all_cases("scan", scan);
    all_cases("exscan", exscan);
    all_cases("reduce_scatter", reduce_scatter);
}

/* Nobody leaves a barrier before all have come: a token passed meanwhile must be seen. Where the
 * algorithm can't do it, the messages alone are tested. */
static void barrier_separates(int rounds)
{
    for (int round = 0; round < rounds; round++) {
        int token = round, got = -1, flag = 0;
        if (rank == round % size)
            for (int i = 0; i < size; i++)
                if (i != rank)
                    MPI_Ssend(&token, 0, MPI_INT, i, round, comm);
        if (rank != round % size) {
            MPI_Recv(&got, 1, MPI_INT, round % size, round, comm, MPI_STATUS_IGNORE);
        }
        if (!done(MPI_Barrier(comm)))
            continue;
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        done(MPI_Barrier(comm));
    }
}

static void barriers(void)
{
    for (int index = 0; (algorithm = chasqui_collective_algorithm("barrier", index)) != NULL; index++) {
        CHECK(chasqui_collective_force("barrier", algorithm));
        barrier_separates(10);
    }
    chasqui_collective_force("barrier", NULL);
    barrier_separates(5);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    if (argc > 1)
        stride = atoi(argv[1]);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    MPI_Type_contiguous(3, MPI_INT, &span_type);
    MPI_Type_commit(&span_type);
    MPI_Op_create(join, 0, &joined);
    MPI_Op_create(add_strided, 1, &sum_of_strided);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    all_collectives();
    barriers();
    MPI_Comm_free(&comm);
    if (check_size > 2) { /* Ranks that aren't world ranks. */
        MPI_Comm_split(MPI_COMM_WORLD, check_rank == 1, -check_rank, &comm);
        all_collectives();
        MPI_Comm_free(&comm);
    }
    MPI_Op_free(&joined);
    MPI_Op_free(&sum_of_strided);
    CHECK(joined == MPI_OP_NULL);
    return check_end("collectives");
}
