/* Receives that are posted before their messages: in order, of all lengths, at places that are and that are not
 * multiples of 16, with wildcards before and behind them, cut off, cancelled in time and too late, before a block; then
 * receives and messages that race each other, in an order that a seed decides.
 *
 * usage: early [SEED [MESSAGES]], on two ranks or more */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PLACES = 8, TAGS = 3, WINDOW = 6, RACE_TAG = 100 };

static int failures, rank, ranks;
/* Each place is a line of 16 bytes, with one between them. */
static char places[PLACES][32] __attribute__((aligned(64)));

static void expect(int condition, const char *what, long number)
{
    if (!condition) {
        printf("%s: %ld\n", what, number);
        failures++;
    }
}

static long word_at(const void *place)
{
    long word;
    memcpy(&word, place, sizeof word);
    return word;
}

static void post(void *to, int bytes, int source, int tag, MPI_Request *request)
{
    MPI_Irecv(to, bytes, MPI_BYTE, source, tag, MPI_COMM_WORLD, request);
}

/* Rank 1 sends what rank 0 waits for, once that is posted. */
static void send_words(int count, int tag, long first)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 1 && i < count; i++) {
        long word = first + i;
        if (i % 2)
            MPI_Ssend(&word, 1, MPI_LONG, 0, tag, MPI_COMM_WORLD);
        else
            MPI_Send(&word, 1, MPI_LONG, 0, tag, MPI_COMM_WORLD);
    }
}

