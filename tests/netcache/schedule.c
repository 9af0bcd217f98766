/* Non-overtaking under random schedules: ranks send to rank 0 in two communicators with few tags and random lengths; rank 0
 * posts receives, exact ones and such with wildcards, in random order, some of them before their message and some after,
 * probes, cancels some, and waits for them in random order: of PHASE messages with as many open as there may be, of others
 * with one or two, and of some with exact ones alone, as the device has different ways where no wildcard is open. A message says who it is. Afterwards rank 0 looks whether some
 * message could have met an earlier receive: a receive may not take a message while one that was sent before it by the same
 * rank, and that fits the receive, is left for a later receive.
 *
 * usage: schedule SEED MESSAGES (of each sender) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { COMMS = 2, TAGS = 3, LONGEST = 8, OPEN = 12, PHASE = 15, NEVER_SENT = TAGS };

struct message {
    int comm, tag, words, pause, synchronous;
};

struct receive {
    long data[LONGEST];
    MPI_Request request;
    int posted; /* The how manieth it is. */
    int comm, source, tag; /* What it asks for. */
    int from, got, number; /* What it got. */
};

static MPI_Comm comms[COMMS];
static uint64_t state;

static int below(int bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)bound);
}

static struct message draw(void)
{
    struct message m;
    m.words = 1 + (below(3) ? 0 : below(LONGEST));
    m.tag = below(TAGS);
    m.comm = below(COMMS);
    m.pause = below(4) ? 0 : below(3000);
    m.synchronous = below(5) == 0;
    return m;
}

/* Some messages come before their receives and some after. */
static void pause_for(int rounds)
{
    for (volatile int i = 0; i < rounds; i++)
        ;
}

/* None waits for its receive: rank 0 may wait for another first. */
static void send_all(int rank, int messages)
{
    long (*data)[LONGEST] = malloc((size_t)messages * sizeof *data);
    MPI_Request *requests = malloc((size_t)messages * sizeof *requests);
    for (int number = 0; number < messages; number++) {
        struct message m = draw();
        for (int i = 0; i < m.words; i++)
            data[number][i] = (long)rank * 1000000 + number;
        pause_for(m.pause);
        if (m.synchronous)
            MPI_Issend(data[number], m.words, MPI_LONG, 0, m.tag, comms[m.comm], &requests[number]);
        else
            MPI_Isend(data[number], m.words, MPI_LONG, 0, m.tag, comms[m.comm], &requests[number]);
    }
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
}

/* How many messages of each envelope no exact receive has asked for: one that nobody meets would hang. */
static int left[COMMS][64][TAGS];

static int fits(const struct receive *r, int comm, int source, int tag)
{
    return r->comm == comm && (r->source == MPI_ANY_SOURCE || r->source == source) &&
           (r->tag == MPI_ANY_TAG || r->tag == tag);
}

/* Wildcards that are open are all alike, so that each finds a message whatever the others take: which they are, and how
 * many. */
static struct receive wild;
static int wilds;

/* Of this phase: whether there are any, and how many receives of all kinds are open. */
static int may_be_wild, may_be_open;

static void begin_phase(void)
{
    static const int most[] = {1, 2, OPEN, OPEN};
    may_be_wild = below(3) > 0;
    may_be_open = most[below(4)];
}

static int is_wild(const struct receive *r) { return r->source == MPI_ANY_SOURCE || r->tag == MPI_ANY_TAG; }

/* Messages that the open wildcards may take and that none of them needs. */
static int spare_for_wild(int ranks)
{
    int spare = -wilds;
    for (int comm = 0; comm < COMMS; comm++)
        for (int source = 1; source < ranks; source++)
            for (int tag = 0; tag < TAGS; tag++)
                spare += fits(&wild, comm, source, tag) ? left[comm][source][tag] : 0;
    return spare;
}

/* Chooses what to ask for. 0: all that is left is for the open wildcards. */
static int choose(struct receive *r, int ranks)
{
    for (int attempt = 0; attempt < 50; attempt++) {
        r->comm = below(COMMS);
        r->source = 1 + below(ranks - 1);
        r->tag = below(TAGS);
        if (left[r->comm][r->source][r->tag] == 0)
            continue;
        if (may_be_wild && below(3) == 0) {
            int kind = 1 + below(3);
            if (wilds == 0)
                wild = (struct receive){.comm = r->comm,
                                        .source = kind & 1 ? MPI_ANY_SOURCE : r->source,
                                        .tag = kind & 2 ? MPI_ANY_TAG : r->tag};
            if (spare_for_wild(ranks) == 0)
                continue;
            r->comm = wild.comm;
            r->source = wild.source;
            r->tag = wild.tag;
            wilds++;
            return 1;
        }
        /* It would have to compete with those that came before. */
        if (wilds > 0 && fits(&wild, r->comm, r->source, r->tag))
            continue;
        left[r->comm][r->source][r->tag]--;
        return 1;
    }
    return 0;
}

