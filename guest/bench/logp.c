/* What `chasqui logp` runs: between ranks 0 and 1, for every size given on the command line,
 * a ping-pong with blocking calls (overheads, latency) and a stream of non-blocking sends (gap).
 *
 * It measures nothing itself: the figures come from the messages' records, which are told apart
 * by their tag = 8 * index of the size + phase. Warm-up first: caches, rings, first-touched pages.
 *
 * Usage: logp TRIPS STREAM BYTES...   (round trips a size, messages a stream)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum phase { WARM_PING, PING, WARM_STREAM, STREAM, READY, PHASES = 8 };

/* The same numbers as in python/chasqui/loggp.py. */
_Static_assert(PING == 1 && STREAM == 3 && PHASES == 8, "phases");

static void ping(int rank, char *buffer, int bytes, int trips, int tag)
{
    for (int i = 0; i < trips; i++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        }
    }
}

/* Every message has its receive posted before the first is sent, so that none is unexpected. */
static void stream(int rank, char *buffer, int bytes, int count, int tag, int ready, MPI_Request *request)
{
    if (rank == 0) {
        MPI_Recv(NULL, 0, MPI_BYTE, 1, ready, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < count; i++)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, &request[i]);
    } else {
        /* One buffer for all: nobody looks at the data. */
        for (int i = 0; i < count; i++)
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &request[i]);
        MPI_Send(NULL, 0, MPI_BYTE, 0, ready, MPI_COMM_WORLD);
    }
    MPI_Waitall(count, request, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, bytes_max = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 4) {
        fprintf(stderr, "usage: logp TRIPS STREAM BYTES...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    int trips = atoi(argv[1]), count = atoi(argv[2]);
    for (int i = 3; i < argc; i++)
        if (atoi(argv[i]) > bytes_max)
            bytes_max = atoi(argv[i]);
    char *buffer = calloc(1, (size_t)bytes_max + 1);
    MPI_Request *request = calloc((size_t)count, sizeof *request);
    if (!buffer || !request)
        MPI_Abort(MPI_COMM_WORLD, 1);
    for (int i = 3; i < argc && rank < 2; i++) {
        int bytes = atoi(argv[i]), tag = (i - 3) * PHASES;
        ping(rank, buffer, bytes, trips, tag + WARM_PING);
        ping(rank, buffer, bytes, trips, tag + PING);
        stream(rank, buffer, bytes, count / 4 + 1, tag + WARM_STREAM, tag + READY, request);
        stream(rank, buffer, bytes, count, tag + STREAM, tag + READY, request);
    }
    free(buffer);
    free(request);
    MPI_Finalize();
    return 0;
}
