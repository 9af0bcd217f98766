/* Ends as the argument says: a fatal error (its class is the exit status), or MPI_Abort. */
#include "check.h"

int main(int argc, char **argv)
{
    int two[2] = {1, 2}, one;
    check_init(&argc, &argv);
    const char *how = argc > 1 ? argv[1] : "";
    if (strcmp(how, "truncate") == 0) {
        MPI_Request request;
        MPI_Isend(two, 2, MPI_INT, check_rank, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&one, 1, MPI_INT, check_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "rank") == 0) {
        MPI_Send(two, 1, MPI_INT, check_size, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "handler") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ABORT);
        MPI_Send(two, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    } else if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 42);
    }
    return 0;
}
