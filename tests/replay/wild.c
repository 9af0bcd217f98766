#include <mpi.h>
#include <stdio.h>
#include <string.h>
/* Rank 0 takes what comes, of any rank and tag, long and short, and answers in that order. */
enum { EACH = 6, LONG = 3000 };
int main(int argc, char **argv)
{
    int rank, size;
    char data[LONG];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 0) {
        for (int i = 0; i < EACH * (size - 1); i++) {
            MPI_Status status;
            int length;
            if (i % 2)
                MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Recv(data, LONG, MPI_CHAR, i % 2 ? status.MPI_SOURCE : MPI_ANY_SOURCE,
                     i % 2 ? status.MPI_TAG : MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            MPI_Get_count(&status, MPI_CHAR, &length);
            printf("%d: %d bytes of %d, tag %d: %d\n", i, length, status.MPI_SOURCE, status.MPI_TAG, data[length - 1]);
            if (status.MPI_TAG % 2)
                MPI_Ssend(data, length, MPI_CHAR, status.MPI_SOURCE, 99, MPI_COMM_WORLD);
            else
                MPI_Send(data, length, MPI_CHAR, status.MPI_SOURCE, 99, MPI_COMM_WORLD);
        }
    } else {
        for (int i = 0; i < EACH; i++) {
            int length = i % 3 ? 8 * rank : LONG - rank;
            volatile double work = 0;
            for (int j = 0; j < 300 * ((rank * 7 + i * 5) % 4); j++)
                work += j;
            memset(data, 10 * rank + i, sizeof data);
            if (i % 2)
                MPI_Ssend(data, length, MPI_CHAR, 0, i, MPI_COMM_WORLD);
            else
                MPI_Send(data, length, MPI_CHAR, 0, i, MPI_COMM_WORLD);
            MPI_Recv(data, LONG, MPI_CHAR, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return rank == 0 ? 5 : 0;
}
