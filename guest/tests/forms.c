/* Forms of functions whose other forms are tested elsewhere: persistent collectives beside their blocking
 * forms, large counts, names with `_x`, duplicates with info, names of MPI-1. */
#include "check.h"

enum { MOST = 64, ROUNDS = 3, FORMS = 11 };

static int input[MOST], blocking[FORMS][MOST], persistent[FORMS][MOST];
static int counts[MOST], places[MOST], bytes[MOST];
static MPI_Datatype types[MOST];

static void blocking_forms(int root)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    MPI_Gather(input, 1, MPI_INT, blocking[0], 1, MPI_INT, root, world);
    MPI_Gatherv(input, counts[check_rank], MPI_INT, blocking[1], counts, places, MPI_INT, root, world);
    MPI_Scatter(input, 1, MPI_INT, blocking[2], 1, MPI_INT, root, world);
    MPI_Scatterv(input, counts, places, MPI_INT, blocking[3], counts[check_rank], MPI_INT, root, world);
    MPI_Allgather(input, 1, MPI_INT, blocking[4], 1, MPI_INT, world);
    MPI_Allgatherv(input, counts[check_rank], MPI_INT, blocking[5], counts, places, MPI_INT, world);
    MPI_Alltoall(input, 1, MPI_INT, blocking[6], 1, MPI_INT, world);
    MPI_Reduce(input, blocking[7], 2, MPI_INT, MPI_SUM, root, world);
    MPI_Reduce_scatter(input, blocking[8], counts, MPI_INT, MPI_MAX, world);
    MPI_Reduce_scatter_block(input, blocking[9], 1, MPI_INT, MPI_SUM, world);
    if (check_rank > 0)
        MPI_Exscan(input, blocking[10], 2, MPI_INT, MPI_SUM, world);
    else
        MPI_Exscan(input, persistent[10], 2, MPI_INT, MPI_SUM, world); /* Undefined there. */
}

static void persistent_collectives(void)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    const MPI_Info info = MPI_INFO_NULL;
    int root = check_size - 1, left[MOST], right[MOST], undefined[2];
    MPI_Request requests[FORMS + 2];
    MPI_Gather_init(input, 1, MPI_INT, persistent[0], 1, MPI_INT, root, world, info, &requests[0]);
    MPI_Gatherv_init(input, counts[check_rank], MPI_INT, persistent[1], counts, places, MPI_INT, root, world, info,
                     &requests[1]);
    MPI_Scatter_init(input, 1, MPI_INT, persistent[2], 1, MPI_INT, root, world, info, &requests[2]);
    MPI_Scatterv_init(input, counts, places, MPI_INT, persistent[3], counts[check_rank], MPI_INT, root, world, info,
                      &requests[3]);
    MPI_Allgather_init(input, 1, MPI_INT, persistent[4], 1, MPI_INT, world, info, &requests[4]);
    MPI_Allgatherv_init(input, counts[check_rank], MPI_INT, persistent[5], counts, places, MPI_INT, world, info,
                        &requests[5]);
    MPI_Alltoall_init(input, 1, MPI_INT, persistent[6], 1, MPI_INT, world, info, &requests[6]);
    MPI_Reduce_init(input, persistent[7], 2, MPI_INT, MPI_SUM, root, world, info, &requests[7]);
    MPI_Reduce_scatter_init(input, persistent[8], counts, MPI_INT, MPI_MAX, world, info, &requests[8]);
    MPI_Reduce_scatter_block_init(input, persistent[9], 1, MPI_INT, MPI_SUM, world, info, &requests[9]);
    MPI_Exscan_init(input, check_rank > 0 ? persistent[10] : undefined, 2, MPI_INT, MPI_SUM, world, info,
                    &requests[10]);
    /* One element from and to each, at its own place: what MPI_Alltoall does. */
    int ones[MOST];
    for (int i = 0; i < check_size; i++) {
        ones[i] = 1;
        places[i] = i;
        bytes[i] = i * (int)sizeof(int);
        types[i] = MPI_INT;
    }
    MPI_Alltoallv_init(input, ones, places, MPI_INT, left, ones, places, MPI_INT, world, info, &requests[FORMS]);
    MPI_Alltoallw_init(input, ones, bytes, types, right, ones, bytes, types, world, info, &requests[FORMS + 1]);
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < MOST; i++)
            input[i] = round * 1000 + check_rank * 100 + i;
        memset(persistent, 0, sizeof persistent);
        memset(blocking, 0, sizeof blocking);
        for (int i = 0; i < FORMS + 2; i++) {
            MPI_Start(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
        int kept[2] = {persistent[10][0], persistent[10][1]};
        blocking_forms(root);
        memcpy(persistent[10], kept, sizeof kept);
        for (int i = 0; i < FORMS; i++)
            CHECK(memcmp(blocking[i], persistent[i], sizeof blocking[i]) == 0);
        CHECK(memcmp(left, blocking[6], (size_t)check_size * sizeof *left) == 0);
        CHECK(memcmp(right, blocking[6], (size_t)check_size * sizeof *right) == 0);
    }
    for (int i = 0; i < FORMS + 2; i++)
        MPI_Request_free(&requests[i]);
}

