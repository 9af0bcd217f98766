/* One rank sends to another that does not look, while pairs of others exchange messages.
 *
 *   ignored MESSAGES VICTIM A B [A B]...
 *
 * Rank 0 sends that many messages to rank VICTIM, which computes for a while before it receives them. Each A and B take
 * turns meanwhile; A says how long one turn took [ns]. All messages are checked. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 60, LOOPS = 1500000, LONG = 900, SHORT = 12 };

static void check(int right)
{
    if (!right)
        MPI_Abort(MPI_COMM_WORLD, 3);
}

/* Short messages and longer ones in turn. */
static int length(int number) { return number % 2 ? LONG : SHORT; }

static void send(int to, int number)
{
    char data[LONG];
    memset(data, number, sizeof data);
    MPI_Send(data, length(number), MPI_CHAR, to, 5, MPI_COMM_WORLD);
}

static void receive(int from, int number)
{
    char data[LONG];
    MPI_Status status;
    int bytes;
    MPI_Recv(data, sizeof data, MPI_CHAR, from, 5, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    check(bytes == length(number) && data[0] == (char)number && data[bytes - 1] == (char)number);
}

static void take_turns(int other, int first)
{
    double begin = MPI_Wtime();
    for (int i = 0; i < ROUNDS; i++) {
        if (first)
            send(other, i);
        receive(other, i);
        if (!first)
            send(other, i);
    }
    if (first)
        printf("%.0f\n", (MPI_Wtime() - begin) / ROUNDS * 1e9);
}

int main(int argc, char **argv)
{
    int rank, messages = atoi(argv[1]), victim = atoi(argv[2]);
    volatile long count = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < messages; i++)
        send(victim, i);
    for (int at = 3; at + 1 < argc; at += 2) {
        int a = atoi(argv[at]), b = atoi(argv[at + 1]);
        if (rank == a || rank == b)
            take_turns(rank == a ? b : a, rank == a);
    }
    if (rank == victim) {
        double begin = MPI_Wtime();
        for (int i = 0; i < LOOPS; i++)
            count += i;
        printf("victim %.0f\n", (MPI_Wtime() - begin) * 1e9);
        for (int i = 0; i < messages; i++)
            receive(0, i);
    }
    MPI_Finalize();
    return 0;
}
