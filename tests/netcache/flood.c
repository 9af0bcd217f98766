/* All to all at once, in messages of many lengths, some of them long, all of different contents. Arguments: rounds; a
 * node that comes late to MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES_MAX 200000

static unsigned length(int from, int to, int round)
{
    static const unsigned lengths[] = {1, 8, 1500, 4032, 4096, 70000, 0, 128000, 5000, 200000};
    return lengths[(unsigned)(from * 7 + to * 3 + round) % 10];
}

static unsigned char byte(int from, int to, int round, unsigned i)
{
    return (unsigned char)((unsigned)(from * 31 + to * 17 + round * 7) + i % 251);
}

static void come_late(const char *who)
{
    char name[64];
    gethostname(name, sizeof name);
    for (volatile int i = 0; strcmp(name, who) == 0 && i < 100000; i++)
        ;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, rounds = atoi(argv[1]);
    if (argc > 2)
        come_late(argv[2]);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    unsigned char *out = malloc((size_t)ranks * BYTES_MAX), *in = malloc((size_t)ranks * BYTES_MAX);
    MPI_Request *requests = malloc(2 * (size_t)ranks * sizeof *requests);
    for (int round = 0; round < rounds; round++) {
        for (int i = 1; i < ranks; i++) {
            int from = (rank + i) % ranks;
            MPI_Irecv(in + (size_t)from * BYTES_MAX, BYTES_MAX, MPI_BYTE, from, round, MPI_COMM_WORLD, &requests[i]);
        }
        for (int i = 1; i < ranks; i++) {
            int to = (rank + i) % ranks;
            unsigned char *data = out + (size_t)to * BYTES_MAX;
            for (unsigned j = 0; j < length(rank, to, round); j++)
                data[j] = byte(rank, to, round, j);
            MPI_Isend(data, (int)length(rank, to, round), MPI_BYTE, to, round, MPI_COMM_WORLD, &requests[ranks + i]);
        }
        MPI_Waitall(ranks - 1, requests + 1, MPI_STATUSES_IGNORE);
        MPI_Waitall(ranks - 1, requests + ranks + 1, MPI_STATUSES_IGNORE);
        for (int i = 1; i < ranks; i++) {
            int from = (rank + i) % ranks;
            for (unsigned j = 0; j < length(from, rank, round); j++)
                wrong += in[(size_t)from * BYTES_MAX + j] != byte(from, rank, round, j);
        }
    }
    int all;
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("flood: %s\n", all ? "FAILED" : "PASSED");
    MPI_Finalize();
    return all != 0;
}
