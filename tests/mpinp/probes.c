/* Each rank probes for a message that comes at about the time of its question. Long messages keep the card's engine busy
 * meanwhile, so its answer that there is none, and its word that one has come, reach the host together.
 *
 * usage: probes SEED ROUNDS TURNS (of a loop, the longest between two calls) */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SHORT, LONG, BYTES = 20000 };

static uint32_t state;
static char sent[BYTES], got[BYTES];

static uint32_t draw(uint32_t below)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % below;
}

static void compute(uint32_t turns)
{
    for (volatile uint32_t i = 0; i < turns; i++)
        ;
}

/* A probe, of a kind that `how` says, finds the message `value` of `from`. False: another. */
static int finds(int from, int value, uint32_t how)
{
    MPI_Status status;
    MPI_Message message;
    int found = -1, source = how & 1 ? from : MPI_ANY_SOURCE, is_there = 0;
    if (how & 2) {
        MPI_Mprobe(source, SHORT, MPI_COMM_WORLD, &message, &status);
        MPI_Mrecv(&found, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        return found == value && status.MPI_SOURCE == from;
    }
    if (how & 4)
        MPI_Probe(source, SHORT, MPI_COMM_WORLD, &status);
    else
        while (!is_there)
            MPI_Iprobe(source, SHORT, MPI_COMM_WORLD, &is_there, &status);
    MPI_Recv(&found, 1, MPI_INT, status.MPI_SOURCE, SHORT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return found == value && status.MPI_SOURCE == from;
}

/* To `to` a message, and from `from` one, by a probe: among long ones. */
static int exchange(int rank, int to, int from, int round, uint32_t longest)
{
    int value = rank * 1000 + round, is_right;
    MPI_Request requests[3];
    MPI_Irecv(got, BYTES, MPI_CHAR, from, LONG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(sent, BYTES, MPI_CHAR, to, LONG, MPI_COMM_WORLD, &requests[1]);
    compute(draw(longest));
    MPI_Issend(&value, 1, MPI_INT, to, SHORT, MPI_COMM_WORLD, &requests[2]);
    compute(draw(longest));
    is_right = finds(from, from * 1000 + round, draw(8));
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    return is_right;
}

int main(int argc, char **argv)
{
    int rank, ranks, seed = argc > 1 ? atoi(argv[1]) : 1, rounds = argc > 2 ? atoi(argv[2]) : 100;
    int longest = argc > 3 ? atoi(argv[3]) : 2000, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    state = (uint32_t)(seed * 97 + rank);
    for (int round = 0; round < rounds; round++) {
        int step = 1 + round % (ranks - 1);
        wrong += !exchange(rank, (rank + step) % ranks, (rank + ranks - step) % ranks, round, (uint32_t)longest);
    }
    if (wrong)
        MPI_Abort(MPI_COMM_WORLD, 1);
    if (rank == 0)
        printf("probes, seed %d: PASSED\n", seed);
    MPI_Finalize();
    return 0;
}
