/* Many sends at once, more than the device has transfers under way, and a controller rights for. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { BYTES = 1200, MANY = 70 };
static unsigned char out[MANY][BYTES], in[MANY][BYTES];
int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Request requests[2 * MANY];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < MANY; i++)
        for (int at = 0; at < BYTES; at++)
            out[i][at] = (unsigned char)(i + 3 * at + rank), in[i][at] = 1;
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(in[i], BYTES, MPI_BYTE, !rank, i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(out[i], BYTES, MPI_BYTE, !rank, i, MPI_COMM_WORLD, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; i++)
        for (int at = 0; at < BYTES; at++)
            wrong += in[i][at] != (unsigned char)(i + 3 * at + !rank);
    MPI_Finalize();
    return wrong > 0;
}
