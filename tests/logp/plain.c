/* What anybody would write: 600 round trips of one size between two ranks, as warm as they get. The tag tells the second
 * half from the first; the records say what a message took.
 *
 * It calls what guest/bench/logp.c calls, if it is told to: what of the MPI library is linked decides which of its
 * functions share lines of the instruction cache. On netcache, whose cache has one way, that is 130 ns of o_recv.
 *
 * Usage: plain BYTES [TOLD-TO]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TRIPS = 600 };

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, bytes = atoi(argv[1]);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *data = calloc(1, (size_t)bytes + 1);
    for (int i = 0; i < TRIPS; i++) {
        int tag = i >= TRIPS / 2;
        if (rank == 0) {
            MPI_Send(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD);
            MPI_Recv(data, bytes, MPI_BYTE, 1, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(data, bytes, MPI_BYTE, 0, tag, MPI_COMM_WORLD);
        }
    }
    if (argc > 2) {
        MPI_Request request[2];
        MPI_Isend(data, bytes, MPI_BYTE, rank, 2, MPI_COMM_WORLD, &request[0]);
        MPI_Irecv(data, bytes, MPI_BYTE, rank, 2, MPI_COMM_WORLD, &request[1]);
        MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
        printf("%f\n", MPI_Wtime());
    }
    free(data);
    MPI_Finalize();
    return 0;
}
