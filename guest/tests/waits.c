/* All forms of wait and test, with null, complete and inactive requests; cancelled receives and
 * sends; persistent requests. */
#include "check.h"

enum { N = 12, LONG = 3000 };

static int right, left;
static int out[N][LONG], in[N][LONG];

static int length(int i) { return i % 3 == 0 ? LONG : i + 1; }

static void start(MPI_Request *receives, MPI_Request *sends)
{
    for (int i = 0; i < N; i++) {
        for (int at = 0; at < length(i); at++)
            out[i][at] = check_rank * 100 + i + at;
        memset(in[i], 0, sizeof in[i]);
        MPI_Irecv(in[i], LONG, MPI_INT, left, i, MPI_COMM_WORLD, &receives[i]);
    }
    for (int i = N; i-- > 0;)
        MPI_Isend(out[i], length(i), MPI_INT, right, i, MPI_COMM_WORLD, &sends[i]);
}

static void verify(int i, const MPI_Status *status)
{
    int count;
    MPI_Get_count(status, MPI_INT, &count);
    CHECK_EQUAL(count, length(i));
    CHECK_EQUAL(status->MPI_TAG, i);
    CHECK_EQUAL(status->MPI_SOURCE, left);
    CHECK_EQUAL(in[i][0], left * 100 + i);
    CHECK_EQUAL(in[i][count - 1], left * 100 + i + count - 1);
}

static void forms(void)
{
    MPI_Request receives[N], sends[N];
    MPI_Status statuses[N], status;
    int indices[N], count, index, flag;

    start(receives, sends);
    MPI_Waitall(N, receives, statuses);
    for (int i = 0; i < N; i++) {
        verify(i, &statuses[i]);
        CHECK(receives[i] == MPI_REQUEST_NULL);
        CHECK_EQUAL(statuses[i].MPI_ERROR, MPI_SUCCESS);
    }
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);

    start(receives, sends);
    for (int i = 0; i < N; i++) {
        MPI_Waitany(N, receives, &index, &status);
        CHECK(index >= 0 && index < N && receives[index] == MPI_REQUEST_NULL);
        verify(index, &status);
    }
    MPI_Waitany(N, receives, &index, &status);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    for (int i = 0; i < N; i++)
        do
            MPI_Testany(N, sends, &index, &flag, &status);
        while (!flag);
    MPI_Testany(N, sends, &index, &flag, &status);
    CHECK(flag && index == MPI_UNDEFINED);

    start(receives, sends);
    for (int done = 0; done < N; done += count) {
        MPI_Waitsome(N, receives, &count, indices, statuses);
        CHECK(count > 0);
        for (int i = 0; i < count; i++)
            verify(indices[i], &statuses[i]);
    }
    MPI_Waitsome(N, receives, &count, indices, statuses);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    for (int done = 0; done < N; done += count)
        MPI_Testsome(N, sends, &count, indices, MPI_STATUSES_IGNORE);
    MPI_Testsome(N, sends, &count, indices, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(count, MPI_UNDEFINED);

    start(receives, sends);
    do
        MPI_Testall(N, receives, &flag, statuses);
    while (!flag);
    for (int i = 0; i < N; i++)
        verify(i, &statuses[i]);
    for (int i = 0; i < N; i++) {
        do {
            MPI_Request_get_status(sends[i], &flag, &status);
        } while (!flag);
        CHECK(sends[i] != MPI_REQUEST_NULL);
        MPI_Test(&sends[i], &flag, &status);
        CHECK(flag && sends[i] == MPI_REQUEST_NULL);
    }
    MPI_Wait(&sends[0], &status);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
}

static void cancelling(void)
{
    MPI_Request request;
    MPI_Status status;
    int value = 0, flag = 0;
    MPI_Irecv(&value, 1, MPI_INT, left, 77, MPI_COMM_WORLD, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    /* Three wildcards posted, the middle one cancelled: the message goes to the next in order. */
    MPI_Request three[3];
    int got[3] = {-1, -1, -1};
    for (int i = 0; i < 3; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, 78, MPI_COMM_WORLD, &three[i]);
    MPI_Cancel(&three[1]);
    MPI_Wait(&three[1], &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(flag);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 2; i++)
        MPI_Send(&i, 1, MPI_INT, right, 78, MPI_COMM_WORLD);
    MPI_Waitall(3, three, MPI_STATUSES_IGNORE);
    CHECK_EQUAL(got[0], 0);
    CHECK_EQUAL(got[1], -1);
    CHECK_EQUAL(got[2], 1);
    /* A receive that has its message can't be cancelled. */
    MPI_Irecv(&value, 1, MPI_INT, left, 79, MPI_COMM_WORLD, &request);
    MPI_Send(&right, 1, MPI_INT, right, 79, MPI_COMM_WORLD);
    do
        MPI_Request_get_status(request, &flag, &status);
    while (!flag);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &flag);
    CHECK(!flag);
    CHECK_EQUAL(value, check_rank);
}

/* Whether all of them say that they were cancelled is `wanted`. */
static void check_cancelled(const MPI_Status *statuses, int count, int wanted)
{
    for (int i = 0; i < count; i++) {
        int flag = -1;
        MPI_Test_cancelled(&statuses[i], &flag);
        CHECK_EQUAL(flag, wanted);
    }
}