static void all_come(MPI_Request *requests, int count)
{
    if (rank == 0)
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Six receives that the same messages match: the first `odd` bytes off; `wild`: the wildcard of which one. */
static void in_order(int odd, int wild, int tag)
{
    MPI_Request requests[6];
    for (int i = 0; rank == 0 && i < 6; i++)
        post(places[i] + (i == 0 ? odd : 0), 8 + 8 * (i & 1), i == wild ? MPI_ANY_SOURCE : 1,
             i == wild + 1 && wild >= 0 ? MPI_ANY_TAG : tag, &requests[i]);
    send_words(6, tag, 1000 * tag);
    all_come(requests, 6);
    for (int i = 0; rank == 0 && i < 6; i++)
        expect(word_at(places[i] + (i == 0 ? odd : 0)) == 1000 * tag + i, "out of order", tag * 10 + i);
}

/* Too long for its receive, shorter than it, empty: each takes its own receive and no other. */
static void of_all_lengths(void)
{
    static const int lengths[] = {16, 3, 0, 12, 8};
    char data[16];
    MPI_Request requests[5];
    MPI_Status statuses[5];
    memset(places, 0x77, sizeof places);
    for (int i = 0; rank == 0 && i < 5; i++)
        post(places[i], i == 0 ? 8 : 16, 1, 40, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 5 && rank == 1; i++) {
        memset(data, i + 1, sizeof data);
        MPI_Send(data, lengths[i], MPI_BYTE, 0, 40, MPI_COMM_WORLD);
    }
    if (rank == 0) {
        expect(MPI_Waitall(5, requests, statuses) == MPI_ERR_IN_STATUS, "not cut off", 0);
        for (int i = 0; i < 5; i++) {
            int length, room = i == 0 ? 8 : 16;
            MPI_Get_count(&statuses[i], MPI_BYTE, &length);
            expect(i == 0 || length == lengths[i], "length", i);
            for (int byte = 0; byte < 32; byte++)
                expect(places[i][byte] == (byte < lengths[i] && byte < room ? i + 1 : 0x77), "bytes", i);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The second of three is cancelled before its message is sent. */
static void cancelled(void)
{
    MPI_Request requests[3];
    for (int i = 0; rank == 0 && i < 3; i++)
        post(places[i], 16, 1, 50, &requests[i]);
    if (rank == 0) {
        MPI_Status status;
        int flag;
        MPI_Cancel(&requests[1]);
        MPI_Wait(&requests[1], &status);
        MPI_Test_cancelled(&status, &flag);
        expect(flag, "not cancelled", 1);
        requests[1] = requests[2];
    }
    send_words(2, 50, 7);
    all_come(requests, 2);
    expect(rank != 0 || (word_at(places[0]) == 7 && word_at(places[2]) == 8), "after a cancel", 0);
}

/* A block comes behind a message that was bound as it came, and nothing between them. */
static void block_follows(void)
{
    static char block[5000];
    MPI_Request requests[2];
    memset(block, rank ? 0x55 : 0, sizeof block);
    if (rank == 0) {
        post(places[0], 16, 1, 60, &requests[0]);
        post(block, sizeof block, 1, 61, &requests[1]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        long word = 9;
        MPI_Isend(block, sizeof block, MPI_BYTE, 0, 61, MPI_COMM_WORLD, &requests[0]);
        MPI_Send(&word, 1, MPI_LONG, 0, 60, MPI_COMM_WORLD);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    }
    all_come(requests, 2);
    int wrong = 0;
    for (size_t i = 0; rank == 0 && i < sizeof block; i++)
        wrong += block[i] != 0x55;
    expect(!wrong && (rank != 0 || word_at(places[0]) == 9), "bytes of a block", wrong);
}

/* --- races --------------------------------------------------------------------------------------------- */

static unsigned long state;

static int random_below(int limit)
{
    state = state * 6364136223846793005ul + 1442695040888963407ul;
    return (int)((state >> 33) % (unsigned)limit);
}

static volatile int idle;

static void do_something(int most)
{
    for (int i = random_below(most); i > 0; i--)
        idle++;
}

struct posted {
    MPI_Request request;
    char *place;
    int source, tag;
};

/* Number of the next message of each stream. */
static long next[64][TAGS];

static void check_one(struct posted *posted, int is_cancelled)
{
    MPI_Status status;
    int flag = 0;
    if (is_cancelled)
        MPI_Cancel(&posted->request);
    MPI_Wait(&posted->request, &status);
    MPI_Test_cancelled(&status, &flag);
    if (flag)
        MPI_Recv(posted->place, 16, MPI_BYTE, posted->source, posted->tag, MPI_COMM_WORLD, &status);
    int source = status.MPI_SOURCE, stream = status.MPI_TAG - RACE_TAG;
    expect(word_at(posted->place) == source * 1000000 + stream * 100000 + next[source][stream]++, "race",
           word_at(posted->place));
}

/* Messages of each stream are received in order, whether their receives are posted early or late. */
static void race_receiver(int messages)
{
    struct posted posted[WINDOW];
    int left[64][TAGS], first = 0, count = 0, total = (ranks - 1) * TAGS * messages;
    for (int source = 1; source < ranks; source++)
        for (int tag = 0; tag < TAGS; tag++)
            left[source][tag] = messages;
    for (int i = 0; i < total; i++) {
        int source = 1 + random_below(ranks - 1), tag = random_below(TAGS);
        while (!left[source][tag]) {
            tag = (tag + 1) % TAGS;
            source = tag == 0 ? 1 + source % (ranks - 1) : source;
        }
        left[source][tag]--;
        while (count == WINDOW || (count > 0 && random_below(3) == 0)) {
            /* A cancelled one is received again: only the last of its stream keeps the order. */
            check_one(&posted[first], count == 1 && random_below(2));
            first = (first + 1) % WINDOW;
            count--;
        }
        int at = (first + count++) % WINDOW;
        posted[at] = (struct posted){
            .place = places[at] + (random_below(6) == 0 ? 8 : 0), .source = source, .tag = RACE_TAG + tag};
        post(posted[at].place, random_below(2) ? 8 : 16, source, RACE_TAG + tag, &posted[at].request);
        do_something(300);
    }
    for (; count > 0; count--, first = (first + 1) % WINDOW)
        check_one(&posted[first], 0);
}

static void race_sender(int messages)
{
    int sent[TAGS] = {0};
    for (int i = 0; i < TAGS * messages; i++) {
        int tag = random_below(TAGS);
        while (sent[tag] == messages)
            tag = (tag + 1) % TAGS;
        long word = rank * 1000000 + tag * 100000 + sent[tag]++;
        MPI_Send(&word, 1, MPI_LONG, 0, RACE_TAG + tag, MPI_COMM_WORLD);
        do_something(200);
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int seed = argc > 1 ? atoi(argv[1]) : 1, messages = argc > 2 ? atoi(argv[2]) : 40;
    if (rank == 0)
        printf("early: seed %d\n", seed);
    state = (unsigned long)seed * 64 + (unsigned long)rank;
    in_order(0, -1, 30);
    in_order(8, -1, 31);
    in_order(0, 0, 32);
    in_order(0, 3, 33);
    of_all_lengths();
    cancelled();
    block_follows();
    if (rank == 0)
        race_receiver(messages);
    else
        race_sender(messages);
    MPI_Finalize();
    if (rank == 0)
        printf("early: %s\n", failures ? "FAILED" : "PASSED");
    return failures != 0;
}
