/* Half a round trip [us] between ranks 0 and 1, of whose data nothing but MPI touches any: 8 bytes, 1 KiB, 64 KiB. The mean
 * of 100 round trips after 100 to warm up, each rank with one buffer for sending and receiving. */
#include <mpi.h>
#include <stdio.h>

enum { TRIPS = 100, WARM_UP = 100, LONGEST = 1 << 16 };

static char buffer[LONGEST];

static void trips(int rank, int bytes, int count)
{
    for (int i = 0; i < count; i++) {
        if (rank == 0) {
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    static const int sizes[] = {8, 1024, LONGEST};
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 3; i++) {
        trips(rank, sizes[i], WARM_UP);
        double start = MPI_Wtime();
        trips(rank, sizes[i], TRIPS);
        double one_way = (MPI_Wtime() - start) / (2 * TRIPS);
        if (rank == 0)
            printf("%6d bytes %8.2f us\n", sizes[i], one_way * 1e6);
    }
    MPI_Finalize();
    return 0;
}
