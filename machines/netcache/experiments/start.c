/* A program that only starts and ends: what that takes, and does to the caches, is no part of what others do. */
#include <mpi.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Finalize();
    return 0;
}