/* A message of each kind of send, received with a large count. */
static void large_counts(void)
{
    static char buffer[4 * (MOST * sizeof(int) + MPI_BSEND_OVERHEAD)];
    int to = (check_rank + 1) % check_size, from = (check_rank + check_size - 1) % check_size, got[MOST];
    const MPI_Count count = 5;
    MPI_Request send, receive, ready[2];
    MPI_Status status;
    MPI_Buffer_attach(buffer, sizeof buffer);
    MPI_Bsend_c(input, count, MPI_INT, to, 1, MPI_COMM_WORLD);
    MPI_Ibsend_c(input, count, MPI_INT, to, 2, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Bsend_init_c(input, count, MPI_INT, to, 3, MPI_COMM_WORLD, &send);
    MPI_Start(&send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Request_free(&send);
    for (int tag = 1; tag <= 3; tag++) {
        MPI_Recv_c(got, MOST, MPI_INT, from, tag, MPI_COMM_WORLD, &status);
        MPI_Count elements;
        MPI_Get_elements_x(&status, MPI_INT, &elements);
        CHECK_EQUAL(elements, count);
        CHECK_EQUAL(got[4] - got[0], 4);
    }
    void *detached;
    int size;
    MPI_Buffer_detach(&detached, &size);
    for (int form = 0; form < 7; form++) {
        /* Ready sends need their receive: the sender hears of it first. */
        MPI_Irecv(got, MOST, MPI_INT, from, 10 + form, MPI_COMM_WORLD, &receive);
        MPI_Isend(NULL, 0, MPI_INT, from, 9, MPI_COMM_WORLD, &ready[0]);
        MPI_Irecv(NULL, 0, MPI_INT, to, 9, MPI_COMM_WORLD, &ready[1]);
        MPI_Waitall(2, ready, MPI_STATUSES_IGNORE);
        send = MPI_REQUEST_NULL;
        switch (form) {
        case 0: MPI_Issend_c(input, count, MPI_INT, to, 10, MPI_COMM_WORLD, &send); break;
        case 1: MPI_Irsend_c(input, count, MPI_INT, to, 11, MPI_COMM_WORLD, &send); break;
        case 2: MPI_Rsend_c(input, count, MPI_INT, to, 12, MPI_COMM_WORLD); break;
        case 3: MPI_Ssend_init_c(input, count, MPI_INT, to, 13, MPI_COMM_WORLD, &send); break;
        case 4: MPI_Rsend_init_c(input, count, MPI_INT, to, 14, MPI_COMM_WORLD, &send); break;
        case 5: MPI_Send_init_c(input, count, MPI_INT, to, 15, MPI_COMM_WORLD, &send); break;
        case 6: MPI_Ssend_c(input, count, MPI_INT, to, 16, MPI_COMM_WORLD); break;
        }
        if (form >= 3 && form <= 5)
            MPI_Start(&send);
        MPI_Wait(&receive, &status);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        if (form >= 3 && form <= 5)
            MPI_Request_free(&send);
        int elements;
        MPI_Get_count(&status, MPI_INT, &elements);
        CHECK_EQUAL(elements, count);
        CHECK_EQUAL(got[4] - got[0], 4);
    }
}

static void types_with_x(void)
{
    MPI_Datatype type;
    MPI_Count size, lb, extent;
    MPI_Status status;
    const MPI_Aint displacements[2] = {8, 32};
    MPI_Type_create_hindexed_block(2, 2, displacements, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Type_size_x(type, &size);
    CHECK_EQUAL(size, 16);
    MPI_Type_get_extent_x(type, &lb, &extent);
    CHECK_EQUAL(lb, 8);
    CHECK_EQUAL(extent, 32);
    MPI_Type_get_true_extent_x(type, &lb, &extent);
    CHECK_EQUAL(lb, 8);
    CHECK_EQUAL(extent, 32);
    memset(&status, 0, sizeof status);
    MPI_Status_set_elements_x(&status, type, 6);
    MPI_Get_elements_x(&status, type, &size);
    CHECK_EQUAL(size, 6);
    MPI_Type_free(&type);
}

static void info_forms(void)
{
    MPI_Info info, copy, environment;
    char value[16];
    int length = sizeof value, found = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_dup(info, &copy);
    MPI_Info_set(info, "key", "other");
    MPI_Info_get_string(copy, "key", &length, value, &found);
    CHECK(found && strcmp(value, "value") == 0);
    MPI_Info_create_env(0, NULL, &environment);
    CHECK(environment != MPI_INFO_NULL);
    MPI_Info_free(&environment);
    MPI_Info_free(&copy);

    MPI_Comm comm;
    MPI_Request request;
    int result;
    MPI_Comm_idup_with_info(MPI_COMM_WORLD, info, &comm, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Comm_compare(comm, MPI_COMM_WORLD, &result);
    CHECK_EQUAL(result, MPI_CONGRUENT);
    MPI_Comm_disconnect(&comm);
    CHECK(comm == MPI_COMM_NULL);
    MPI_Info_free(&info);
    MPI_Comm_get_parent(&comm);
    CHECK(comm == MPI_COMM_NULL);
}

static int class_seen;

static void note(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    MPI_Error_class(*code, &class_seen);
}

static void old_names(void)
{
    MPI_Errhandler handler;
    int version, subversion;
    MPI_Errhandler_create(note, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Send(input, -1, MPI_INT, 0, 0, MPI_COMM_SELF);
    CHECK_EQUAL(class_seen, MPI_ERR_COUNT);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Errhandler_free(&handler);
    MPI_Abi_get_version(&version, &subversion);
    CHECK_EQUAL(version, MPI_ABI_VERSION);
    CHECK_EQUAL(subversion, MPI_ABI_SUBVERSION);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    for (int i = 0, at = 0; i < check_size; at += counts[i++]) {
        counts[i] = i % 3;
        places[i] = at;
    }
    persistent_collectives();
    large_counts();
    types_with_x();
    info_forms();
    old_names();
    return check_end("forms");
}
