/* Collectives that cards may do, among all that they may not, in an order that a seed gives: in MPI_COMM_WORLD and communicators
 * made from it, beside messages that any receive takes. Sums are compared with those of nonblocking reductions, bit for bit:
 * these are the library's.
 *
 *   collectives SEED STEPS */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 40 /* elements */
#define COMMS 4

static int world_rank, world_size;
static uint64_t state;
static MPI_Comm comms[COMMS];
static MPI_Datatype gaps; /* an int of every two */

/* The same on all ranks. */
static unsigned next(unsigned below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(state >> 33) % below;
}

static void wrong(const char *what, int step)
{
    printf("collectives: rank %d, step %d: %s is wrong\n", world_rank, step, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static uint64_t mixed(uint64_t a)
{
    a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
    a = (a ^ a >> 27) * 0x94d049bb133111ebu;
    return a ^ a >> 31;
}

static void left_of_two(void *in, void *inout, int *length, MPI_Datatype *type)
{
    (void)type;
    memcpy(inout, in, (size_t)*length * sizeof(int));
}

/* Numbers that are far apart, so that sums depend on their order; now and then one that is none, infinite or no number. */
static double real_of(uint64_t a)
{
    static const double odd[] = {0.0, -0.0, 1.0 / 0.0, -1.0 / 0.0, 0.0 / 0.0};
    uint64_t kind = a % 32;
    if (kind < 5)
        return odd[kind];
    double value = (double)(int64_t)mixed(a) / 4096;
    for (uint64_t i = a / 32 % 40; i > 0; i--)
        value /= 7;
    return value;
}

static void fill(MPI_Datatype type, void *to, int count, uint64_t seed, bool is_plain)
{
    for (int i = 0; i < count; i++) {
        uint64_t a = mixed(seed + (uint64_t)i);
        double real = is_plain ? (double)(int64_t)(a % 1000) - 500.25 : real_of(a);
        if (type == MPI_DOUBLE)
            ((double *)to)[i] = real;
        else if (type == MPI_FLOAT)
            ((float *)to)[i] = (float)real;
        else if (type == MPI_INT64_T || type == MPI_UINT64_T)
            ((uint64_t *)to)[i] = a;
        else
            ((uint32_t *)to)[i] = (uint32_t)a;
    }
}

static void reduce(MPI_Comm comm, int step)
{
    static const MPI_Datatype types[] = {MPI_INT, MPI_UNSIGNED, MPI_INT64_T, MPI_UINT64_T, MPI_FLOAT, MPI_DOUBLE};
    static const MPI_Op ops[] = {MPI_SUM, MPI_MIN,  MPI_MAX,  MPI_PROD, MPI_BAND,
                                 MPI_BOR, MPI_BXOR, MPI_LAND, MPI_LOR,  MPI_LXOR};
    uint64_t own[LONGEST], card[LONGEST], library[LONGEST];
    MPI_Datatype type = types[next(6)];
    bool is_real = type == MPI_FLOAT || type == MPI_DOUBLE;
    MPI_Op op = ops[next(is_real ? 4 : 10)];
    int count = (int)next(next(3) ? 17 : LONGEST), size;
    uint64_t seed = state;
    MPI_Request request;
    MPI_Type_size(type, &size);
    memset(card, 0, sizeof card);
    memset(library, 0, sizeof library);
    /* The library's ranks do not agree about the least of two zeros, or of no number. */
    fill(type, own, count, seed ^ mixed((uint64_t)world_rank), op == MPI_MIN || op == MPI_MAX);
    MPI_Iallreduce(own, library, count, type, op, comm, &request);
    if (next(2)) {
        memcpy(card, own, (size_t)(count * size));
        MPI_Allreduce(MPI_IN_PLACE, card, count, type, op, comm);
    } else {
        MPI_Allreduce(own, card, count, type, op, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (memcmp(card, library, sizeof card) != 0)
        wrong("an allreduce", step);
}

static void broadcast(MPI_Comm comm, int step)
{
    int data[2 * LONGEST], size, rank, count = (int)next(LONGEST), root;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    /* Members of a part may be fewer. */
    root = (int)next(1000) % size;
    int seed = (int)(state & 0xffff);
    bool has_gaps = next(4) == 0 && (mixed((uint64_t)(seed + rank)) & 1);
    int stride = has_gaps ? 2 : 1;
    for (int i = 0; i < 2 * LONGEST; i++)
        data[i] = rank == root ? seed + i / stride : -1;
    MPI_Bcast(data, count, has_gaps ? gaps : MPI_INT, root, comm);
    for (int i = 0; i < count; i++)
        if (data[i * stride] != seed + i)
            wrong("a broadcast", step);
    for (int i = count * stride; rank != root && i < 2 * LONGEST; i++)
        if (data[i] != -1)
            wrong("what is behind a broadcast", step);
}

/* Of no operator of the card's, and of one that is not commutative. */
static void reduce_by_library(MPI_Comm comm, int step, MPI_Op first)
{
    int rank, size, got;
    struct {
        double value;
        int place;
    } own, least;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    MPI_Allreduce(&rank, &got, 1, MPI_INT, first, comm);
    if (got != 0)
        wrong("a reduction that does not commute", step);
    own.value = (rank + step) % size;
    own.place = rank;
    MPI_Allreduce(&own, &least, 1, MPI_DOUBLE_INT, MPI_MINLOC, comm);
    if (least.value != 0 || (least.place + step) % size != 0)
        wrong("a place", step);
}

static int root_of(MPI_Comm comm)
{
    int size;
    MPI_Comm_size(comm, &size);
    return (int)next(1000) % size; /* Members of a part may be fewer. */
}

static void reduce_to_root(MPI_Comm comm, int step)
{
    static const MPI_Datatype types[] = {MPI_INT, MPI_INT64_T, MPI_FLOAT, MPI_DOUBLE};
    uint64_t own[LONGEST], card[LONGEST], library[LONGEST];
    MPI_Datatype type = types[next(4)];
    int count = 1 + (int)next(next(3) ? 16 : LONGEST - 1), size, rank, root = root_of(comm);
    uint64_t seed = state;
    bool is_in_place = next(2);
    MPI_Request request;
    MPI_Type_size(type, &size);
    MPI_Comm_rank(comm, &rank);
    memset(card, 0, sizeof card);
    memset(library, 0, sizeof library);
    fill(type, own, count, seed ^ mixed((uint64_t)world_rank), false);
    MPI_Ireduce(own, library, count, type, MPI_SUM, root, comm, &request);
    if (is_in_place && rank == root) {
        memcpy(card, own, (size_t)(count * size));
        MPI_Reduce(MPI_IN_PLACE, card, count, type, MPI_SUM, root, comm);
    } else {
        MPI_Reduce(own, card, count, type, MPI_SUM, root, comm);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (memcmp(card, library, sizeof card) != 0)
        wrong("a reduction to a root", step);
}

static unsigned char byte_of(int seed, int rank, int i) { return (unsigned char)(seed + rank * 37 + i * 5); }

static void gather_or_scatter(MPI_Comm comm, int step, bool is_gather)
{
    static unsigned char all[64 * 2 * LONGEST * 4], own[LONGEST * 4 + 1];
    int size, rank, count = (int)next(LONGEST * 4), root = root_of(comm), seed = (int)(state & 0xff);
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    memset(own, 0xee, sizeof own);
    memset(all, 0xee, sizeof all);
    for (int i = 0; is_gather && i < count; i++)
        own[i] = byte_of(seed, rank, i);
    for (int i = 0; !is_gather && rank == root && i < size * count; i++)
        all[i] = byte_of(seed, i / count, i % count);
    if (is_gather)
        MPI_Gather(own, count, MPI_BYTE, all, count, MPI_BYTE, root, comm);
    else
        MPI_Scatter(all, count, MPI_BYTE, own, count, MPI_BYTE, root, comm);
    for (int i = 0; is_gather && rank == root && i < size * count; i++)
        if (all[i] != byte_of(seed, i / count, i % count))
            wrong("a gather", step);
    for (int i = 0; !is_gather && i < count; i++)
        if (own[i] != byte_of(seed, rank, i))
            wrong("a scatter", step);
    if (own[count] != 0xee || all[rank == root ? size * count : 0] != 0xee)
        wrong("what is behind a gather or scatter", step);
}

/* A message to the next rank, which any receive takes, goes on its way beside `step`'s collective. */
static void beside(MPI_Comm comm, int step, bool is_synchronous, MPI_Request requests[2], int numbers[2])
{
    int to = (world_rank + 1) % world_size;
    (void)comm;
    numbers[0] = world_rank * 1000 + step;
    MPI_Irecv(&numbers[1], 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
    if (is_synchronous)
        MPI_Issend(&numbers[0], 1, MPI_INT, to, step, MPI_COMM_WORLD, &requests[0]);
    else
        MPI_Isend(&numbers[0], 1, MPI_INT, to, step, MPI_COMM_WORLD, &requests[0]);
}

static void check_beside(int step, MPI_Request requests[2], const int numbers[2])
{
    MPI_Status statuses[2];
    int from = (world_rank + world_size - 1) % world_size;
    MPI_Waitall(2, requests, statuses);
    if (statuses[1].MPI_SOURCE != from || statuses[1].MPI_TAG != step || numbers[1] != from * 1000 + step)
        wrong("a message", step);
}

/* Late processes see what others have done before them. */
static void pause_a_while(int step)
{
    volatile int sink = 0;
    if (mixed((uint64_t)(step * 64 + world_rank)) % 3 == 0)
        for (int i = 0; i < 3000; i++)
            sink += i;
}

static void run(int step, MPI_Op first)
{
    MPI_Comm comm = comms[next(COMMS)];
    MPI_Request requests[2];
    int numbers[2];
    unsigned what = next(17);
    bool is_beside = next(3) == 0, is_synchronous = next(2);
    pause_a_while(step);
    if (is_beside)
        beside(comm, step, is_synchronous, requests, numbers);
    if (what < 2)
        MPI_Barrier(comm);
    else if (what < 6)
        broadcast(comm, step);
    else if (what < 10)
        reduce(comm, step);
    else if (what < 11)
        reduce_by_library(comm, step, first);
    else if (what < 14)
        reduce_to_root(comm, step);
    else
        gather_or_scatter(comm, step, next(2));
    if (is_beside)
        check_beside(step, requests, numbers);
}

int main(int argc, char **argv)
{
    MPI_Op first;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_size);
    int seed = argc > 1 ? atoi(argv[1]) : 1, steps = argc > 2 ? atoi(argv[2]) : 40;
    state = (uint64_t)seed;
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &comms[2]);
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % 3 == 1, world_rank * 5 % 7, &comms[3]);
    MPI_Op_create(left_of_two, 0, &first);
    MPI_Type_vector(1, 1, 2, MPI_INT, &gaps);
    MPI_Type_create_resized(gaps, 0, 2 * sizeof(int), &gaps);
    MPI_Type_commit(&gaps);
    for (int step = 0; step < steps; step++)
        run(step, first);
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 0)
        printf("collectives, seed %d: PASSED\n", seed);
    MPI_Finalize();
    return 0;
}