/* Sends that wait for their receive: short, long, of data to be packed, persistent. */
static void cancelling_sends(void)
{
    enum { LONG = 1 << 16, SENDS = 4 };
    static int data[2 * LONG], got[LONG];
    MPI_Request sends[SENDS];
    MPI_Status statuses[SENDS];
    MPI_Datatype strided;
    MPI_Type_vector(LONG, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    MPI_Ssend_init(data, 1, MPI_INT, right, 83, MPI_COMM_WORLD, &sends[3]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 2 * LONG; i++)
            data[i] = 3 * check_rank + round;
        MPI_Issend(data, 1, MPI_INT, right, 80, MPI_COMM_WORLD, &sends[0]);
        MPI_Issend(data, LONG, MPI_INT, right, 81, MPI_COMM_WORLD, &sends[1]);
        MPI_Issend(data, 1, strided, right, 82, MPI_COMM_WORLD, &sends[2]);
        MPI_Start(&sends[3]);
        if (round == 1) { /* What was cancelled has left nothing; what is received can't be cancelled. */
            for (int i = 0; i < SENDS; i++) {
                int count;
                MPI_Recv(got, LONG, MPI_INT, left, 80 + i, MPI_COMM_WORLD, &statuses[0]);
                MPI_Get_count(&statuses[0], MPI_INT, &count);
                CHECK_EQUAL(count, i == 1 || i == 2 ? LONG : 1);
                CHECK(got[0] == 3 * left + 1 && got[count - 1] == got[0]);
            }
            MPI_Barrier(MPI_COMM_WORLD); /* All have received. */
        }
        for (int i = 0; i < SENDS; i++)
            MPI_Cancel(&sends[i]);
        MPI_Waitall(SENDS, sends, statuses);
        check_cancelled(statuses, SENDS, round == 0);
        MPI_Barrier(MPI_COMM_WORLD); /* No receive of the next round meets a send of this one. */
    }
    MPI_Request_free(&sends[3]);
    MPI_Type_free(&strided);
}

static void persistent(void)
{
    MPI_Request requests[4];
    MPI_Status statuses[4], status;
    static int data[2][LONG], got[2][LONG];
    int index, flag;
    MPI_Send_init(data[0], 3, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(data[1], LONG, MPI_INT, right, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(got[0], 3, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[2]);
    MPI_Recv_init(got[1], LONG, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[3]);
    MPI_Wait(&requests[2], &status);
    CHECK(requests[2] != MPI_REQUEST_NULL);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_ANY_SOURCE);
    MPI_Waitany(4, requests, &index, &status);
    CHECK_EQUAL(index, MPI_UNDEFINED);
    MPI_Testall(4, requests, &flag, statuses);
    CHECK(flag);
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < LONG; i++) {
            data[0][i] = data[1][i] = check_rank + i + round;
            got[0][i] = got[1][i] = -1;
        }
        if (round % 2) {
            MPI_Startall(4, requests);
        } else {
            for (int i = 3; i >= 0; i--)
                MPI_Start(&requests[i]);
        }
        MPI_Waitall(4, requests, statuses);
        CHECK_EQUAL(statuses[2].MPI_SOURCE, left);
        CHECK_EQUAL(statuses[3].MPI_SOURCE, left);
        CHECK_EQUAL(got[0][2], left + 2 + round);
        CHECK_EQUAL(got[0][3], -1);
        CHECK_EQUAL(got[1][LONG - 1], left + LONG - 1 + round);
        /* Nobody starts the next round's messages into this round's receives. */
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < 4; i++) {
        MPI_Request_free(&requests[i]);
        CHECK(requests[i] == MPI_REQUEST_NULL);
    }
    char *buffer = malloc(4 * MPI_BSEND_OVERHEAD);
    int size;
    MPI_Buffer_attach(buffer, 4 * MPI_BSEND_OVERHEAD);
    MPI_Bsend_init(data[0], 2, MPI_INT, right, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Rsend_init(data[0], 2, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Recv(got[0], 2, MPI_INT, left, 3, MPI_COMM_WORLD, &status);
    MPI_Waitall(2, requests, statuses);
    CHECK_EQUAL(got[0][1], left + 1 + 4);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Buffer_detach(&buffer, &size);
    free(buffer);
}

/* Handles given up while the communication goes on. */
static void freed(void)
{
    static int data[LONG], got[LONG];
    MPI_Request request;
    MPI_Comm comm;
    MPI_Datatype type;
    for (int i = 0; i < LONG; i++)
        data[i] = check_rank + i;
    MPI_Isend(data, LONG, MPI_INT, right, 4, MPI_COMM_WORLD, &request);
    MPI_Request_free(&request);
    CHECK(request == MPI_REQUEST_NULL);
    MPI_Recv(got, LONG, MPI_INT, left, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got[LONG - 1], left + LONG - 1);
    /* A communicator and a type that are freed while a receive needs them. */
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Type_vector(100, 1, 2, MPI_INT, &type);
    MPI_Type_commit(&type);
    MPI_Irecv(got, 1, type, left, 5, comm, &request);
    MPI_Type_free(&type);
    MPI_Barrier(comm);
    MPI_Send(data, 100, MPI_INT, right, 5, comm);
    MPI_Comm_free(&comm);
    CHECK(comm == MPI_COMM_NULL && type == MPI_DATATYPE_NULL);
    MPI_Status status;
    MPI_Wait(&request, &status);
    CHECK_EQUAL(status.MPI_SOURCE, left);
    CHECK_EQUAL(got[198], left + 99);
    CHECK_EQUAL(got[1], left + 1);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    right = (check_rank + 1) % check_size;
    left = (check_rank + check_size - 1) % check_size;
    forms();
    MPI_Barrier(MPI_COMM_WORLD);
    cancelling();
    cancelling_sends();
    MPI_Barrier(MPI_COMM_WORLD);
    persistent();
    MPI_Barrier(MPI_COMM_WORLD);
    freed();
    return check_end("waits");
}
