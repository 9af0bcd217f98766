/* Receives without wildcards: rank 0 posts BEFORE of them before their messages come and AFTER when they have come, to
 * places that are ODD bytes off a multiple of 16.
 *
 * usage: by_name BEFORE AFTER ODD, on two ranks */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
enum { MOST = 12 };
static long words[MOST][2] __attribute__((aligned(64)));
/* Not by MPI, which would look for messages. */
static void wait_a_while(void)
{
    for (volatile int i = 0; i < 300000; i++)
        ;
}
int main(int argc, char **argv)
{
    int rank, before = atoi(argv[1]), after = atoi(argv[2]), odd = atoi(argv[3]), wrong = 0;
    MPI_Request requests[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        wait_a_while();
    for (int i = 0; i < before; i++)
        if (rank == 0)
            MPI_Irecv((char *)words[i] + odd, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, &requests[i]);
    for (long i = 0; i < before + after && rank == 1; i++)
        MPI_Send(&i, 1, MPI_LONG, 0, 7, MPI_COMM_WORLD);
    if (rank == 0) {
        MPI_Waitall(before, requests, MPI_STATUSES_IGNORE);
        wait_a_while();
        for (int i = before; i < before + after; i++)
            MPI_Recv((char *)words[i] + odd, 1, MPI_LONG, 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < before + after; i++)
            wrong += *(long *)((char *)words[i] + odd) != i;
        printf("by_name: %s\n", wrong ? "FAILED" : "PASSED");
    }
    MPI_Finalize();
    return wrong != 0;
}
