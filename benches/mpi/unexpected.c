/* Instructions a message of receiving N messages, all of which came before their receives, in the
 * order of their sends reversed: whoever searches a list pays for it. Usage: unexpected N */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned long instructions(void)
{
    unsigned long now;
    __asm__ volatile("rdinstret %0" : "=r"(now) : : "memory");
    return now;
}

int main(int argc, char **argv)
{
    int rank, count = argc > 1 ? atoi(argv[1]) : 1000, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1) {
        for (int i = 0; i < count; i++)
            MPI_Send(&i, 1, MPI_INT, 0, i, MPI_COMM_WORLD);
        MPI_Send(NULL, 0, MPI_INT, 0, count, MPI_COMM_WORLD);
    } else if (rank == 0) {
        unsigned long begin = instructions();
        /* The last message comes last, so the others are here. */
        MPI_Recv(NULL, 0, MPI_INT, 1, count, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = count - 1; i >= 0; i--) {
            int value;
            MPI_Recv(&value, 1, MPI_INT, 1, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            wrong |= value != i;
        }
        printf("%lu\n", (instructions() - begin) / (unsigned long)count);
    }
    MPI_Finalize();
    return wrong;
}