/* Waits for it. 0: it was cancelled. */
static int finish(struct receive *r)
{
    MPI_Status status;
    int words, cancelled, is_wrong = 0;
    MPI_Wait(&r->request, &status);
    MPI_Test_cancelled(&status, &cancelled);
    wilds -= is_wild(r);
    if (cancelled) {
        if (!is_wild(r) && r->tag != NEVER_SENT)
            left[r->comm][r->source][r->tag]++;
        return 0;
    }
    r->from = status.MPI_SOURCE;
    r->got = status.MPI_TAG;
    r->number = (int)(r->data[0] - (long)r->from * 1000000);
    MPI_Get_count(&status, MPI_LONG, &words);
    for (int i = 0; i < words; i++)
        is_wrong |= r->data[i] != r->data[0];
    if (is_wrong || words < 1) {
        printf("schedule: wrong data\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (is_wild(r))
        left[r->comm][r->from][r->got]--;
    return 1;
}

static void post(struct receive *r)
{
    static int posts;
    r->posted = posts++;
    MPI_Irecv(r->data, LONGEST, MPI_LONG, r->source, r->tag, comms[r->comm], &r->request);
}

/* A probe takes nothing; a receive for what is never sent is cancelled. */
static void disturb(int ranks)
{
    int flag;
    struct receive none = {.comm = below(COMMS), .source = 1 + below(ranks - 1), .tag = NEVER_SENT};
    if (below(2)) {
        MPI_Iprobe(MPI_ANY_SOURCE, below(TAGS), comms[none.comm], &flag, MPI_STATUS_IGNORE);
        return;
    }
    post(&none);
    MPI_Cancel(&none.request);
    if (finish(&none)) {
        printf("schedule: what was never sent has come\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void receive_all(struct receive *all, int count, int ranks)
{
    struct receive *open[OPEN];
    for (int next = 0, opened = 0; next < count || opened > 0;) {
        if (next % PHASE == 0)
            begin_phase();
        int may_post = next + opened < count && opened < may_be_open;
        struct receive *r = may_post && (opened == 0 || below(2)) ? malloc(sizeof *r) : NULL;
        if (r && choose(r, ranks)) {
            post(r);
            open[opened++] = r;
        } else {
            free(r);
        }
        if (opened > 0 && (!r || opened >= may_be_open || below(3) == 0)) {
            int at = below(opened);
            r = open[at];
            if (below(6) == 0)
                MPI_Cancel(&r->request);
            open[at] = open[--opened];
            if (finish(r))
                all[next++] = *r;
            free(r);
        }
        if (below(6) == 0)
            pause_for(below(4000));
        if (below(8) == 0)
            disturb(ranks);
    }
}

/* What rank 0 knows of the messages: it draws the same numbers as their senders. */
static void foresee(uint64_t seed, int ranks, int messages)
{
    for (int source = 1; source < ranks; source++) {
        state = seed * 1000 + (uint64_t)source;
        for (int number = 0; number < messages; number++) {
            struct message m = draw();
            left[m.comm][source][m.tag]++;
        }
    }
    state = seed;
}

static int receive_and_check(int count, int ranks)
{
    int wrong = 0;
    struct receive *all = calloc((size_t)count, sizeof *all);
    receive_all(all, count, ranks);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++) {
            const struct receive *a = &all[i], *b = &all[j];
            wrong += a->posted < b->posted && a->from == b->from && b->number < a->number &&
                     fits(a, b->comm, b->from, b->got);
        }
    printf("schedule: %s\n", wrong ? "FAILED" : "PASSED");
    return wrong > 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, messages = atoi(argv[2]), failed = 0;
    uint64_t seed = strtoull(argv[1], NULL, 0);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    comms[0] = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]);
    if (rank > 0) {
        state = seed * 1000 + (uint64_t)rank;
        send_all(rank, messages);
    } else {
        foresee(seed, ranks, messages);
        failed = receive_and_check((ranks - 1) * messages, ranks);
    }
    MPI_Comm_free(&comms[1]);
    MPI_Finalize();
    return failed;
}
