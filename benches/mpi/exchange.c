/* One collective, over and over. Usage: exchange allreduce|alltoall REPEATS
 * allreduce: 8 bytes; alltoall: 1 MiB a rank, in equal parts for all. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20 };
static char out[BYTES], in[BYTES];

int main(int argc, char **argv)
{
    int size;
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    int reduce = strcmp(argv[1], "allreduce") == 0, wrong = 0;
    double one = 1, sum;
    for (int i = atoi(argv[2]); i > 0; i--) {
        if (reduce) {
            MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
            wrong |= sum != size;
        } else {
            MPI_Alltoall(out, BYTES / size, MPI_BYTE, in, BYTES / size, MPI_BYTE, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    return wrong;
}
