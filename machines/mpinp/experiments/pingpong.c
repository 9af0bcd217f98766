/* Messages to and fro, each of data that were just written. The times are the record's. Before each send a loop takes PAUSE
 * turns. Usage: pingpong TRIPS BYTES PAUSE */
#include <mpi.h>
#include <stdlib.h>

static void write_data(unsigned char *data, int bytes, int trip)
{
    for (int i = 0; i < bytes; i++)
        data[i] = (unsigned char)(trip + i);
}

int main(int argc, char **argv)
{
    int rank, trips = argc > 1 ? atoi(argv[1]) : 1, bytes = argc > 2 ? atoi(argv[2]) : 4,
              pause = argc > 3 ? atoi(argv[3]) : 0;
    unsigned char *sent = malloc((size_t)bytes + 1), *got = malloc((size_t)bytes + 1);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int trip = 0; trip < trips; trip++) {
        if (rank == 1)
            MPI_Recv(got, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (volatile int turn = 0; turn < pause; turn++)
            ;
        write_data(sent, bytes, trip);
        MPI_Send(sent, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        if (rank == 0)
            MPI_Recv(got, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
