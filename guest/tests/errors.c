/* Errors that are returned: each argument checked, truncation, handlers, codes that the program adds. */
#include "check.h"

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

static void arguments(void)
{
    int value = 0, flag, ranks[2] = {0, check_size};
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Datatype raw, type;
    MPI_Comm comm;
    MPI_Group group, made;
    FAILS(MPI_Send(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
    FAILS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
    FAILS(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Isend(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, &request), MPI_ERR_RANK);
    FAILS(MPI_Recv(&value, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    FAILS(MPI_Irecv(&value, 1, MPI_INT, 0, -7, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    FAILS(MPI_Recv_init(&value, -3, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    FAILS(MPI_Probe(check_size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
    FAILS(MPI_Start(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Cancel(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Request_free(&request), MPI_ERR_REQUEST);
    FAILS(MPI_Bsend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    MPI_Type_contiguous(2, MPI_INT, &raw);
    FAILS(MPI_Send(&value, 1, raw, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    MPI_Type_free(&raw);
    FAILS(MPI_Type_free(&raw), MPI_ERR_TYPE);
    type = MPI_INT;
    FAILS(MPI_Type_free(&type), MPI_ERR_TYPE);
    FAILS(MPI_Type_contiguous(-1, MPI_INT, &type), MPI_ERR_COUNT);
    FAILS(MPI_Bcast(&value, 1, MPI_INT, check_size, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Reduce(&value, &flag, 1, MPI_INT, MPI_SUM, -1, MPI_COMM_WORLD), MPI_ERR_ROOT);
    FAILS(MPI_Allreduce(&value, &flag, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD), MPI_ERR_OP);
    FAILS(MPI_Allreduce(&value, &flag, 1, MPI_DOUBLE, MPI_BAND, MPI_COMM_WORLD), MPI_ERR_OP);
    comm = MPI_COMM_WORLD;
    FAILS(MPI_Comm_free(&comm), MPI_ERR_COMM);
    FAILS(MPI_Comm_rank(MPI_COMM_NULL, &value), MPI_ERR_COMM);
    FAILS(MPI_Cart_rank(MPI_COMM_WORLD, ranks, &value), MPI_ERR_TOPOLOGY);
    MPI_Comm_group(MPI_COMM_WORLD, &group);
    FAILS(MPI_Group_incl(group, 2, ranks, &made), MPI_ERR_RANK);
    ranks[1] = 0;
    FAILS(MPI_Group_incl(group, 2, ranks, &made), MPI_ERR_RANK);
    MPI_Group_free(&group);
    FAILS(MPI_Group_size(group, &value), MPI_ERR_GROUP);
    int dims[2] = {check_size + 1, 1}, periods[2] = {0, 0}, odd[2] = {5, 0};
    FAILS(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &comm), MPI_ERR_DIMS);
    FAILS(MPI_Dims_create(12, 2, odd), MPI_ERR_DIMS);
    FAILS(MPI_Init(NULL, NULL), MPI_ERR_OTHER);
    CHECK_EQUAL(value == value, 1);
}

static void truncation(int sent, int room)
{
    static int data[6000], got[6000];
    MPI_Status status, statuses[2];
    MPI_Request requests[2];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, count;
    for (int i = 0; i < sent; i++)
        data[i] = i + 1;
    memset(got, 0, sizeof got);
    MPI_Isend(data, sent, MPI_INT, right, 0, MPI_COMM_WORLD, &requests[0]);
    FAILS(MPI_Recv(got, room, MPI_INT, left, 0, MPI_COMM_WORLD, &status), MPI_ERR_TRUNCATE);
    CHECK_EQUAL(status.MPI_SOURCE, left);
    CHECK_EQUAL(got[room], 0);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Irecv(got, room, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(got + 3000, 2, MPI_INT, left, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Request sends[2];
    MPI_Isend(data, sent, MPI_INT, right, 1, MPI_COMM_WORLD, &sends[0]);
    MPI_Isend(data, 2, MPI_INT, right, 2, MPI_COMM_WORLD, &sends[1]);
    FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    FAILS(statuses[0].MPI_ERROR, MPI_ERR_TRUNCATE);
    CHECK_EQUAL(statuses[1].MPI_ERROR, MPI_SUCCESS);
    CHECK_EQUAL(got[3001], 2);
    CHECK_EQUAL(got[room], 0);
    MPI_Waitall(2, sends, MPI_STATUSES_IGNORE);
    /* Afterwards all goes on as before. */
    MPI_Sendrecv(data, sent, MPI_INT, right, 3, got, sent, MPI_INT, left, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, sent);
    CHECK_EQUAL(got[sent - 1], sent);
}

static int handled, handled_class;
static void handler(MPI_Comm *comm, int *code, ...)
{
    (void)comm;
    handled++;
    handled_class = class_of(*code);
}

static void handlers(void)
{
    MPI_Errhandler mine, current;
    MPI_Comm comm, copy;
    char text[MPI_MAX_ERROR_STRING];
    int length, class, code;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &mine);
    MPI_Comm_set_errhandler(comm, mine);
    MPI_Errhandler_free(&mine);
    CHECK(mine == MPI_ERRHANDLER_NULL);
    FAILS(MPI_Send(NULL, 0, MPI_INT, check_size, 0, comm), MPI_ERR_RANK);
    CHECK(handled == 1 && handled_class == MPI_ERR_RANK);
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_free(&comm);
    MPI_Comm_call_errhandler(copy, MPI_ERR_TAG);
    CHECK(handled == 2 && handled_class == MPI_ERR_TAG);
    MPI_Errhandler_get(copy, &current);
    MPI_Errhandler_set(copy, MPI_ERRORS_RETURN);
    MPI_Comm_call_errhandler(copy, MPI_ERR_TAG);
    CHECK_EQUAL(handled, 2);
    MPI_Errhandler_free(&current);
    MPI_Comm_free(&copy);
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &current);
    CHECK(current == MPI_ERRORS_RETURN);
    for (class = 0; class <= MPI_ERR_ABI; class++) {
        CHECK_EQUAL(MPI_Error_string(class, text, &length), MPI_SUCCESS);
        CHECK(length > 0 && length == (int)strlen(text));
        CHECK(strncmp(text, "MPI_", 4) == 0 && strchr(text, ':') != NULL);
    }
    MPI_Add_error_class(&class);
    MPI_Add_error_code(class, &code);
    MPI_Add_error_string(code, "ours");
    CHECK_EQUAL(class_of(code), class);
    MPI_Error_string(code, text, &length);
    CHECK(strcmp(text, "ours") == 0);
    CHECK_EQUAL(MPI_Remove_error_string(code), MPI_SUCCESS);
    MPI_Error_string(code, text, &length);
    CHECK_EQUAL(length, 0);
    FAILS(MPI_Remove_error_string(code), MPI_ERR_ARG);
    FAILS(MPI_Remove_error_class(class), MPI_ERR_ARG); /* Its code is still there. */
    FAILS(MPI_Remove_error_class(code), MPI_ERR_ARG);
    FAILS(MPI_Remove_error_code(class), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Remove_error_code(code), MPI_SUCCESS);
    CHECK_EQUAL(MPI_Remove_error_class(class), MPI_SUCCESS);
    FAILS(MPI_Error_class(code, &length), MPI_ERR_ARG);
    FAILS(MPI_Error_string(class, text, &length), MPI_ERR_ARG);
    FAILS(MPI_Remove_error_class(MPI_ERR_TAG), MPI_ERR_ARG);
}

/* What a freed or null handle meets; what the functions that wait and test say of one. */
static void handles(void)
{
    int value = 0, flag, index, count;
    MPI_Request stale, requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[2];
    MPI_Datatype type, freed;
    MPI_Irecv(&value, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD, &requests[0]);
    stale = requests[0];
    MPI_Send(&value, 1, MPI_INT, check_rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    requests[1] = stale;
    FAILS(MPI_Wait(&requests[1], MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Test(&requests[1], &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Waitany(2, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Testsome(2, requests, &count, &index, statuses), MPI_ERR_REQUEST);
    FAILS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && class_of(statuses[1].MPI_ERROR) == MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status(stale, &flag, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
    FAILS(MPI_Request_get_status_all(2, requests, &flag, statuses), MPI_ERR_REQUEST);
    FAILS(MPI_Waitall(-1, requests, statuses), MPI_ERR_COUNT);
    FAILS(MPI_Waitany(-1, requests, &index, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
    FAILS(MPI_Waitsome(-1, requests, &count, &index, statuses), MPI_ERR_COUNT);
    FAILS(MPI_Testall(-1, requests, &flag, statuses), MPI_ERR_COUNT);
    MPI_Type_contiguous(3, MPI_INT, &type);
    freed = type;
    MPI_Type_free(&type);
    FAILS(MPI_Type_commit(&freed), MPI_ERR_TYPE);
    FAILS(MPI_Send(&value, 1, freed, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
    /* The type of no data is not checked. */
    CHECK_EQUAL(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    CHECK_EQUAL(MPI_Send(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 0, MPI_COMM_WORLD), MPI_SUCCESS);
}

static void packing(void)
{
    int values[2] = {1, 2}, position = 0, size = 0;
    char packed[16];
    FAILS(MPI_Pack(values, 3, MPI_INT, packed, 8, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    position = 12;
    FAILS(MPI_Pack(values, 1, MPI_INT, packed, 8, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    FAILS(MPI_Unpack(packed, 8, &position, values, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    position = -1;
    FAILS(MPI_Unpack(packed, 8, &position, values, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
    FAILS(MPI_Pack(values, -1, MPI_INT, packed, 8, &position, MPI_COMM_WORLD), MPI_ERR_COUNT);
    FAILS(MPI_Pack(values, 1, MPI_INT, packed, 8, &position, MPI_COMM_NULL), MPI_ERR_COMM);
    FAILS(MPI_Pack_size(1, MPI_DATATYPE_NULL, MPI_COMM_WORLD, &size), MPI_ERR_TYPE);
    CHECK_EQUAL(MPI_Pack_size(1 << 30, MPI_INT, MPI_COMM_WORLD, &size), MPI_SUCCESS);
    CHECK_EQUAL(size, MPI_UNDEFINED);
}

/* MPI_IN_PLACE where it has no meaning: in point-to-point, on a process that isn't the root, for the
 * buffer that is to be in place of the other. None of these calls reaches another process. */
static void in_place(void)
{
    int value = 0, values[2] = {0, 0}, one = 1, zero = 0, dims = 1;
    MPI_Request request;
    MPI_Comm self = MPI_COMM_SELF, line;
    MPI_Datatype integer = MPI_INT;
    MPI_Status *ignore = MPI_STATUS_IGNORE;
    MPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    FAILS(MPI_Ssend(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    FAILS(MPI_Send_init(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Recv_init(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Sendrecv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, &value, 1, MPI_INT, 0, 0, self, ignore), MPI_ERR_BUFFER);
    FAILS(MPI_Sendrecv(&value, 1, MPI_INT, 0, 0, MPI_IN_PLACE, 1, MPI_INT, 0, 0, self, ignore), MPI_ERR_BUFFER);
    FAILS(MPI_Sendrecv_replace(MPI_IN_PLACE, 1, MPI_INT, 0, 0, 0, 0, self, ignore), MPI_ERR_BUFFER);
    FAILS(MPI_Gather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, self), MPI_ERR_BUFFER);
    FAILS(MPI_Gatherv(&value, 1, MPI_INT, MPI_IN_PLACE, &one, &zero, MPI_INT, 0, self), MPI_ERR_BUFFER);
    FAILS(MPI_Scatter(MPI_IN_PLACE, 1, MPI_INT, &value, 1, MPI_INT, 0, self), MPI_ERR_BUFFER);
    FAILS(MPI_Allgather(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, self), MPI_ERR_BUFFER);
    FAILS(MPI_Iallgather(MPI_IN_PLACE, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, self, &request), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoall(&value, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, self), MPI_ERR_BUFFER);
    FAILS(MPI_Alltoallw(&value, &one, &zero, &integer, MPI_IN_PLACE, &one, &zero, &integer, self), MPI_ERR_BUFFER);
    MPI_Cart_create(self, 1, &dims, &one, 0, &line);
    FAILS(MPI_Neighbor_allgather(MPI_IN_PLACE, 1, MPI_INT, values, 1, MPI_INT, line), MPI_ERR_BUFFER);
    FAILS(MPI_Neighbor_alltoall(values, 1, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, line), MPI_ERR_BUFFER);
    MPI_Comm_free(&line);
    if (check_rank > 0) {
        FAILS(MPI_Send(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        FAILS(MPI_Isend(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
        FAILS(MPI_Recv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, ignore), MPI_ERR_BUFFER);
        FAILS(MPI_Irecv(MPI_IN_PLACE, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_BUFFER);
        FAILS(MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, NULL, 0, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        FAILS(MPI_Scatter(NULL, 0, MPI_INT, MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
        FAILS(MPI_Reduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    arguments();
    truncation(10, 4);
    truncation(2000, 100);
    truncation(2000, 0);
    handlers();
    handles();
    packing();
    in_place();
    int flag = 0;
    MPI_Initialized(&flag);
    CHECK(flag);
    MPI_Finalized(&flag);
    CHECK(!flag);
    return check_end("errors");
}
