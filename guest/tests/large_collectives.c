/* Collectives whose counts are MPI_Count: what those with int counts do, in all their forms; what fits no int is
 * refused, unless it means nothing in this process. */
#include <limits.h>
#include <string.h>

#include "check.h"

enum { RANKS_MAX = 16 };
static const MPI_Count FAR = (MPI_Count)1 << 33;

/* Runs a collective in its three forms and checks what each leaves. */
#define IN_THREE_FORMS(comm, name, lower, check, ...)                                              \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        prepare();                                                                                 \
        CHECK_EQUAL(MPI_##name##_c(__VA_ARGS__, comm), MPI_SUCCESS);                               \
        check;                                                                                     \
        prepare();                                                                                 \
        CHECK_EQUAL(MPI_I##lower##_c(__VA_ARGS__, comm, &request), MPI_SUCCESS);                   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                     \
        check;                                                                                     \
        CHECK_EQUAL(MPI_##name##_init_c(__VA_ARGS__, comm, MPI_INFO_NULL, &request), MPI_SUCCESS); \
        for (int i = 0; i < 2; i++) {                                                              \
            prepare();                                                                             \
            MPI_Start(&request);                                                                   \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                 \
            check;                                                                                 \
        }                                                                                          \
        MPI_Request_free(&request);                                                                \
    } while (0)

static int in[2 * RANKS_MAX], out[2 * RANKS_MAX];

/* Element i of rank r is 100 r + i. */
static void prepare(void)
{
    for (int i = 0; i < 2 * RANKS_MAX; i++)
        in[i] = 100 * check_rank + i, out[i] = -1;
}

static int sum(int element) { return 100 * check_size * (check_size - 1) / 2 + check_size * element; }

static void reductions(void)
{
    int root = check_size - 1;
    IN_THREE_FORMS(MPI_COMM_WORLD, Bcast, bcast, CHECK(in[0] == 100 * root && in[1] == 100 * root + 1), in, 2, MPI_INT,
                   root);
    IN_THREE_FORMS(MPI_COMM_WORLD, Reduce, reduce, CHECK_EQUAL(out[1], check_rank == root ? sum(1) : -1), in, out, 2,
                   MPI_INT, MPI_SUM, root);
    IN_THREE_FORMS(MPI_COMM_WORLD, Allreduce, allreduce, CHECK(out[0] == sum(0) && out[1] == sum(1)), in, out, 2,
                   MPI_INT, MPI_SUM);
    IN_THREE_FORMS(MPI_COMM_WORLD, Reduce_scatter_block, reduce_scatter_block,
                   CHECK_EQUAL(out[1], sum(2 * check_rank + 1)), in, out, 2, MPI_INT, MPI_SUM);
    IN_THREE_FORMS(MPI_COMM_WORLD, Scan, scan, CHECK_EQUAL(out[1], 50 * check_rank * (check_rank + 1) + check_rank + 1),
                   in, out, 2, MPI_INT, MPI_SUM);
    IN_THREE_FORMS(MPI_COMM_WORLD, Exscan, exscan,
                   CHECK(!check_rank || out[1] == 50 * check_rank * (check_rank - 1) + check_rank), in, out, 2, MPI_INT,
                   MPI_SUM);
    int half[2] = {1, 2}, whole[2] = {3, 4};
    CHECK_EQUAL(MPI_Reduce_local_c(half, whole, 2, MPI_INT, MPI_SUM), MPI_SUCCESS);
    CHECK(whole[0] == 4 && whole[1] == 6);
}

/* The others' counts at the root mean nothing elsewhere. */
static void blocks(void)
{
    MPI_Count beside = check_rank ? FAR : 2;
    IN_THREE_FORMS(MPI_COMM_WORLD, Gather, gather,
                   CHECK_EQUAL(out[2 * check_size - 1], check_rank ? -1 : 100 * (check_size - 1) + 1), in, 2, MPI_INT,
                   out, beside, MPI_INT, 0);
    IN_THREE_FORMS(MPI_COMM_WORLD, Scatter, scatter, CHECK(out[0] == 2 * check_rank && out[1] == 2 * check_rank + 1),
                   in, beside, MPI_INT, out, 2, MPI_INT, 0);
    IN_THREE_FORMS(MPI_COMM_WORLD, Allgather, allgather,
                   CHECK_EQUAL(out[2 * check_size - 1], 100 * (check_size - 1) + 1), in, 2, MPI_INT, out, 2, MPI_INT);
    IN_THREE_FORMS(MPI_COMM_WORLD, Alltoall, alltoall,
                   CHECK_EQUAL(out[2 * check_size - 1], 100 * (check_size - 1) + 2 * check_rank + 1), in, 2, MPI_INT,
                   out, 2, MPI_INT);
    prepare();
    out[2 * check_rank] = 7;
    MPI_Allgather_c(MPI_IN_PLACE, FAR, MPI_INT, out, 2, MPI_INT, MPI_COMM_WORLD);
    CHECK_EQUAL(out[2 * check_size - 2], 7);
}

/* Block r has r % 2 + 1 elements, and stands at 2 r. */
static void arrays(void)
{
    MPI_Count counts[RANKS_MAX], own = check_rank % 2 + 1, all[RANKS_MAX];
    MPI_Aint places[RANKS_MAX];
    MPI_Datatype types[RANKS_MAX];
    for (int r = 0; r < check_size; r++)
        counts[r] = r % 2 + 1, all[r] = own, places[r] = 2 * r, types[r] = MPI_INT;
    int last = check_size - 1, before = check_rank + check_rank / 2;
    const MPI_Count *all_counts = check_rank ? NULL : counts;
    const MPI_Aint *all_places = check_rank ? NULL : places;
    IN_THREE_FORMS(MPI_COMM_WORLD, Gatherv, gatherv,
                   CHECK(out[2 * last] == (check_rank ? -1 : 100 * last) && out[1] == -1), in, own, MPI_INT, out,
                   all_counts, all_places, MPI_INT, 0);
    IN_THREE_FORMS(MPI_COMM_WORLD, Scatterv, scatterv,
                   CHECK(out[own - 1] == 2 * check_rank + own - 1 && out[own] == -1), in, all_counts, all_places,
                   MPI_INT, out, own, MPI_INT, 0);
    IN_THREE_FORMS(MPI_COMM_WORLD, Allgatherv, allgatherv, CHECK_EQUAL(out[2 * last], 100 * last), in, own, MPI_INT,
                   out, counts, places, MPI_INT);
    IN_THREE_FORMS(MPI_COMM_WORLD, Alltoallv, alltoallv, CHECK_EQUAL(out[2 * last], 100 * last + 2 * check_rank), in,
                   counts, places, MPI_INT, out, all, places, MPI_INT);
    IN_THREE_FORMS(MPI_COMM_WORLD, Reduce_scatter, reduce_scatter, CHECK(out[0] == sum(before) && out[own] == -1), in,
                   out, counts, MPI_INT, MPI_SUM);
    IN_THREE_FORMS(MPI_COMM_SELF, Reduce_scatter, reduce_scatter, CHECK(out[own - 1] == in[own - 1] && out[own] == -1),
                   in, out, all, MPI_INT, MPI_SUM);
    for (int r = 0; r < check_size; r++)
        places[r] *= (MPI_Aint)sizeof(int);
    IN_THREE_FORMS(MPI_COMM_WORLD, Alltoallw, alltoallw, CHECK_EQUAL(out[2 * last], 100 * last + 2 * check_rank), in,
                   counts, places, types, out, all, places, types);
}

/* A block goes up and one down; in has one of 2 elements for each, out one from each at 0 and 4. */
static void neighbors(void)
{
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (const int[]){1}, 0, &ring);
    int above = 100 * ((check_rank + 1) % check_size), below = 100 * ((check_rank + check_size - 1) % check_size);
    IN_THREE_FORMS(ring, Neighbor_allgather, neighbor_allgather, CHECK(out[0] == below && out[1] == above), in, 1,
                   MPI_INT, out, 1, MPI_INT);
    IN_THREE_FORMS(ring, Neighbor_alltoall, neighbor_alltoall, CHECK(out[0] == below + 1 && out[1] == above), in, 1,
                   MPI_INT, out, 1, MPI_INT);
    MPI_Count counts[2] = {2, 2};
    MPI_Aint from[2] = {0, 2}, to[2] = {0, 4}, bytes_from[2] = {0, 8}, bytes_to[2] = {0, 16};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    IN_THREE_FORMS(ring, Neighbor_allgatherv, neighbor_allgatherv,
                   CHECK(out[1] == below + 1 && out[2] == -1 && out[5] == above + 1), in, 2, MPI_INT, out, counts, to,
                   MPI_INT);
    IN_THREE_FORMS(ring, Neighbor_alltoallv, neighbor_alltoallv,
                   CHECK(out[1] == below + 3 && out[2] == -1 && out[5] == above + 1), in, counts, from, MPI_INT, out,
                   counts, to, MPI_INT);
    IN_THREE_FORMS(ring, Neighbor_alltoallw, neighbor_alltoallw,
                   CHECK(out[1] == below + 3 && out[2] == -1 && out[5] == above + 1), in, counts, bytes_from, types,
                   out, counts, bytes_to, types);
    MPI_Comm_free(&ring);
}

static void refusals(void)
{
    MPI_Count counts[RANKS_MAX] = {0}, far[RANKS_MAX] = {FAR};
    MPI_Aint places[RANKS_MAX] = {0}, far_off[RANKS_MAX] = {-FAR};
    MPI_Request request;
    const MPI_Comm world = MPI_COMM_WORLD;
    CHECK_EQUAL(MPI_Bcast_c(in, FAR, MPI_BYTE, 0, world), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Ibcast_c(in, -1, MPI_BYTE, 0, world, &request), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Allreduce_c(in, out, FAR, MPI_INT, MPI_SUM, world), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Alltoall_c(in, 1, MPI_INT, out, FAR, MPI_INT, world), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Alltoallv_c(in, counts, places, MPI_INT, out, far, places, MPI_INT, world),
                MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Alltoallv_c(in, counts, places, MPI_INT, out, counts, far_off, MPI_INT, world),
                MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Ialltoallv_c(in, counts, places, MPI_INT, out, far, places, MPI_INT, world, &request),
                MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Neighbor_alltoallv_c(in, counts, places, MPI_INT, out, counts, places, MPI_INT, world),
                MPI_ERR_TOPOLOGY);
    CHECK_EQUAL(MPI_Reduce_scatter_c(in, out, far, MPI_INT, MPI_SUM, world), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Reduce_local_c(in, out, FAR, MPI_INT, MPI_SUM), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Bcast_c(in, FAR, MPI_BYTE, 0, MPI_COMM_NULL), MPI_ERR_COMM);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    reductions();
    blocks();
    arrays();
    neighbors();
    refusals();
    return check_end("large_collectives");
}
