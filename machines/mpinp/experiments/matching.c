/* Messages of a word whose receives, or which themselves, are DEPTH deep in a queue. The times are the record's.
 *
 *   matching QUEUE ORDER DEPTH TRIPS
 *
 * QUEUE is `posted`: DEPTH receives are, and each trip's message is for one of them; or `unexpected`: DEPTH messages lie there,
 * and each trip receives one of them. In ORDER `first` it is the oldest of the queue, in `last` the newest, in `any` the newest
 * of receives from any source. Depths stay: what a trip takes from a queue the next one adds. A queue has tags of its own for
 * each of its places, 1 and up; 0 is the token's. */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TOKEN = 0, SETTLE = 40000, DEPTH_MAX = 4096 };

static int depth, trips, rank;
static bool is_first, from_any;
static MPI_Request requests[DEPTH_MAX];
static int64_t words[DEPTH_MAX];

static void settle(void)
{
    for (int turns = SETTLE; turns > 0; turns--)
        __asm__ volatile("" : : : "memory");
}

/* The place in the queue, and the tag, of trip `trip`: the oldest go round, the newest is the same. */
static int place(int trip) { return is_first ? trip % depth : depth - 1; }

static void post(int at)
{
    int source = from_any ? MPI_ANY_SOURCE : 0;
    MPI_Irecv(&words[at], 1, MPI_INT64_T, source, 1 + at, MPI_COMM_WORLD, &requests[at]);
}

static void send(int at, int trip)
{
    int64_t word = (int64_t)trip << 32 | at;
    MPI_Send(&word, 1, MPI_INT64_T, 1, 1 + at, MPI_COMM_WORLD);
}

static void check(int64_t word, int at, int trip)
{
    if (word == ((int64_t)trip << 32 | at))
        return;
    printf("matching: place %d, trip %d: %llx is wrong\n", at, trip, (long long)word);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void token_from(int from)
{
    if (rank == from)
        MPI_Send(NULL, 0, MPI_INT, 1 - from, TOKEN, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_INT, from, TOKEN, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* What lies in each place is of this trip, or was there before the first (0). */
static int latest[DEPTH_MAX];

/* The receive is posted, and rank 1 waits, when the message is sent. */
static void posted(void)
{
    for (int at = 0; rank == 1 && at < depth; at++)
        post(at);
    for (int trip = 1; trip <= trips; trip++) {
        int at = place(trip - 1);
        token_from(1);
        settle();
        if (rank == 0) {
            send(at, trip);
            continue;
        }
        MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
        check(words[at], at, trip);
        post(at);
    }
    token_from(1);
    for (int at = 0; at < depth; at++) {
        if (rank == 0)
            send(at, 0);
        else
            MPI_Wait(&requests[at], MPI_STATUS_IGNORE);
    }
}

static void receive(int at)
{
    MPI_Recv(&words[at], 1, MPI_INT64_T, 0, 1 + at, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check(words[at], at, latest[at]);
}

/* The message has long come when rank 1 receives it. */
static void unexpected(void)
{
    for (int at = 0; rank == 0 && at < depth; at++)
        send(at, 0);
    token_from(0);
    for (int trip = 1; trip <= trips; trip++) {
        int at = place(trip - 1);
        settle();
        if (rank == 1)
            receive(at);
        latest[at] = trip;
        token_from(1);
        if (rank == 0)
            send(at, trip);
    }
    for (int at = 0; rank == 1 && at < depth; at++)
        receive(at);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc != 5)
        return 2;
    depth = atoi(argv[3]);
    trips = atoi(argv[4]);
    if (depth < 1 || depth > DEPTH_MAX)
        return 2;
    is_first = strcmp(argv[2], "first") == 0;
    from_any = strcmp(argv[2], "any") == 0;
    if (strcmp(argv[1], "posted") == 0)
        posted();
    else
        unexpected();
    MPI_Finalize();
    return 0;
}
