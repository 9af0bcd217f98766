/* A tool's view: MPI_Send and MPI_Barrier defined here, PMPI_ behind them; and that collectives
 * don't go through the names that a tool takes over. */
#include "check.h"

static int sends, barriers;

int MPI_Send(const void *buf, int count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm)
{
    sends++;
    return PMPI_Send(buf, count, datatype, dest, tag, comm);
}

int MPI_Barrier(MPI_Comm comm)
{
    barriers++;
    return PMPI_Barrier(comm);
}

int main(int argc, char **argv)
{
    int value = 5;
    check_init(&argc, &argv);
    if (check_rank == 0)
        MPI_Send(&value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    else if (check_rank == 1)
        MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Bcast(&value, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_EQUAL(sends, check_rank == 0);
    CHECK_EQUAL(barriers, 1);
    return check_end("profiling");
}
