/* Two ranks send N bytes to each other, and receive only then. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, bytes = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *out = calloc(bytes, 1), *in = calloc(bytes, 1);
    MPI_Send(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("%d bytes exchanged\n", bytes);
    MPI_Finalize();
    return 0;
}
