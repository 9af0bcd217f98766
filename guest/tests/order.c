/* The non-overtaking rule with wildcards (MPI 5.0, section 3.5): every message must go to the
 * receive that a plain list would give it to. Random traffic against a model. */
#include "check.h"

enum { MESSAGES = 400, TAGS = 3 };

/* Messages of one sender with one tag come in order whatever their lengths. */
static void lengths_in_order(void)
{
    static char data[3000];
    if (check_rank == 0) {
        for (int i = 0; i < 60; i++) {
            int length = i % 3 == 0 ? 2000 + i : i;
            memset(data, i, sizeof data);
            MPI_Request request;
            MPI_Isend(data, length, MPI_CHAR, 1, 9, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    } else if (check_rank == 1) {
        for (int i = 0; i < 60; i++) {
            MPI_Status status;
            int length = i % 3 == 0 ? 2000 + i : i, count;
            MPI_Recv(data, sizeof data, MPI_CHAR, i % 2 ? MPI_ANY_SOURCE : 0, i % 5 ? MPI_ANY_TAG : 9, MPI_COMM_WORLD,
                     &status);
            MPI_Get_count(&status, MPI_CHAR, &count);
            CHECK_EQUAL(count, length);
            if (length)
                CHECK_EQUAL(data[length - 1], i);
        }
    }
}

/* Many sends under way at once, with one tag: those that had to wait for room must not be overtaken,
 * neither by nonblocking nor by blocking ones. */
static void burst(void)
{
    enum { N = 300 };
    static int data[N][40];
    MPI_Request requests[N];
    int count = 0;
    if (check_rank == 0) {
        for (int i = 0; i < N; i++) {
            data[i][0] = i;
            int length = i % 7 == 0 ? 40 : 1;
            if (i % 11 == 10)
                MPI_Send(data[i], length, MPI_INT, 1, 3, MPI_COMM_WORLD);
            else
                MPI_Isend(data[i], length, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[count++]);
        }
        MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
    } else if (check_rank == 1) {
        for (int i = 0; i < N; i++) {
            int got[40];
            MPI_Recv(got, 40, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_EQUAL(got[0], i);
        }
    }
}

/* Each other rank sends messages numbered in order; rank 0 receives them with open receives, some
 * posted before and some after they come. Each comes once, and those of a sender in order. */
static void from_anyone(unsigned seed)
{
    check_seed(seed + 17 * check_rank);
    int per_sender = MESSAGES / (check_size - 1), total = per_sender * (check_size - 1);
    if (check_rank > 0) {
        for (int i = 0; i < per_sender; i++) {
            int message[2] = {check_rank, i};
            if (check_random(3) == 0)
                MPI_Ssend(message, 2, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD);
            else
                MPI_Send(message, 2, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD);
        }
        return;
    }
    int (*got)[2] = malloc(total * sizeof *got), *last = malloc(check_size * sizeof *last);
    MPI_Request *requests = malloc(total * sizeof *requests);
    MPI_Status *statuses = malloc(total * sizeof *statuses);
    for (int i = 0; i < check_size; i++)
        last[i] = -1;
    for (int i = 0; i < total; i++) {
        MPI_Irecv(got[i], 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        int flag;
        if (check_random(4) == 0)
            MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(total, requests, statuses);
    for (int i = 0; i < total; i++) {
        int sender = got[i][0], number = got[i][1];
        CHECK_EQUAL(statuses[i].MPI_SOURCE, sender);
        CHECK_EQUAL(statuses[i].MPI_TAG, number % TAGS);
        CHECK_EQUAL(number, last[sender] + 1);
        last[sender] = number;
    }
    free(got);
    free(last);
    free(requests);
    free(statuses);
}

enum { EXACT = 60 };

/* All messages are there before the receives: each receive gets the earliest that fits. */
static void exact_arrived(void)
{
    int taken[EXACT] = {0}, got[EXACT];
    MPI_Request requests[EXACT];
    MPI_Recv(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < EXACT; i++) {
        int source = check_random(2) ? 1 : MPI_ANY_SOURCE;
        int tag = check_random(2) ? MPI_ANY_TAG : (int)check_random(TAGS), there = 0;
        while (there < EXACT && (taken[there] || (tag != MPI_ANY_TAG && tag != there % TAGS)))
            there++;
        if (there == EXACT) { /* No such message is left: ask for any. */
            tag = MPI_ANY_TAG;
            for (there = 0; taken[there]; there++)
                ;
        }
        taken[there] = i + 1;
        got[i] = -1;
        MPI_Irecv(&got[i], 1, MPI_INT, source, tag, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(EXACT, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < EXACT; m++)
        CHECK_EQUAL(got[taken[m] - 1], m);
}

/* The earliest of the receives that fits each message; 0: some message fits none. */
static int assign(const int *tags, int *receive_of)
{
    int used[EXACT] = {0};
    for (int m = 0; m < EXACT; m++) {
        int i = 0;
        while (i < EXACT && (used[i] || (tags[i] != MPI_ANY_TAG && tags[i] != m % TAGS)))
            i++;
        if (i == EXACT)
            return 0;
        used[i] = 1;
        receive_of[m] = i;
    }
    return 1;
}

/* All receives are posted before the messages: each message goes to the earliest that fits. */
static void exact_posted(void)
{
    int tags[EXACT], receive_of[EXACT], got[EXACT];
    MPI_Request requests[EXACT];
    do
        for (int i = 0; i < EXACT; i++)
            tags[i] = check_random(2) ? MPI_ANY_TAG : (int)check_random(TAGS);
    while (!assign(tags, receive_of));
    for (int i = 0; i < EXACT; i++)
        MPI_Irecv(&got[i], 1, MPI_INT, check_random(2) ? 1 : MPI_ANY_SOURCE, tags[i], MPI_COMM_WORLD, &requests[i]);
    MPI_Send(NULL, 0, MPI_INT, 1, 99, MPI_COMM_WORLD);
    MPI_Waitall(EXACT, requests, MPI_STATUSES_IGNORE);
    for (int m = 0; m < EXACT; m++)
        CHECK_EQUAL(got[receive_of[m]], m);
}

/* An exact order: one sender, receives of all four patterns. */
static void exact(unsigned seed, int arrive_first)
{
    check_seed(seed);
    if (check_rank == 1) {
        if (!arrive_first)
            MPI_Recv(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < EXACT; i++)
            MPI_Send(&i, 1, MPI_INT, 0, i % TAGS, MPI_COMM_WORLD);
        if (arrive_first)
            MPI_Send(NULL, 0, MPI_INT, 0, 99, MPI_COMM_WORLD);
    } else if (check_rank == 0) {
        if (arrive_first)
            exact_arrived();
        else
            exact_posted();
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    unsigned seed = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    if (check_rank == 0)
        printf("order: seed %u\n", seed);
    if (check_size > 1) {
        lengths_in_order();
        burst();
        MPI_Barrier(MPI_COMM_WORLD);
        for (unsigned i = 0; i < 10; i++)
            exact(seed + i, i % 2);
        for (unsigned i = 0; i < 3; i++) {
            from_anyone(seed + i);
            MPI_Barrier(MPI_COMM_WORLD);
        }
    }
    return check_end("order");
}
