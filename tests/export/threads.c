/* Two threads of each rank call MPI at a time. */
#include <mpi.h>
#include <pthread.h>
static int rank;
static void *side(void *nothing)
{
    int x = rank, y;
    MPI_Request request;
    MPI_Irecv(&y, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD, &request);
    MPI_Send(&x, 1, MPI_INT, 1 - rank, 5, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return nothing;
}
int main(int argc, char **argv)
{
    int provided, x = 0, y;
    pthread_t thread;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    pthread_create(&thread, 0, side, 0);
    MPI_Sendrecv(&x, 1, MPI_INT, 1 - rank, 6, &y, 1, MPI_INT, 1 - rank, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pthread_join(thread, 0);
    MPI_Finalize();
    return provided != MPI_THREAD_MULTIPLE;
}
