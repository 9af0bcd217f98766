#include "check.h"
int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Request r[12];
    int data[12];
    for (int i = 0; i < 10; i++) {
        data[i] = check_rank == i % check_size ? i * 10 : -1;
        MPI_Ibcast(&data[i], 1, MPI_INT, i % check_size, MPI_COMM_WORLD, &r[i]);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &r[10]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 10; i >= 0; i--)
        MPI_Wait(&r[i], MPI_STATUS_IGNORE);
    for (int i = 0; i < 10; i++)
        CHECK_EQUAL(data[i], i * 10);
    return check_end("nonblocking");
}
