/* What `chasqui logp` runs: between ranks 0 and 1, messages of one size: a ping-pong with blocking calls (overheads,
 * latency), and streams of nonblocking ones (gap), each with another number of requests under way.
 *
 * It measures nothing itself: the figures come from the messages' records, which are told apart by their tag, the phase.
 * Before what is measured come so many messages in each direction that every ring and buffer has been used: slots,
 * pages and cache lines that are touched for the first time are not what a program meets later.
 *
 * Usage: logp BYTES WARM TRIPS STREAM WINDOW...
 * (messages in each direction before, measured round trips, measured messages of a stream; for each stream the requests
 * under way at each end, a power of two up to 64)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum phase { WARM, PING, READY, STREAM }; /* and STREAM + 1, … */

/* The same numbers as in python/chasqui/loggp.py. */
_Static_assert(PING == 1 && STREAM == 3, "phases");

enum { WINDOW_MAX = 64 };

/* Turns of `delay` over which starts are spread: some 4,000 cycles, more than a poll takes over any link. */
enum { STEPS = 64, STEP = 31 };

static void delay(long turns)
{
    for (volatile long left = turns; left > 0; left--)
        ;
}

/* Differently long each time and in no order, so that messages come at all moments of a loop that polls. */
static void vary(int i) { delay(i * 37 % STEPS * STEP + i % STEP); }

static void wait_until(double time)
{
    while (MPI_Wtime() < time)
        ;
}

/* Seconds of a round trip. `pause_s`: rank 0 begins each so much later. */
static double ping(int rank, char *buffer, int bytes, int trips, int tag, double pause_s)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < trips; i++) {
        if (rank == 0) {
            if (pause_s > 0)
                wait_until(MPI_Wtime() + pause_s);
            vary(i);
            MPI_Send(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            vary(i + 1);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        }
    }
    return (MPI_Wtime() - begin) / trips;
}

static void isend(char *buffer, int bytes, int tag, MPI_Request *request)
{
    MPI_Isend(buffer, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, request);
}

/* One buffer for all: the data are not looked at. */
static void irecv(char *buffer, int bytes, int tag, MPI_Request *request)
{
    MPI_Irecv(buffer, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, request);
}

struct stream {
    char *buffer;
    int bytes, tag;
    int warm, count; /* messages before, and measured; some more follow, for a stream that ends empties queues */
    int window;
};

static int messages_of(const struct stream *s) { return s->warm + s->count + WINDOW_MAX; }

static int tag_of(const struct stream *s, int i) { return i >= s->warm && i < s->warm + s->count ? s->tag : WARM; }

static void send_stream(const struct stream *s)
{
    MPI_Request request[WINDOW_MAX];
    MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < messages_of(s); i++) {
        MPI_Request *next = &request[i & (s->window - 1)];
        if (i >= s->window)
            MPI_Wait(next, MPI_STATUS_IGNORE);
        MPI_Isend(s->buffer, s->bytes, MPI_BYTE, 1, tag_of(s, i), MPI_COMM_WORLD, next);
    }
    MPI_Waitall(s->window, request, MPI_STATUSES_IGNORE);
}

/* Seconds from message to message. One buffer for all: the data are not looked at. */
static double receive_stream(const struct stream *s)
{
    MPI_Request request[WINDOW_MAX];
    double begin = 0, end = 0;
    for (int i = 0; i < messages_of(s); i++) {
        MPI_Request *next = &request[i & (s->window - 1)];
        if (i >= s->window)
            MPI_Wait(next, MPI_STATUS_IGNORE);
        if (i == s->warm)
            begin = MPI_Wtime();
        if (i == s->warm + s->count)
            end = MPI_Wtime();
        MPI_Irecv(s->buffer, s->bytes, MPI_BYTE, 0, tag_of(s, i), MPI_COMM_WORLD, next);
        if (i == s->window - 1)
            MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
    }
    MPI_Waitall(s->window, request, MPI_STATUSES_IGNORE);
    return (end - begin) / s->count;
}

/* Seconds from message to message, as the receiver sees them: what a sender's interface queues comes later than it is
 * sent. */
static double stream(int rank, const struct stream *s)
{
    double gap_s;
    if (rank == 0) {
        send_stream(s);
        MPI_Recv(&gap_s, 1, MPI_DOUBLE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        gap_s = receive_stream(s);
        MPI_Send(&gap_s, 1, MPI_DOUBLE, 0, READY, MPI_COMM_WORLD);
    }
    return gap_s;
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int bytes = argc > 5 ? atoi(argv[1]) : -1, warm = argc > 5 ? atoi(argv[2]) : 0;
    int trips = argc > 5 ? atoi(argv[3]) : 0, count = argc > 5 ? atoi(argv[4]) : 0;
    if (bytes < 0 || warm < 1 || trips < 1 || count < 1) {
        fprintf(stderr, "usage: logp BYTES WARM TRIPS STREAM WINDOW...\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    char *buffer = calloc(1, (size_t)bytes + 1);
    if (!buffer)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank < 2) {
        double trip_s = ping(rank, buffer, bytes, warm, WARM, 0), gap_s = 0;
        for (int i = 5; i < argc; i++) {
            struct stream s = {.buffer = buffer, .bytes = bytes, .tag = STREAM + i - 5, .warm = warm, .count = count};
            s.window = atoi(argv[i]);
            gap_s = stream(rank, &s);
        }
        /* A ping must not meet the gap of the one before it, or latency would hold the wait; trip_s perhaps does. */
        double pause_s = trip_s < 1.5 * gap_s ? 1.5 * gap_s : 0;
        ping(rank, buffer, bytes, WINDOW_MAX / 4, WARM, pause_s);
        ping(rank, buffer, bytes, trips, PING, pause_s);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
