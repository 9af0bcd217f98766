/* MPI's progress rule: a message goes to its receive however many others wait for theirs.
 *
 * Rank 0 sends, many at once; the others receive in reverse, each message before the next receive is posted. Usage:
 * progress WHAT COUNT BYTES
 *
 *   one           all to rank 1
 *   several       to all others in turn; the receivers take turns, too
 *   synchronous   MPI_Issend, likewise
 *   behind        one long message first, whose receive comes last; those of the others in order
 *   cancelled     MPI_Issend, of which every third is cancelled when its receiver has looked at others
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks, wrong, count, bytes;
static char *got;

static char content(int number, int at) { return (char)(number * 31 + at * 7 + at / 251); }

static char *filled(int number, int length)
{
    char *data = malloc((size_t)length + 1);
    for (int i = 0; i < length; i++)
        data[i] = content(number, i);
    return data;
}

static void receive(int number, int length)
{
    MPI_Recv(got, length, MPI_BYTE, 0, number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < length; i++)
        wrong += got[i] != content(number, i);
}

/* Of small messages that go to and fro between: whoever waits for one has not got stuck. */
static void exchange(int other, int tag)
{
    int sent = tag, came = -1;
    MPI_Sendrecv(&sent, 1, MPI_INT, other, tag, &came, 1, MPI_INT, other, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    wrong += came != tag;
}

static int length_of(const char *what, int number) { return strcmp(what, "behind") || number == 0 ? bytes : 8; }
static int destination_of(int number, int receivers) { return 1 + number % receivers; }

static void send_all(const char *what, int receivers)
{
    MPI_Request *requests = malloc((size_t)count * sizeof *requests);
    char **sent = malloc((size_t)count * sizeof *sent);
    int is_cancelling = !strcmp(what, "cancelled");
    int is_synchronous = is_cancelling || !strcmp(what, "synchronous");
    for (int i = 0; i < count; i++) {
        int to = destination_of(i, receivers), length = length_of(what, i);
        sent[i] = filled(i, length);
        if (is_synchronous)
            MPI_Issend(sent[i], length, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Isend(sent[i], length, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
    }
    for (int to = 1; to <= receivers; to++)
        exchange(to, count);
    for (int i = count - 1; i >= 0; i--) {
        MPI_Status status;
        int is_cancelled = 0;
        if (is_cancelling && i % 3 == 0)
            MPI_Cancel(&requests[i]);
        MPI_Wait(&requests[i], &status);
        MPI_Test_cancelled(&status, &is_cancelled);
        wrong += is_cancelled != (is_cancelling && i % 3 == 0);
        free(sent[i]);
    }
    free(requests);
    free(sent);
}

static void receive_all(const char *what, int receivers)
{
    int is_cancelling = !strcmp(what, "cancelled"), is_behind = !strcmp(what, "behind");
    for (int i = 1; is_behind && i < count; i++)
        receive(i, length_of(what, i));
    exchange(0, count);
    for (int i = is_behind ? 0 : count - 1; i >= 0; i--)
        if (destination_of(i, receivers) == rank && !(is_cancelling && i % 3 == 0))
            receive(i, length_of(what, i));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "one";
    count = argc > 2 ? atoi(argv[2]) : 40;
    bytes = argc > 3 ? atoi(argv[3]) : 20000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int receivers = strcmp(what, "several") ? 1 : ranks - 1, all = 0;
    got = malloc((size_t)bytes + 1);
    if (rank == 0)
        send_all(what, receivers);
    else if (rank <= receivers)
        receive_all(what, receivers);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("progress, %s: %s\n", what, all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all != 0;
}
