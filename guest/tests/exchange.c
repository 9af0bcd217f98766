/* MPI_Isendrecv and its form that replaces; the status of requests that are not finished by asking. */
#include "check.h"

enum { LONG = 5000 };

/* Around a ring, all at once, short and long; the send buffer is free as soon as the receive is done. */
static void ring(int count)
{
    static int out[LONG], in[LONG], both[LONG];
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, got = 0;
    MPI_Request requests[2];
    MPI_Status statuses[2];
    for (int i = 0; i < count; i++)
        out[i] = both[i] = check_rank * 100000 + i;
    CHECK_EQUAL(MPI_Isendrecv(out, count, MPI_INT, right, 1, in, count, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]),
                MPI_SUCCESS);
    CHECK_EQUAL(MPI_Isendrecv_replace(both, count, MPI_INT, right, 2, left, 2, MPI_COMM_WORLD, &requests[1]),
                MPI_SUCCESS);
    MPI_Waitall(2, requests, statuses);
    CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
    memset(out, 0, sizeof out);
    for (int i = 0; i < 2; i++) {
        MPI_Get_count(&statuses[i], MPI_INT, &got);
        CHECK(got == count && statuses[i].MPI_SOURCE == left && statuses[i].MPI_TAG == i + 1);
    }
    for (int i = 0; i < count; i++)
        if (in[i] != left * 100000 + i || both[i] != in[i])
            CHECK_EQUAL(in[i], left * 100000 + i);
}

/* A type with gaps, and nobody on one side. */
static void edges(void)
{
    int values[6] = {1, 2, 3, 4, 5, 6}, got[3] = {0, 0, 0}, same[2] = {7, 8};
    MPI_Datatype every_other;
    MPI_Request request;
    MPI_Status status;
    MPI_Type_vector(3, 1, 2, MPI_INT, &every_other);
    MPI_Type_commit(&every_other);
    MPI_Isendrecv(values, 1, every_other, check_rank, 3, got, 3, MPI_INT, check_rank, 3, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK(got[0] == 1 && got[1] == 3 && got[2] == 5);
    MPI_Type_free(&every_other);
    MPI_Isendrecv_replace(same, 2, MPI_INT, MPI_PROC_NULL, 4, MPI_PROC_NULL, 4, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK(same[0] == 7 && status.MPI_SOURCE == MPI_PROC_NULL);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQUAL(MPI_Isendrecv(same, 1, MPI_INT, check_size, 0, got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request),
                MPI_ERR_RANK);
    CHECK_EQUAL(MPI_Isendrecv(same, 1, MPI_INT, 0, 0, got, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Isendrecv_replace(same, 1, MPI_INT, 0, -9, 0, 0, MPI_COMM_WORLD, &request), MPI_ERR_TAG);
    CHECK_EQUAL(MPI_Isendrecv_replace(same, 1, MPI_INT, 0, 0, 0, 0, MPI_COMM_NULL, &request), MPI_ERR_COMM);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

/* Two receives, of which one message comes at a time; a null handle between them. */
static void several(void)
{
    int got[2] = {0, 0}, value, index, flag, count, indices[3];
    MPI_Request requests[3], none[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    MPI_Status statuses[3];
    MPI_Irecv(&got[0], 1, MPI_INT, check_rank, 10, MPI_COMM_WORLD, &requests[0]);
    requests[1] = MPI_REQUEST_NULL;
    MPI_Irecv(&got[1], 1, MPI_INT, check_rank, 11, MPI_COMM_WORLD, &requests[2]);
    MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
    CHECK(!flag);
    MPI_Request_get_status_some(3, requests, &count, indices, statuses);
    CHECK_EQUAL(count, 0);
    value = 5;
    MPI_Send(&value, 1, MPI_INT, check_rank, 11, MPI_COMM_WORLD);
    do /* Matching may be the network interface's, which takes its time. */
        MPI_Request_get_status_any(3, requests, &index, &flag, statuses);
    while (!flag);
    CHECK(flag && index == 2 && statuses[0].MPI_TAG == 11);
    MPI_Request_get_status_all(3, requests, &flag, statuses);
    CHECK(!flag);
    MPI_Request_get_status_some(3, requests, &count, indices, statuses);
    CHECK(count == 1 && indices[0] == 2 && statuses[0].MPI_TAG == 11);
    MPI_Send(&value, 1, MPI_INT, check_rank, 10, MPI_COMM_WORLD);
    do
        MPI_Request_get_status_all(3, requests, &flag, statuses);
    while (!flag);
    CHECK(flag && statuses[0].MPI_TAG == 10 && statuses[1].MPI_TAG == MPI_ANY_TAG && statuses[2].MPI_TAG == 11);
    MPI_Request_get_status(requests[0], &flag, &statuses[0]);
    CHECK(flag && statuses[0].MPI_SOURCE == check_rank);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    CHECK(got[0] == 5 && got[1] == 5);
    MPI_Request_get_status_any(2, none, &index, &flag, statuses);
    CHECK(flag && index == MPI_UNDEFINED && statuses[0].MPI_TAG == MPI_ANY_TAG);
    MPI_Request_get_status_some(2, none, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Request_get_status_all(2, none, &flag, MPI_STATUSES_IGNORE);
    CHECK(flag);
}

static void fields(void)
{
    MPI_Status status;
    int value;
    MPI_Status_set_source(&status, 3);
    MPI_Status_set_tag(&status, 4);
    MPI_Status_set_error(&status, MPI_ERR_TAG);
    CHECK(status.MPI_SOURCE == 3 && status.MPI_TAG == 4 && status.MPI_ERROR == MPI_ERR_TAG);
    MPI_Status_get_source(&status, &value);
    CHECK_EQUAL(value, 3);
    MPI_Status_get_tag(&status, &value);
    CHECK_EQUAL(value, 4);
    MPI_Status_get_error(&status, &value);
    CHECK_EQUAL(value, MPI_ERR_TAG);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    ring(1);
    ring(LONG);
    edges();
    several();
    fields();
    return check_end("exchange");
}
