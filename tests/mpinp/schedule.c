/* Messages between all ranks in an order drawn from a seed: early and late receives, unexpected, truncated, synchronous and
 * ready ones, receives and sends that are taken back, wildcards; short and long. Every rank draws the same plan, and
 * checks what it gets against it.
 *
 * Usage: schedule SEED MESSAGES [LONGEST]
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum how { STANDARD, SYNCHRONOUS, READY, WITHDRAWN };
enum { EXACT, ANY_TAG, ANY_SOURCE, KINDS }; /* of receives: each has a communicator */

struct message {
    int source, destination, bytes, capacity, kind;
    enum how how;
    bool is_early; /* its receive is posted before any send */
    char *sent, *got;
    MPI_Request send, receive;
};

static int rank, ranks, wrong;
static unsigned long long state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static char content(int number, int at) { return (char)(number * 31 + at * 7 + at / 251); }

static void expect(bool right, const char *what, int number)
{
    if (!right && wrong++ < 5)
        printf("rank %d: message %d: %s\n", rank, number, what);
}

static void draw(struct message *message, int longest)
{
    static const int lengths[] = {0, 1, 8, 63, 128, 129, 256, 1000, 4096, 8192, 8193, 16384, 20000, 50000};
    int bytes = lengths[below(sizeof lengths / sizeof *lengths)];
    message->source = (int)below((unsigned)ranks);
    message->destination = (int)below((unsigned)ranks);
    message->bytes = bytes < longest ? bytes : longest;
    message->kind = (int)below(KINDS);
    message->how = (enum how)below(4);
    message->is_early = below(2);
    bool is_short = message->kind == EXACT && below(5) == 0;
    message->capacity = is_short ? message->bytes / 2 : message->bytes + (int)below(100);
    if (message->kind != EXACT)
        message->capacity = longest; /* Which message comes first is open. */
    if ((message->how == READY && (!message->is_early || message->kind != EXACT)) ||
        (message->how == WITHDRAWN && message->kind != EXACT))
        message->how = STANDARD;
}

static void post(struct message *message, int number, MPI_Comm comm)
{
    bool is_lost = message->how == WITHDRAWN;
    message->got = malloc((size_t)message->capacity + 1);
    MPI_Irecv(message->got, message->capacity, MPI_BYTE, message->kind == ANY_SOURCE ? MPI_ANY_SOURCE : message->source,
              message->kind == ANY_TAG      ? MPI_ANY_TAG
              : message->kind == ANY_SOURCE ? message->destination
                                            : number,
              comm, &message->receive);
    if (is_lost && message->is_early) /* Its send has not begun. */
        MPI_Cancel(&message->receive);
}

static void start(struct message *message, int number, MPI_Comm comm)
{
    int tag = message->kind == ANY_SOURCE ? message->destination : number;
    message->sent = malloc((size_t)message->bytes + sizeof number);
    for (int i = 0; i < message->bytes; i++)
        message->sent[i] = content(number, i);
    switch (message->how) {
    case READY:
        MPI_Irsend(message->sent, message->bytes, MPI_BYTE, message->destination, tag, comm, &message->send);
        break;
    case STANDARD:
        MPI_Isend(message->sent, message->bytes, MPI_BYTE, message->destination, tag, comm, &message->send);
        break;
    default: MPI_Issend(message->sent, message->bytes, MPI_BYTE, message->destination, tag, comm, &message->send);
    }
    if (message->how == WITHDRAWN)
        MPI_Cancel(&message->send);
}

/* The number of the message that came, for which a receive with a wildcard took the place of `number`'s. */
static int number_of(const struct message *messages, int count, int number, const MPI_Status *status, bool *taken)
{
    const struct message *receive = &messages[number];
    if (receive->kind == EXACT)
        return number;
    for (int i = 0; i < count; i++) {
        const struct message *message = &messages[i];
        bool matches =
            message->kind == receive->kind && message->destination == rank && message->source == status->MPI_SOURCE;
        if (matches && !taken[i]) {
            taken[i] = true; /* The earliest of its source. */
            return i;
        }
    }
    return -1;
}

static void finish_receive(const struct message *messages, int count, int number, bool *taken)
{
    struct message message = messages[number];
    MPI_Status status;
    int error = MPI_Wait(&message.receive, &status), cancelled = 0, got = 0;
    MPI_Test_cancelled(&status, &cancelled);
    if (message.how == WITHDRAWN && cancelled)
        return;
    int came = number_of(messages, count, number, &status, taken);
    expect(came >= 0 && !cancelled, "another message came", number);
    if (came < 0 || cancelled)
        return;
    MPI_Get_count(&status, MPI_BYTE, &got);
    int bytes = messages[came].bytes;
    expect(error == (bytes > message.capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "its error", number);
    int most = bytes < message.capacity ? bytes : message.capacity;
    expect(got == most, "its length", number);
    for (int i = 0; i < most; i++)
        if (message.got[i] != content(came, i)) {
            expect(false, "its data", number);
            return;
        }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm comms[KINDS];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    state = strtoull(argc > 1 ? argv[1] : "1", NULL, 0) * 2654435761u;
    int count = argc > 2 ? atoi(argv[2]) : 60, longest = argc > 3 ? atoi(argv[3]) : 50000;
    struct message *messages = calloc((size_t)count, sizeof *messages);
    bool *taken = calloc((size_t)count, sizeof *taken);
    for (int i = 0; i < KINDS; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
        MPI_Comm_set_errhandler(comms[i], MPI_ERRORS_RETURN);
    }
    for (int i = 0; i < count; i++)
        draw(&messages[i], longest);
    for (int i = 0; i < count; i++)
        if (messages[i].destination == rank && messages[i].is_early)
            post(&messages[i], i, comms[messages[i].kind]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < count; i++)
        if (messages[i].source == rank)
            start(&messages[i], i, comms[messages[i].kind]);
    for (int i = 0; i < count; i++)
        if (messages[i].destination == rank && !messages[i].is_early && messages[i].how != WITHDRAWN)
            post(&messages[i], i, comms[messages[i].kind]);
    /* In the order in which they were posted. */
    for (int i = 0; i < count; i++)
        if (messages[i].destination == rank && messages[i].is_early)
            finish_receive(messages, count, i, taken);
    for (int i = 0; i < count; i++)
        if (messages[i].destination == rank && !messages[i].is_early && messages[i].how != WITHDRAWN)
            finish_receive(messages, count, i, taken);
    for (int i = 0; i < count; i++)
        if (messages[i].source == rank) {
            MPI_Status status;
            int cancelled;
            MPI_Wait(&messages[i].send, &status);
            MPI_Test_cancelled(&status, &cancelled);
            expect(cancelled == (messages[i].how == WITHDRAWN), "cancelled or not", i);
        }
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("schedule, seed %s: %s\n", argc > 1 ? argv[1] : "1", all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all != 0;
}
