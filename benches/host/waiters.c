/* Two ranks compute and exchange; the others wait in MPI_Recv until all is done. The argument is the number
 * of exchanges. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 128, STEPS = 200 };

/* Some 50,000 additions and multiplications. */
static unsigned long work(unsigned long value)
{
    for (int i = 0; i < STEPS * WORDS; i++)
        value = value * 6364136223846793005ul + 1442695040888963407ul;
    return value;
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned long out[WORDS] = {0}, in[WORDS];
    if (rank < 2) {
        for (int t = 0; t < times; t++) {
            out[0] = work(out[0] + (unsigned long)t);
            MPI_Sendrecv(out, WORDS, MPI_UNSIGNED_LONG, 1 - rank, 0, in, WORDS, MPI_UNSIGNED_LONG, 1 - rank, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        for (int other = 2 + rank; other < ranks; other += 2)
            MPI_Send(out, 1, MPI_UNSIGNED_LONG, other, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(in, 1, MPI_UNSIGNED_LONG, rank % 2, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        out[0] = in[0];
    }
    if (rank == 0)
        printf("%lx\n", out[0]);
    MPI_Finalize();
    return 0;
}
