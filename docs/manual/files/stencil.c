/* A ring of ranks. Each computes, then swaps a word with both neighbours. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int rank, size, steps = 50, work = argc > 1 ? atoi(argv[1]) : 1000;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int left = (rank + size - 1) % size, right = (rank + 1) % size;
    double mine = rank, from_left, from_right;
    double start = MPI_Wtime();
    for (int step = 0; step < steps; step++) {
        for (int i = 0; i < work; i++)
            mine = 0.5 * mine + 1.0;
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, right, 0, &from_left, 1, MPI_DOUBLE, left, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(&mine, 1, MPI_DOUBLE, left, 1, &from_right, 1, MPI_DOUBLE, right, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        mine = (from_left + mine + from_right) / 3;
    }
    if (rank == 0)
        printf("%d steps: %.1f us a step\n", steps, 1e6 * (MPI_Wtime() - start) / steps);
    MPI_Finalize();
    return 0;
}
