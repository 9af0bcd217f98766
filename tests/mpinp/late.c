/* Processes announce long messages to rank 0 and stay away from MPI. Meanwhile the last rank's message comes to rank 0, and
 * rank 0's to it.
 *
 * Usage: late BYTES LAST_BYTES, at three ranks or more
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { AWAY_MS = 20 };

static unsigned char of(size_t at, int who)
{
    return (unsigned char)(at * 7 + (at >> 8) * 13 + (at >> 16) * 29 + (size_t)who * 31);
}

static unsigned char *message(size_t bytes, int who)
{
    unsigned char *data = malloc(bytes);
    for (size_t i = 0; i < bytes; i++)
        data[i] = of(i, who);
    return data;
}

static int is_right(const unsigned char *data, size_t bytes, int who)
{
    size_t i = 0;
    while (i < bytes && data[i] == of(i, who))
        i++;
    if (i < bytes)
        printf("the message from %d is wrong at byte %zu\n", who, i);
    return i == bytes;
}

static void stay_away(void)
{
    struct timespec time = {.tv_nsec = AWAY_MS * 1000000};
    nanosleep(&time, NULL);
}

/* Rank 0's part. */
static int receive(int late, size_t bytes, size_t last_bytes)
{
    int last = late + 1, right = 1;
    MPI_Request *requests = malloc((size_t)late * sizeof *requests);
    unsigned char *all = malloc((size_t)late * bytes), *other = malloc(last_bytes), *own = message(last_bytes, 0);
    char announced;
    for (int i = 0; i < late; i++)
        MPI_Irecv(all + (size_t)i * bytes, (int)bytes, MPI_BYTE, i + 1, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < late; i++)
        MPI_Recv(&announced, 1, MPI_BYTE, i + 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    double begin = MPI_Wtime();
    MPI_Recv(other, (int)last_bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(own, (int)last_bytes, MPI_BYTE, last, 0, MPI_COMM_WORLD);
    double ms = (MPI_Wtime() - begin) * 1e3;
    if (ms >= AWAY_MS / 2) {
        printf("the last rank's message took %.3f ms\n", ms);
        right = 0;
    }
    MPI_Waitall(late, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < late; i++)
        right &= is_right(all + (size_t)i * bytes, bytes, i + 1);
    right &= is_right(other, last_bytes, last);
    printf("late: %s\n", right ? "PASSED" : "FAILED");
    return !right;
}

int main(int argc, char **argv)
{
    int rank, size, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        return 2;
    size_t bytes = (size_t)atol(argv[1]), last_bytes = (size_t)atol(argv[2]);
    if (rank == 0) {
        wrong = receive(size - 2, bytes, last_bytes);
    } else if (rank < size - 1) {
        MPI_Request request;
        char announced = 1;
        MPI_Isend(message(bytes, rank), (int)bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        MPI_Send(&announced, 1, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
        stay_away();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        unsigned char *other = malloc(last_bytes);
        MPI_Send(message(last_bytes, rank), (int)last_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        MPI_Recv(other, (int)last_bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong = !is_right(other, last_bytes, 0);
    }
    MPI_Finalize();
    return wrong;
}
