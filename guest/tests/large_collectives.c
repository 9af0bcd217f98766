/* Collectives whose counts are MPI_Count: what those with int counts do, in all their forms; what fits no int is
 * refused, unless it means nothing in this process. */
#include <limits.h>
#include <string.h>

#include "check.h"

enum { RANKS_MAX = 16 };
static const MPI_Count FAR = (MPI_Count)1 << 33;

/* Runs a collective in its three forms and checks what each leaves. */
#define IN_THREE_FORMS(name, lower, check, ...)                                                              \
    do {                                                                                                     \
        MPI_Request request;                                                                                 \
        prepare();                                                                                           \
        CHECK_EQUAL(MPI_##name##_c(__VA_ARGS__, MPI_COMM_WORLD), MPI_SUCCESS);                               \
        check;                                                                                               \
        prepare();                                                                                           \
        CHECK_EQUAL(MPI_I##lower##_c(__VA_ARGS__, MPI_COMM_WORLD, &request), MPI_SUCCESS);                   \
        MPI_Wait(&request, MPI_STATUS_IGNORE);                                                               \
        check;                                                                                               \
        CHECK_EQUAL(MPI_##name##_init_c(__VA_ARGS__, MPI_COMM_WORLD, MPI_INFO_NULL, &request), MPI_SUCCESS); \
        for (int i = 0; i < 2; i++) {                                                                        \
            prepare();                                                                                       \
            MPI_Start(&request);                                                                             \
            MPI_Wait(&request, MPI_STATUS_IGNORE);                                                           \
            check;                                                                                           \
        }                                                                                                    \
        MPI_Request_free(&request);                                                                          \
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
    IN_THREE_FORMS(Bcast, bcast, CHECK(in[0] == 100 * root && in[1] == 100 * root + 1), in, 2, MPI_INT, root);
    IN_THREE_FORMS(Reduce, reduce, CHECK_EQUAL(out[1], check_rank == root ? sum(1) : -1), in, out, 2, MPI_INT, MPI_SUM,
                   root);
    IN_THREE_FORMS(Allreduce, allreduce, CHECK(out[0] == sum(0) && out[1] == sum(1)), in, out, 2, MPI_INT, MPI_SUM);
    IN_THREE_FORMS(Reduce_scatter_block, reduce_scatter_block, CHECK_EQUAL(out[1], sum(2 * check_rank + 1)), in, out, 2,
                   MPI_INT, MPI_SUM);
    IN_THREE_FORMS(Scan, scan, CHECK_EQUAL(out[1], 50 * check_rank * (check_rank + 1) + check_rank + 1), in, out, 2,
                   MPI_INT, MPI_SUM);
    IN_THREE_FORMS(Exscan, exscan, CHECK(!check_rank || out[1] == 50 * check_rank * (check_rank - 1) + check_rank), in,
                   out, 2, MPI_INT, MPI_SUM);
    int half[2] = {1, 2}, whole[2] = {3, 4};
    CHECK_EQUAL(MPI_Reduce_local_c(half, whole, 2, MPI_INT, MPI_SUM), MPI_SUCCESS);
    CHECK(whole[0] == 4 && whole[1] == 6);
}

/* The others' counts at the root mean nothing elsewhere. */
static void blocks(void)
{
    MPI_Count beside = check_rank ? FAR : 2;
    IN_THREE_FORMS(Gather, gather, CHECK_EQUAL(out[2 * check_size - 1], check_rank ? -1 : 100 * (check_size - 1) + 1),
                   in, 2, MPI_INT, out, beside, MPI_INT, 0);
    IN_THREE_FORMS(Scatter, scatter, CHECK(out[0] == 2 * check_rank && out[1] == 2 * check_rank + 1), in, beside,
                   MPI_INT, out, 2, MPI_INT, 0);
    IN_THREE_FORMS(Allgather, allgather, CHECK_EQUAL(out[2 * check_size - 1], 100 * (check_size - 1) + 1), in, 2,
                   MPI_INT, out, 2, MPI_INT);
    IN_THREE_FORMS(Alltoall, alltoall,
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
    int last = check_size - 1;
    prepare();
    MPI_Gatherv_c(in, own, MPI_INT, out, check_rank ? NULL : counts, check_rank ? NULL : places, MPI_INT, 0,
                  MPI_COMM_WORLD);
    CHECK_EQUAL(out[2 * last], check_rank ? -1 : 100 * last);
    CHECK_EQUAL(out[1], -1);
    prepare();
    MPI_Scatterv_c(in, check_rank ? NULL : counts, check_rank ? NULL : places, MPI_INT, out, own, MPI_INT, 0,
                   MPI_COMM_WORLD);
    CHECK(out[own - 1] == 2 * check_rank + own - 1 && out[own] == -1);
    prepare();
    MPI_Allgatherv_c(in, own, MPI_INT, out, counts, places, MPI_INT, MPI_COMM_WORLD);
    CHECK_EQUAL(out[2 * last], 100 * last);
    prepare();
    MPI_Alltoallv_c(in, counts, places, MPI_INT, out, all, places, MPI_INT, MPI_COMM_WORLD);
    CHECK_EQUAL(out[2 * last], 100 * last + 2 * check_rank);
    prepare();
    for (int r = 0; r < check_size; r++)
        places[r] *= (MPI_Aint)sizeof(int);
    MPI_Alltoallw_c(in, counts, places, types, out, all, places, types, MPI_COMM_WORLD);
    CHECK_EQUAL(out[2 * last], 100 * last + 2 * check_rank);
    prepare();
    MPI_Reduce_scatter_c(in, out, all, MPI_INT, MPI_SUM, MPI_COMM_SELF);
    CHECK(out[own - 1] == in[own - 1] && out[own] == -1);
    prepare();
    MPI_Reduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int before = check_rank + check_rank / 2;
    CHECK(out[0] == sum(before) && out[own] == -1);
}

static void neighbors(void)
{
    MPI_Comm ring;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &check_size, (const int[]){1}, 0, &ring);
    prepare();
    MPI_Neighbor_allgather_c(in, 1, MPI_INT, out, 1, MPI_INT, ring);
    CHECK_EQUAL(out[1], 100 * ((check_rank + 1) % check_size));
    prepare();
    MPI_Neighbor_alltoall_c(in, 1, MPI_INT, out, 1, MPI_INT, ring);
    CHECK_EQUAL(out[1], 100 * ((check_rank + 1) % check_size));
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
