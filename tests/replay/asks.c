#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
/* Says and asks for what CASE says, which is no argument: the recording does not see it. */
int main(int argc, char **argv)
{
    int rank, number = 0;
    const char *changed = getenv("CASE");
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        MPI_Send(&number, 1, MPI_INT, 1, changed && *changed == 's' ? 5 : 4, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(&number, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    else
        MPI_Recv(&number, 1, MPI_INT, 1, changed && *changed == 'r' ? 8 : 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("took %d ns%s\n", changed ? 7 : 6, changed && *changed == 'p' ? "!" : "");
    MPI_Finalize();
    return changed && *changed == 'e';
}
