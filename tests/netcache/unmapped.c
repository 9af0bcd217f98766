/* Long messages from memory that is unmapped and mapped again at the same address, with other pages: what MPI keeps
 * registered of it must go with it. And many at a time of unlike lengths from one place. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

enum { BYTES = 20000, PLACES = 3 };

static char *map(char *at)
{
    int fixed = at ? MAP_FIXED : 0;
    return mmap(at, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | fixed, -1, 0);
}

/* Wrong bytes. */
static int many(int rank, char *from)
{
    enum { COUNT = 100 }; /* more than MPI keeps */
    MPI_Request requests[COUNT];
    static char to[COUNT][5000];
    int wrong = 0;
    memset(from, 77, BYTES);
    for (int i = 0; i < COUNT; i++) {
        int bytes = 1500 + i * 7 % COUNT * 30;
        if (rank == 0)
            MPI_Isend(from, bytes, MPI_CHAR, 1, i, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(to[i], bytes, MPI_CHAR, 0, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(COUNT, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; rank == 1 && i < COUNT; i++)
        for (int at = 0; at < 1500 + i * 7 % COUNT * 30; at++)
            wrong += to[i][at] != 77;
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    char *at[PLACES];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int place = 0; place < PLACES; place++)
        at[place] = map(NULL);
    for (int round = 0; round < 4; round++) {
        for (int place = 0; place < PLACES; place++) {
            if (rank == 0)
                memset(at[place], 10 * round + place + 1, BYTES);
            if (rank == 0)
                MPI_Send(at[place], BYTES, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(at[place], BYTES, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            for (int i = 0; i < BYTES; i++)
                wrong += at[place][i] != 10 * round + place + 1;
        }
        /* In another order, so that other pages come. */
        for (int place = 0; place < PLACES; place++)
            munmap(at[place], BYTES);
        for (int place = PLACES - 1; place >= 0; place--) {
            at[place] = map(at[place]);
            at[place][0] = 1;
        }
    }
    wrong += many(rank, at[0]) + many(rank, at[1]);
    MPI_Finalize();
    printf("unmapped: %s\n", wrong ? "FAILED" : "PASSED");
    return wrong != 0;
}
