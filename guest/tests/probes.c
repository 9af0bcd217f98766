/* Probes, matched probes, and the counts in their statuses. */
#include "check.h"

enum { LONG = 4000 };

static void plain(int length)
{
    MPI_Status status;
    int count, flag, *data = calloc(length + 1, sizeof *data);
    if (check_rank == 0) {
        MPI_Send(data, length, MPI_INT, 1, 10, MPI_COMM_WORLD);
        MPI_Send(data, length, MPI_INT, 1, 11, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Probe(0, 10, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQUAL(count, length);
        CHECK_EQUAL(status.MPI_TAG, 10);
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        CHECK_EQUAL(status.MPI_TAG, 10);
        CHECK_EQUAL(status.MPI_SOURCE, 0);
        MPI_Iprobe(0, 12, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag);
        MPI_Recv(data, length, MPI_INT, status.MPI_SOURCE, 10, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        do
            MPI_Iprobe(MPI_ANY_SOURCE, 11, MPI_COMM_WORLD, &flag, &status);
        while (!flag);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQUAL(count, length);
        MPI_Recv(data, length, MPI_INT, 0, 11, MPI_COMM_WORLD, &status);
        MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag);
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void matched(int length)
{
    MPI_Message first, second, none;
    MPI_Request request;
    MPI_Status status;
    int count, flag, *a = calloc(length + 1, sizeof *a), *b = calloc(length + 1, sizeof *b);
    if (check_rank == 0) {
        for (int i = 0; i < 2; i++) {
            a[length] = a[0] = i + 1;
            MPI_Ssend(a, length + 1, MPI_INT, 1, 20, MPI_COMM_WORLD);
        }
    } else if (check_rank == 1) {
        MPI_Mprobe(0, MPI_ANY_TAG, MPI_COMM_WORLD, &first, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        CHECK_EQUAL(count, length + 1);
        /* The message is out of matching: a later one can't be taken for it. */
        MPI_Iprobe(0, 20, MPI_COMM_WORLD, &flag, &status);
        CHECK(!flag);
        MPI_Imrecv(a, length + 1, MPI_INT, &first, &request);
        CHECK(first == MPI_MESSAGE_NULL);
        MPI_Wait(&request, &status);
        CHECK_EQUAL(status.MPI_SOURCE, 0);
        CHECK_EQUAL(a[length], 1);
        do
            MPI_Improbe(MPI_ANY_SOURCE, 20, MPI_COMM_WORLD, &flag, &second, &status);
        while (!flag);
        MPI_Mrecv(b, length + 1, MPI_INT, &second, &status);
        CHECK_EQUAL(b[length], 2);
        MPI_Mprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &none, &status);
        CHECK(none == MPI_MESSAGE_NO_PROC);
        MPI_Mrecv(b, length, MPI_INT, &none, &status);
        CHECK_EQUAL(status.MPI_SOURCE, MPI_PROC_NULL);
    }
    free(a);
    free(b);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    plain(0);
    plain(3);
    plain(LONG);
    matched(0);
    matched(5);
    matched(LONG);
    return check_end("probes");
}
