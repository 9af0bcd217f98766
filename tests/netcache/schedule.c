/* Non-overtaking under random schedules: ranks send to rank 0 with few tags and random lengths; rank 0 posts receives,
 * exact ones and such with wildcards, in random order, some of them before their message and some after, and waits for
 * them in random order. A message says who it is. Afterwards rank 0 looks whether some message could have met an earlier
 * receive: a receive may not take a message while one that was sent before it by the same rank, and that fits the
 * receive, is left for a later receive.
 *
 * usage: schedule SEED MESSAGES (of each sender) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAGS = 3, LONGEST = 8, OPEN = 12 };

struct receive {
    long data[LONGEST];
    MPI_Request request;
    int source, tag; /* What it asks for. */
    int from, got, number; /* What it got. */
};

static uint64_t state;

static int below(int bound)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (unsigned)bound);
}

/* Some senders pause, so that some messages come before their receives and some after. */
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
        int words = 1 + (below(3) ? 0 : below(LONGEST));
        int tag = below(TAGS);
        for (int i = 0; i < words; i++)
            data[number][i] = (long)rank * 1000000 + number;
        if (below(4) == 0)
            pause_for(below(3000));
        if (below(5))
            MPI_Isend(data[number], words, MPI_LONG, 0, tag, MPI_COMM_WORLD, &requests[number]);
        else
            MPI_Issend(data[number], words, MPI_LONG, 0, tag, MPI_COMM_WORLD, &requests[number]);
    }
    MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
}

/* How many messages of each sender and tag are still to be received: an exact receive that nobody meets would hang. */
static int left[64][TAGS];

static int fits(const struct receive *r, int source, int tag)
{
    return (r->source == MPI_ANY_SOURCE || r->source == source) && (r->tag == MPI_ANY_TAG || r->tag == tag);
}

/* Each receive claims one of the messages that it may take. What the wildcards leave for the exact ones is not known in
 * advance, so that after a wildcard all that follow are wildcards until nothing is open. */
static void choose(struct receive *r, int ranks, int only_wild)
{
    int source, tag;
    do {
        source = 1 + below(ranks - 1);
        tag = below(TAGS);
    } while (left[source][tag] == 0);
    int wild = only_wild || below(3) == 0;
    r->source = wild ? MPI_ANY_SOURCE : source;
    r->tag = wild ? MPI_ANY_TAG : tag;
    if (!wild)
        left[source][tag]--;
}

static void finish(struct receive *r)
{
    MPI_Status status;
    MPI_Wait(&r->request, &status);
    r->from = status.MPI_SOURCE;
    r->got = status.MPI_TAG;
    r->number = (int)(r->data[0] - (long)r->from * 1000000);
    int words;
    MPI_Get_count(&status, MPI_LONG, &words);
    for (int i = 0; i < words; i++)
        if (r->data[i] != r->data[0]) {
            printf("schedule: wrong data\n");
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    if (r->source == MPI_ANY_SOURCE)
        left[r->from][r->got]--;
}

static void receive_all(struct receive *all, int count, int ranks)
{
    int open[OPEN], opened = 0, wild = 0;
    for (int next = 0; next < count || opened > 0;) {
        int may_post = next < count && opened < OPEN;
        if (may_post && (opened == 0 || below(2))) {
            struct receive *r = &all[next];
            choose(r, ranks, wild);
            wild |= r->source == MPI_ANY_SOURCE;
            MPI_Irecv(r->data, LONGEST, MPI_LONG, r->source, r->tag, MPI_COMM_WORLD, &r->request);
            open[opened++] = next++;
        } else {
            int at = below(opened);
            finish(&all[open[at]]);
            open[at] = open[--opened];
        }
        /* A wildcard may have taken what an exact receive would claim: only once none is open is it known. */
        while (wild && (opened == OPEN || next == count) && opened > 0)
            finish(&all[open[--opened]]);
        if (opened == 0)
            wild = 0;
        if (below(6) == 0)
            pause_for(below(4000));
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, messages = atoi(argv[2]), wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* What each sender sends is known to rank 0: it draws the same numbers. */
    uint64_t seed = strtoull(argv[1], NULL, 0);
    if (rank > 0) {
        state = seed * 1000 + (uint64_t)rank;
        send_all(rank, messages);
        MPI_Finalize();
        return 0;
    }
    int count = (ranks - 1) * messages;
    for (int source = 1; source < ranks; source++) {
        state = seed * 1000 + (uint64_t)source;
        for (int number = 0; number < messages; number++) {
            if (below(3) == 0)
                below(LONGEST);
            left[source][below(TAGS)]++;
            if (below(4) == 0)
                below(3000);
            below(5);
        }
    }
    state = seed;
    struct receive *all = calloc((size_t)count, sizeof *all);
    receive_all(all, count, ranks);
    for (int later = 0; later < count; later++)
        for (int earlier = 0; earlier < later; earlier++) {
            const struct receive *a = &all[earlier], *b = &all[later];
            wrong += a->from == b->from && b->number < a->number && fits(a, b->from, b->got);
        }
    printf("schedule: %s\n", wrong ? "FAILED" : "PASSED");
    MPI_Finalize();
    return wrong > 0;
}
