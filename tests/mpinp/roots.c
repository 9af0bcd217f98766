/* Two gathers in which ranks take part that mean different roots, and go on; the second is right. What a card has been told of
 * the first must not lead it to send blocks that nobody awaits. The tree of root 0 gives rank 2 two blocks to send, that of
 * root 3 one.
 *
 * usage: roots, on 7 ranks */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { BYTES = 16, RANKS = 7 };

static int are_right(const char *all)
{
    for (int i = 0; i < RANKS * BYTES; i++)
        if (all[i] != i / BYTES)
            return 0;
    return 1;
}

int main(int argc, char **argv)
{
    int rank;
    char own[BYTES], all[RANKS * BYTES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    memset(own, rank, sizeof own);
    MPI_Gather(own, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, rank == 2 ? 3 : 0, MPI_COMM_WORLD);
    double end = MPI_Wtime() + (rank == 0 ? 500e-6 : 0);
    while (MPI_Wtime() < end)
        ;
    MPI_Gather(own, BYTES, MPI_CHAR, all, BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("roots: %s\n", are_right(all) ? "PASSED" : "FAILED");
    MPI_Finalize();
    return 0;
}
