/* A send that its process leaves alone: rank 0 computes between MPI_Isend and MPI_Wait, and says for how long; rank 1 says whether
 * the message came before rank 0 had ended that, and whether it is right. Usage: alone BYTES TURNS */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 1, turns = argc > 2 ? atoi(argv[2]) : 1;
    double ended = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unsigned char *data = calloc((size_t)bytes, 1);
    if (rank == 0) {
        MPI_Request request;
        for (int i = 0; i < bytes; i++)
            data[i] = (unsigned char)(i * 7 + i / 251);
        double begin = MPI_Wtime();
        MPI_Isend(data, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        for (volatile int turn = 0; turn < turns; turn++)
            ;
        ended = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Send(&ended, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
        printf("computed for %.1f us\n", (ended - begin) * 1e6);
    } else {
        MPI_Recv(data, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double came = MPI_Wtime();
        MPI_Recv(&ended, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < bytes; i++)
            if (data[i] != (unsigned char)(i * 7 + i / 251))
                return 3;
        printf("it came %s\n", came < ended ? "meanwhile" : "afterwards");
    }
    MPI_Finalize();
    return 0;
}
