/* Half a round trip and a message of a stream [ns] between two ranks, for each length that is an argument; also for SMPI. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIPS = 20, STREAM = 200, BYTES_MAX = 1 << 20 };

static char buffer[BYTES_MAX];

static void send(int bytes, int to) { MPI_Send(buffer, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD); }

static void receive(int bytes, int from)
{
    MPI_Recv(buffer, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double trips(int bytes, int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < TRIPS; i++) {
        if (rank == 0)
            send(bytes, 1);
        receive(bytes, 1 - rank);
        if (rank == 1)
            send(bytes, 0);
    }
    return (MPI_Wtime() - begin) / TRIPS / 2;
}

/* Until the last has come, which an answer says. */
static double stream(int bytes, int rank)
{
    MPI_Barrier(MPI_COMM_WORLD);
    double begin = MPI_Wtime();
    for (int i = 0; i < STREAM; i++) {
        if (rank == 0)
            send(bytes, 1);
        else
            receive(bytes, 0);
    }
    if (rank == 0)
        receive(0, 1);
    else
        send(0, 0);
    return (MPI_Wtime() - begin) / STREAM;
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 1; i < argc; i++) {
        int bytes = atoi(argv[i]);
        if (bytes > BYTES_MAX)
            MPI_Abort(MPI_COMM_WORLD, 2);
        double there[2];
        for (int round = 0; round < 2; round++) {
            there[0] = trips(bytes, rank);
            there[1] = stream(bytes, rank);
        }
        if (rank == 0)
            printf("%d %.0f %.0f\n", bytes, there[0] * 1e9, there[1] * 1e9);
    }
    MPI_Finalize();
    return 0;
}
