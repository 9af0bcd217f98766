/* Send modes, blocking and not; buffered sends; MPI_PROC_NULL; sends to oneself. */
#include "check.h"

enum { LONG = 5000 };

/* A synchronous send must not complete before its receive is posted. */
static void synchronous(int count)
{
    int *data = calloc(count, sizeof *data);
    if (check_rank == 0) {
        MPI_Request request;
        int flag = 0;
        MPI_Issend(data, count, MPI_INT, 1, 1, MPI_COMM_WORLD, &request);
        for (int i = 0; i < 50; i++) {
            MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
            CHECK(!flag);
        }
        MPI_Send(NULL, 0, MPI_INT, 1, 2, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        CHECK(request == MPI_REQUEST_NULL);
        MPI_Ssend(data, count, MPI_INT, 1, 3, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, count, MPI_INT, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(data, count, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    free(data);
}

/* Both sides send before they receive: only buffering lets this end. */
static void buffered(void)
{
    int out[LONG], in[LONG], size;
    int partner = check_rank ^ 1;
    void *buffer = malloc(3 * (sizeof out + MPI_BSEND_OVERHEAD)), *back;
    if (partner >= check_size)
        partner = MPI_PROC_NULL;
    MPI_Buffer_attach(buffer, 3 * (int)(sizeof out + MPI_BSEND_OVERHEAD));
    for (int round = 0; round < 4; round++) {
        MPI_Request request;
        for (int i = 0; i < LONG; i++)
            out[i] = round * 1000 + i + check_rank;
        MPI_Bsend(out, LONG, MPI_INT, partner, 7, MPI_COMM_WORLD);
        out[0] = -1;
        MPI_Ibsend(out, 10, MPI_INT, partner, 8, MPI_COMM_WORLD, &request);
        out[0] = -2;
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(in, LONG, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (partner != MPI_PROC_NULL)
            for (int i = 0; i < LONG; i++)
                CHECK_EQUAL(in[i], round * 1000 + i + partner);
        MPI_Recv(in, LONG, MPI_INT, partner, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (partner != MPI_PROC_NULL)
            CHECK_EQUAL(in[0], -1);
    }
    MPI_Buffer_detach(&back, &size);
    CHECK(back == buffer);
    CHECK_EQUAL(size, 3 * (int)(sizeof out + MPI_BSEND_OVERHEAD));
    free(buffer);
}

static void ready(void)
{
    int value = check_rank, got = -1;
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request request, send;
    MPI_Irecv(&got, 1, MPI_INT, left, 5, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Rsend(&value, 1, MPI_INT, right, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, left);
    MPI_Irecv(&got, 1, MPI_INT, left, 6, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Irsend(&value, 1, MPI_INT, right, 6, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    CHECK_EQUAL(got, left);
}

static void no_process(void)
{
    MPI_Status status;
    MPI_Request request;
    int value = 3, flag = 0;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Ssend(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &status);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    CHECK_EQUAL(status.MPI_TAG, MPI_ANY_TAG);
    int count = -1;
    MPI_Get_count(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 0);
    MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, &status);
    CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Iprobe(MPI_PROC_NULL, 1, MPI_COMM_WORLD, &flag, &status);
    CHECK(flag && status.MPI_SOURCE == MPI_PROC_NULL);
    CHECK_EQUAL(value, 3);
}

static void to_self(int count, int receive_first)
{
    int *out = malloc(count * sizeof *out), *in = calloc(count, sizeof *in);
    MPI_Request requests[3];
    MPI_Status statuses[3];
    for (int i = 0; i < count; i++)
        out[i] = i + check_rank;
    if (receive_first)
        MPI_Irecv(in, count, MPI_INT, check_rank, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, count, MPI_INT, check_rank, 3, MPI_COMM_WORLD, &requests[1]);
    MPI_Issend(out, count, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &requests[2]);
    if (!receive_first) {
        int flag = 0;
        MPI_Test(&requests[2], &flag, MPI_STATUS_IGNORE);
        CHECK(!flag);
        MPI_Irecv(in, count, MPI_INT, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &requests[0]);
    }
    MPI_Waitall(2, requests, statuses);
    CHECK_EQUAL(statuses[0].MPI_SOURCE, check_rank);
    for (int i = 0; i < count; i++)
        if (in[i] != i + check_rank) {
            CHECK_EQUAL(in[i], i + check_rank);
            break;
        }
    memset(in, 0, count * sizeof *in);
    MPI_Recv(in, count, MPI_INT, check_rank, 4, MPI_COMM_WORLD, &statuses[2]);
    MPI_Wait(&requests[2], MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[count - 1], count - 1 + check_rank);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    if (check_size > 1) {
        synchronous(1);
        synchronous(LONG);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    buffered();
    ready();
    no_process();
    for (int first = 0; first < 2; first++) {
        to_self(2, first);
        to_self(LONG, first);
    }
    return check_end("modes");
}
