/* What `chasqui logp` runs: between ranks 0 and 1, messages of one size: a ping-pong with blocking calls (overheads,
 * latency), and a stream (gap), with as many requests under way as make it fastest; that stream again with more for the
 * sender to do, and with more for the receiver (which of them limits it, if either does).
 *
 * It measures nothing itself: the figures come from the messages' records, which their tag assigns to a phase.
 * Before what is measured come so many messages in each direction that every ring and buffer has been used: slots,
 * pages and cache lines that are touched for the first time are not what a program meets later.
 *
 * Usage: logp BYTES WARM TRIPS STREAM WINDOW...
 * (messages in each direction before, measured round trips, measured messages of a stream; the requests under way at
 * each end that are tried: a power of two up to 64, or 0 for blocking calls)
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum phase { WARM, PING, READY, STREAM, SLOW_SENDER, SLOW_RECEIVER };

/* The same numbers as in python/chasqui/loggp.py. */
_Static_assert(PING == 1 && STREAM == 3 && SLOW_SENDER == 4 && SLOW_RECEIVER == 5, "phases");

enum { WINDOW_MAX = 64, FEW = 16 };

/* A slow end does so much of the gap more for each message. */
static const double SLOW = 0.125;

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

/* One buffer for all: the data are not looked at. */
struct stream {
    char *buffer;
    int bytes, tag;
    int warm, count; /* messages before, and measured; some more follow, for a stream that ends empties queues */
    int window;      /* requests under way at each end; 0: blocking calls */
    long more[2];    /* turns of `delay` for each message, at the sender and at the receiver */
};

static int messages_of(const struct stream *s) { return s->warm + s->count + WINDOW_MAX; }

static int tag_of(const struct stream *s, int i) { return i >= s->warm && i < s->warm + s->count ? s->tag : WARM; }

static void send_stream(const struct stream *s)
{
    MPI_Request request[WINDOW_MAX];
    MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < messages_of(s); i++) {
        delay(s->more[0]);
        if (s->window == 0) {
            MPI_Send(s->buffer, s->bytes, MPI_BYTE, 1, tag_of(s, i), MPI_COMM_WORLD);
            continue;
        }
        MPI_Request *next = &request[i & (s->window - 1)];
        if (i >= s->window)
            MPI_Wait(next, MPI_STATUS_IGNORE);
        MPI_Isend(s->buffer, s->bytes, MPI_BYTE, 1, tag_of(s, i), MPI_COMM_WORLD, next);
    }
    MPI_Waitall(s->window, request, MPI_STATUSES_IGNORE);
}

/* Seconds from message to message. */
static double receive_stream(const struct stream *s)
{
    MPI_Request request[WINDOW_MAX];
    double begin = 0, end = 0;
    int ahead = s->window > 0 ? s->window - 1 : 0;
    for (int i = 0; i < messages_of(s); i++) {
        MPI_Request *next = &request[s->window > 0 ? i & (s->window - 1) : 0];
        if (s->window > 0 && i >= s->window)
            MPI_Wait(next, MPI_STATUS_IGNORE);
        if (i == s->warm)
            begin = MPI_Wtime();
        if (i == s->warm + s->count)
            end = MPI_Wtime();
        delay(s->more[1]);
        if (s->window > 0)
            MPI_Irecv(s->buffer, s->bytes, MPI_BYTE, 0, tag_of(s, i), MPI_COMM_WORLD, next);
        if (i == ahead)
            MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
        if (s->window == 0)
            MPI_Recv(s->buffer, s->bytes, MPI_BYTE, 0, tag_of(s, i), MPI_COMM_WORLD, MPI_STATUS_IGNORE);
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

/* Turns of `delay` that take a time. */
static long turns_of(double time_s)
{
    delay(STEPS);
    double begin = MPI_Wtime();
    delay(STEPS * STEP);
    return 1 + (long)(time_s * STEPS * STEP / (MPI_Wtime() - begin));
}

/* The streams. Seconds from message to message of the fastest. */
static double streams(int rank, struct stream s, int windows, char **window)
{
    double least_s = 0;
    int fastest = 0;
    for (int i = 0; i < windows; i++) {
        s.window = atoi(window[i]);
        double gap_s = stream(rank, &s);
        if (i == 0 || gap_s < least_s) {
            least_s = gap_s;
            fastest = s.window;
        }
    }
    s.window = fastest;
    s.tag = STREAM;
    least_s = stream(rank, &s);
    for (int end = 0; end < 2; end++) {
        s.tag = SLOW_SENDER + end;
        s.more[end] = turns_of(SLOW * least_s);
        s.more[!end] = 0;
        stream(rank, &s);
    }
    return least_s;
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
        double trip_s = ping(rank, buffer, bytes, warm, WARM, 0);
        struct stream s = {.buffer = buffer, .bytes = bytes, .tag = WARM, .warm = warm, .count = count};
        double gap_s = streams(rank, s, argc - 5, argv + 5);
        /* A ping must not meet the gap of the one before it, or latency would hold the wait; trip_s perhaps does. */
        double pause_s = trip_s < 1.5 * gap_s ? 1.5 * gap_s : 0;
        ping(rank, buffer, bytes, FEW, WARM, pause_s);
        ping(rank, buffer, bytes, trips, PING, pause_s);
        /* Nor must the last meet what ends the program. */
        ping(rank, buffer, bytes, FEW, WARM, pause_s);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
