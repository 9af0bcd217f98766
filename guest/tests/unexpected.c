/* Ten thousand unexpected messages, and as many posted receives: found at once whatever the order,
 * the tags and the wildcards. Argument: how many. */
#include "check.h"

/* What rank 0 receives first, second, ... */
static int order(int pattern, int i, int n)
{
    switch (pattern) {
    case 0: return i; /* As sent. */
    case 1: return n - 1 - i; /* Latest first. */
    default: return (int)((i * 7919LL) % n); /* Scattered (7919 is prime). */
    }
}

static void unexpected(int pattern, int n, int same_tag)
{
    if (check_rank == 1) {
        for (int i = 0; i < n; i++)
            MPI_Send(&i, 1, MPI_INT, 0, same_tag ? 5 : i, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, n + 1, MPI_COMM_WORLD);
    } else if (check_rank == 0) {
        MPI_Recv(NULL, 0, MPI_INT, 1, n + 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) {
            int want = order(pattern, i, n), got = -1, source = i % 3 ? 1 : MPI_ANY_SOURCE;
            MPI_Status status;
            if (same_tag) {
                want = i;
                MPI_Recv(&got, 1, MPI_INT, source, i % 5 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            } else {
                MPI_Recv(&got, 1, MPI_INT, source, want, MPI_COMM_WORLD, &status);
            }
            CHECK_EQUAL(got, want);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

static void posted(int n)
{
    if (check_rank == 0) {
        MPI_Request *requests = malloc(n * sizeof *requests);
        int *got = malloc(n * sizeof *got);
        for (int i = 0; i < n; i++)
            MPI_Irecv(&got[i], 1, MPI_INT, i % 4 == 3 ? MPI_ANY_SOURCE : 1, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Send(NULL, 0, MPI_INT, 1, 0, MPI_COMM_WORLD);
        MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < n; i++)
            CHECK_EQUAL(got[i], i);
        free(requests);
        free(got);
    } else if (check_rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < n; i++) {
            int tag = order(2, i, n);
            MPI_Send(&tag, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int n = argc > 1 ? atoi(argv[1]) : 10000;
    for (int pattern = 0; pattern < 3; pattern++)
        unexpected(pattern, n, 0);
    unexpected(0, n, 1);
    posted(n);
    return check_end("unexpected");
}
