/* The least: ranks, sends and receives of many lengths in a ring, a barrier, simple collectives. */
#include "check.h"

/* Lengths around eager limits and block sizes of any device. */
static const int lengths[] = {0, 1, 7, 8, 9, 63, 64, 65, 88, 100, 1000, 4096, 4097, 20000};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned char pattern(int rank, int at) { return (unsigned char)(rank * 31 + at * 7 + 1); }

static void ring(int nonblocking)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    for (int i = 0; i < LENGTHS; i++) {
        int length = lengths[i];
        unsigned char *out = malloc(length + 1), *in = malloc(length + 1);
        MPI_Status status;
        for (int at = 0; at < length; at++)
            out[at] = pattern(check_rank, at);
        memset(in, 0, length + 1);
        if (nonblocking) {
            MPI_Request requests[2];
            MPI_Irecv(in, length, MPI_BYTE, left, i, MPI_COMM_WORLD, &requests[0]);
            MPI_Isend(out, length, MPI_BYTE, right, i, MPI_COMM_WORLD, &requests[1]);
            MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
            MPI_Wait(&requests[0], &status);
            CHECK(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL);
        } else if (check_rank == 0 && check_size > 1) {
            MPI_Send(out, length, MPI_BYTE, right, i, MPI_COMM_WORLD);
            MPI_Recv(in, length, MPI_BYTE, left, i, MPI_COMM_WORLD, &status);
        } else if (check_size > 1) {
            MPI_Recv(in, length, MPI_BYTE, left, i, MPI_COMM_WORLD, &status);
            MPI_Send(out, length, MPI_BYTE, right, i, MPI_COMM_WORLD);
        } else {
            MPI_Sendrecv(out, length, MPI_BYTE, 0, i, in, length, MPI_BYTE, 0, i, MPI_COMM_WORLD, &status);
        }
        int count = -1;
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQUAL(count, length);
        CHECK_EQUAL(status.MPI_SOURCE, left);
        CHECK_EQUAL(status.MPI_TAG, i);
        for (int at = 0; at < length; at++)
            if (in[at] != pattern(left, at)) {
                CHECK_EQUAL(in[at], pattern(left, at));
                break;
            }
        free(out);
        free(in);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    CHECK(check_rank >= 0 && check_rank < check_size);
    ring(0);
    MPI_Barrier(MPI_COMM_WORLD);
    ring(1);
    double value = check_rank == 0 ? 3.25 : 0;
    MPI_Bcast(&value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    CHECK(value == 3.25);
    long sum = 0, own = check_rank + 1;
    MPI_Allreduce(&own, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQUAL(sum, (long)check_size * (check_size + 1) / 2);
    double before = MPI_Wtime();
    CHECK(MPI_Wtime() >= before && MPI_Wtick() > 0);
    return check_end("basic");
}
