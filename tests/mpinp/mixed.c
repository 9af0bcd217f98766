/* Messages both ways between two ranks, and receives of the same communicator with and without wildcards, in an order and after
 * pauses drawn from a seed. Of one source what meets what does not depend on time: each message takes, in the order of the
 * sends, the earliest receive that matches. Both ranks draw the same plan and check what they get against that. Receives that
 * meet nothing are taken back, messages that meet nothing received at the end.
 *
 * Usage: mixed SEED MESSAGES [PAUSE]
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAGS = 3, LONGEST = 3000, NONE = -1 };

struct message {
    int tag, bytes, receive; /* of its destination that it meets, or NONE */
    bool is_synchronous;
    unsigned char *data;
    MPI_Request request;
};

struct receive {
    int tag, capacity, message;
    bool is_any_source;
    unsigned char *data;
    MPI_Request request;
};

static int rank, count, wrong;
static struct message *messages[2]; /* by source */
static struct receive *receives[2]; /* by destination */
static unsigned long long state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static void expect(bool right, const char *what, int number)
{
    if (!right && wrong++ < 5)
        printf("rank %d: receive %d: %s\n", rank, number, what);
}

static unsigned char content(int source, int number, int at)
{
    return (unsigned char)(source * 57 + number * 31 + at * 7);
}

static void draw(void)
{
    static const int lengths[] = {0, 1, 8, 100, 500, 960, 961, 2000, LONGEST};
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++) {
            bool is_long = below(4) == 0;
            messages[side][i] = (struct message){.tag = (int)below(TAGS),
                                                 .bytes = lengths[below(is_long ? 9 : 5)],
                                                 .receive = NONE,
                                                 .is_synchronous = below(5) == 0};
            receives[side][i] = (struct receive){.tag = below(4) ? (int)below(TAGS) : MPI_ANY_TAG,
                                                 .capacity = below(6) ? LONGEST : (int)below(200),
                                                 .message = NONE,
                                                 .is_any_source = below(8) == 0};
        }
    for (int side = 0; side < 2; side++)
        for (int i = 0; i < count; i++)
            for (int k = 0; k < count && messages[side][i].receive == NONE; k++) {
                struct receive *receive = &receives[1 - side][k];
                bool matches = receive->tag == MPI_ANY_TAG || receive->tag == messages[side][i].tag;
                if (matches && receive->message == NONE) {
                    messages[side][i].receive = k;
                    receive->message = i;
                }
            }
}

static void post(struct receive *receive)
{
    receive->data = malloc(LONGEST + 1);
    MPI_Irecv(receive->data, receive->capacity, MPI_BYTE, receive->is_any_source ? MPI_ANY_SOURCE : 1 - rank,
              receive->tag, MPI_COMM_WORLD, &receive->request);
}

static void start(struct message *message, int number)
{
    message->data = malloc(LONGEST + 1);
    for (int i = 0; i < message->bytes; i++)
        message->data[i] = content(rank, number, i);
    (message->is_synchronous ? MPI_Issend : MPI_Isend)(message->data, message->bytes, MPI_BYTE, 1 - rank, message->tag,
                                                       MPI_COMM_WORLD, &message->request);
}

static void check(const struct receive *receive, int number, int error, const MPI_Status *status)
{
    const struct message *message = &messages[1 - rank][receive->message];
    int got, most = message->bytes < receive->capacity ? message->bytes : receive->capacity;
    MPI_Get_count(status, MPI_BYTE, &got);
    expect(error == (message->bytes > receive->capacity ? MPI_ERR_TRUNCATE : MPI_SUCCESS), "its error", number);
    expect(status->MPI_SOURCE == 1 - rank && status->MPI_TAG == message->tag, "its tag", number);
    expect(got == most, "its length", number);
    for (int i = 0; i < most; i++)
        if (receive->data[i] != content(1 - rank, receive->message, i)) {
            expect(false, "its data", number);
            return;
        }
}

static void finish(struct receive *receive, int number)
{
    MPI_Status status;
    int is_cancelled;
    if (receive->message == NONE)
        MPI_Cancel(&receive->request);
    int error = MPI_Wait(&receive->request, &status);
    MPI_Test_cancelled(&status, &is_cancelled);
    expect(is_cancelled == (receive->message == NONE), "cancelled or not", number);
    if (!is_cancelled && receive->message != NONE)
        check(receive, number, error, &status);
}

/* Messages that meet no receive are the earliest that are left, in their order. */
static void receive_rest(void)
{
    for (int i = 0; i < count; i++) {
        if (messages[1 - rank][i].receive != NONE)
            continue;
        struct receive rest = {.tag = MPI_ANY_TAG, .capacity = LONGEST, .message = i, .data = malloc(LONGEST + 1)};
        MPI_Status status, shown;
        MPI_Probe(1 - rank, MPI_ANY_TAG, MPI_COMM_WORLD, &shown);
        int error = MPI_Recv(rest.data, LONGEST, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        expect(shown.MPI_TAG == status.MPI_TAG, "what was probed", count + i);
        check(&rest, count + i, error, &status);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 3)
        return 2;
    unsigned long long seed = strtoull(argv[1], NULL, 0);
    count = atoi(argv[2]);
    unsigned pause = argc > 3 ? (unsigned)atoi(argv[3]) : 3000;
    state = seed * 2654435761u;
    for (int side = 0; side < 2; side++) {
        messages[side] = calloc((size_t)count, sizeof **messages);
        receives[side] = calloc((size_t)count, sizeof **receives);
    }
    draw();
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    state += (unsigned)rank * 977u;
    for (int sent = 0, posted = 0, flag; sent < count || posted < count;) {
        if (below(2) && sent < count)
            start(&messages[rank][sent], sent), sent++;
        else if (posted < count)
            post(&receives[rank][posted]), posted++;
        if (below(4) == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, TAGS, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        for (volatile unsigned turns = below(pause + 1); below(3) == 0 && turns > 0; turns--)
            ;
    }
    for (int i = 0; i < count; i++)
        if (receives[rank][i].message != NONE)
            finish(&receives[rank][i], i);
    for (int i = 0; i < count; i++)
        if (receives[rank][i].message == NONE)
            finish(&receives[rank][i], i);
    receive_rest();
    for (int i = 0; i < count; i++)
        MPI_Wait(&messages[rank][i].request, MPI_STATUS_IGNORE);
    int all = 0;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("mixed, seed %llu: %s\n", seed, all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all != 0;
}
