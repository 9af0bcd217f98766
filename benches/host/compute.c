/* Every rank computes; now and then all add up what they have. The argument is the number of rounds. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 4096, SWEEPS = 4 };

static double cells[SIDE];

int main(int argc, char **argv)
{
    int rounds = argc > 1 ? atoi(argv[1]) : 1, rank;
    double sum = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    cells[0] = rank + 1;
    for (int round = 0; round < rounds; round++) {
        for (int sweep = 0; sweep < SWEEPS; sweep++)
            for (int i = 1; i < SIDE; i++)
                cells[i] = 0.5 * (cells[i] + cells[i - 1]);
        MPI_Allreduce(&cells[SIDE / 2], &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        cells[0] += sum;
    }
    if (rank == 0)
        printf("%.17g\n", cells[0]);
    MPI_Finalize();
    return 0;
}
