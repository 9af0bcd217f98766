/* Everything that a trace must tell apart: requests, a communicator, a message to oneself, messages
 * without data, collectives that block and that do not, receives from any source. `exchange deadlock`
 * ends in a receive of what no rank sends. */
#include <mpi.h>
#include <string.h>
static char a[100000], b[100000];
int main(int argc, char **argv)
{
    int rank, size, half_rank, half_size, is_done = 0;
    double x = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm world = MPI_COMM_WORLD, half;
    MPI_Status *none = MPI_STATUS_IGNORE;
    MPI_Request request, two[2];
    MPI_Comm_rank(world, &rank);
    MPI_Comm_size(world, &size);
    int next = (rank + 1) % size, last = (rank + size - 1) % size;
    MPI_Comm_split(world, rank % 2, 0, &half);
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    MPI_Irecv(a, 100000, MPI_BYTE, last, 7, world, two);
    MPI_Isend(b, 50000, MPI_BYTE, next, 7, world, two + 1);
    MPI_Waitall(2, two, MPI_STATUSES_IGNORE);
    MPI_Sendrecv(b, 10, MPI_BYTE, (half_rank + 1) % half_size, 7, a, 10, MPI_BYTE,
                 (half_rank + half_size - 1) % half_size, 7, half, none);
    MPI_Sendrecv(b, 10, MPI_BYTE, rank, 9, a, 10, MPI_BYTE, rank, 9, world, none);
    MPI_Barrier(world);
    MPI_Iallreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, world, &request);
    while (!is_done)
        MPI_Test(&request, &is_done, none);
    MPI_Bcast(b, 70000, MPI_BYTE, half_size - 1, half);
    if (rank)
        MPI_Send(b, 0, MPI_BYTE, 0, rank, world);
    for (int i = 1; i < size && rank == 0; i++)
        MPI_Recv(a, 100, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, world, none);
    if (argc > 1 && !strcmp(argv[1], "deadlock"))
        MPI_Recv(a, 1, MPI_BYTE, next, 99, world, none);
    MPI_Finalize();
    return sum != size;
}
