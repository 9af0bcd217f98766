/* Messages that are kept until their receive is posted touch no page that nothing has touched before: system software
 * would clear it while others wait. They are of all lengths that the library keeps in stores of their own.
 *
 * usage: kept MESSAGES, on two ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { LENGTHS = 3, MESSAGES_MAX = 100, LAST = 1000 };
static const int lengths[LENGTHS] = {8, 200, 1000};

static char data[1024];
static int messages;

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static void send_all(void)
{
    MPI_Request requests[MESSAGES_MAX + 1];
    for (int tag = 0; tag < messages; tag++)
        MPI_Isend(data, tag < LENGTHS ? lengths[tag] : 1, MPI_BYTE, 0, tag, MPI_COMM_WORLD, &requests[tag]);
    MPI_Isend(data, 1, MPI_BYTE, 0, LAST, MPI_COMM_WORLD, &requests[messages]);
    MPI_Waitall(messages + 1, requests, MPI_STATUSES_IGNORE);
}

/* The last message is asked for first: the others are kept. */
static long receive_all(void)
{
    long before = page_faults();
    MPI_Recv(data, 1, MPI_BYTE, 1, LAST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    long kept = page_faults() - before;
    for (int tag = 0; tag < messages; tag++)
        MPI_Recv(data, sizeof data, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return kept;
}

int main(int argc, char **argv)
{
    int rank;
    messages = argc > 1 ? atoi(argv[1]) : LENGTHS;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    memset(data, 1, sizeof data);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        send_all();
    else
        printf("page faults: %ld\n", receive_all());
    MPI_Finalize();
    return 0;
}
