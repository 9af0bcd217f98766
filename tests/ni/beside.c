/* Ranks 1 and 3 exchange messages, and check them, while rank 0 does to its NI what wild.c does. What becomes of rank 0
 * must be no matter of theirs: they say that all was right. Rank 2 never looks at what comes to it.
 *
 * Usage: beside SEED ACCESSES */
#define main wild
#include "wild.c"
#undef main

#include <mpi.h>

enum { ROUNDS = 25, LONGEST = 3000 };

static void exchange(int rank, int other)
{
    static char sent[LONGEST], got[LONGEST];
    for (int i = 0; i < ROUNDS; i++) {
        int bytes = (int[]){0, 1, 8, 16, 100, 900, LONGEST}[i % 7];
        memset(sent, 16 * rank + i, sizeof sent);
        memset(got, 0, sizeof got);
        MPI_Sendrecv(sent, bytes, MPI_CHAR, other, i, got, bytes, MPI_CHAR, other, i, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        for (int at = 0; at < bytes; at++) {
            if (got[at] != (char)(16 * other + i)) {
                printf("wrong: byte %d of message %d\n", at, i);
                fflush(stdout);
                _exit(9);
            }
        }
    }
    printf("right\n");
    fflush(stdout);
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        wild(argc, argv);
    else if (rank != 2)
        exchange(rank, 4 - rank);
    _exit(0);
}
