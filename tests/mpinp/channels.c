/* More channels than a card has rings and tables.
 *
 * Usage: channels all ROUNDS: each rank to each other one, in both modes, received by source or from any
 *        channels gather MESSAGES: all to rank 0, which receives in reverse; each second message is synchronous
 *        channels held: rank 0's synchronous sends are received only after one that it sends last
 *        channels thrash ROUNDS: rank 0 and each other one in turn, a message each way
 *        channels turns ROUNDS: the same; rank 0 prints how long a message takes [ns]
 *        channels one ROUNDS: likewise, with one of them alone
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 3000

static int rank, ranks, wrong;

static char content(int source, int destination, int number, int at)
{
    return (char)(source * 41 + destination * 7 + number * 13 + at * 3 + at / 251);
}

static int length(int source, int destination, int number)
{
    static const int lengths[] = {0, 4, 40, 200, 1000, LONGEST};
    return lengths[(source + destination * 5 + number * 2) % 6];
}

static void fill(char *data, int destination, int number)
{
    for (int i = 0; i < length(rank, destination, number); i++)
        data[i] = content(rank, destination, number, i);
}

static void check(const char *data, const MPI_Status *status, int number)
{
    int bytes, source = status->MPI_SOURCE;
    MPI_Get_count(status, MPI_CHAR, &bytes);
    bool right = bytes == length(source, rank, number) && status->MPI_TAG == number;
    for (int i = 0; right && i < bytes; i++)
        right = data[i] == content(source, rank, number, i);
    if (!right && wrong++ < 5)
        printf("rank %d: message %d of rank %d is wrong\n", rank, number, source);
}

static void all(int rounds)
{
    char (*out)[LONGEST] = malloc((size_t)ranks * LONGEST), (*in)[LONGEST] = malloc((size_t)ranks * LONGEST);
    MPI_Request *requests = malloc(2 * (size_t)ranks * sizeof *requests);
    MPI_Status *statuses = malloc(2 * (size_t)ranks * sizeof *statuses);
    for (int round = 0; round < rounds; round++) {
        int count = 0;
        for (int i = 1; i < ranks; i++) {
            int source = (rank + round) % 2 ? MPI_ANY_SOURCE : (rank + ranks - i) % ranks;
            MPI_Irecv(in[i], LONGEST, MPI_CHAR, source, round, MPI_COMM_WORLD, &requests[count++]);
        }
        for (int i = 1; i < ranks; i++) {
            int to = (rank + i) % ranks;
            fill(out[i], to, round);
            int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) =
                i % 3 == 0 ? MPI_Issend : MPI_Isend;
            send(out[i], length(rank, to, round), MPI_CHAR, to, round, MPI_COMM_WORLD, &requests[count++]);
        }
        MPI_Waitall(count, requests, statuses);
        for (int i = 1; i < ranks; i++)
            check(in[i], &statuses[i - 1], round);
    }
}

static void gather(int messages)
{
    static char data[LONGEST];
    MPI_Status status;
    for (int number = 0; rank > 0 && number < messages; number++) {
        fill(data, 0, number);
        if (number % 2)
            MPI_Ssend(data, length(rank, 0, number), MPI_CHAR, 0, number, MPI_COMM_WORLD);
        else
            MPI_Send(data, length(rank, 0, number), MPI_CHAR, 0, number, MPI_COMM_WORLD);
    }
    for (int source = ranks - 1; rank == 0 && source > 0; source--)
        for (int number = 0; number < messages; number++) {
            MPI_Recv(data, LONGEST, MPI_CHAR, source, number, MPI_COMM_WORLD, &status);
            check(data, &status, number);
        }
}

static void held(void)
{
    static char data[LONGEST], none;
    MPI_Request *requests = malloc((size_t)ranks * sizeof *requests);
    MPI_Status status;
    int last = ranks - 1;
    if (rank == 0) {
        char (*out)[LONGEST] = malloc((size_t)ranks * LONGEST);
        for (int to = 1; to <= last; to++) {
            fill(out[to], to, 0);
            MPI_Issend(out[to], length(0, to, 0), MPI_CHAR, to, 0, MPI_COMM_WORLD, &requests[to - 1]);
        }
        MPI_Waitall(last, requests, MPI_STATUSES_IGNORE);
        return;
    }
    if (rank != last)
        MPI_Recv(&none, 1, MPI_CHAR, last, 1, MPI_COMM_WORLD, &status);
    MPI_Recv(data, LONGEST, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &status);
    check(data, &status, 0);
    for (int to = 1; rank == last && to < last; to++)
        MPI_Send(&none, 1, MPI_CHAR, to, 1, MPI_COMM_WORLD);
}

/* Rank 0 sends what is unexpected there, 100 bytes, so that it needs a table each time; the answer is short. */
static void turns(int rounds, int others)
{
    static char data[100];
    double begin = 0;
    for (int round = 0; round <= rounds; round++) { /* The first is not timed: tables are not leased before. */
        begin = round == 1 ? MPI_Wtime() : begin;
        for (int other = 1; other <= others; other++)
            if (rank == 0) {
                MPI_Send(data, sizeof data, MPI_CHAR, other, round, MPI_COMM_WORLD);
                MPI_Recv(data, sizeof data, MPI_CHAR, other, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            } else if (rank == other) {
                MPI_Recv(data, sizeof data, MPI_CHAR, 0, round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                MPI_Send(data, sizeof data, MPI_CHAR, 0, round, MPI_COMM_WORLD);
            }
    }
    if (rank == 0)
        printf("a message: %.0f ns\n", (MPI_Wtime() - begin) * 1e9 / (2.0 * rounds * others));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char *what = argc > 1 ? argv[1] : "all";
    int count = argc > 2 ? atoi(argv[2]) : 2, sum;
    if (strcmp(what, "gather") == 0)
        gather(count);
    else if (strcmp(what, "held") == 0)
        held();
    else if (strcmp(what, "thrash") == 0 || strcmp(what, "turns") == 0)
        turns(count, ranks - 1);
    else if (strcmp(what, "one") == 0)
        turns(count, 1);
    else
        all(count);
    MPI_Reduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("channels, %s: %s\n", what, sum ? "FAILED" : "PASSED");
    MPI_Finalize();
    return rank == 0 && sum ? 1 : 0;
}
