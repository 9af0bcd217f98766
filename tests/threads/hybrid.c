/* MPI by the first thread of each rank, computation by all of them.
 *
 *   hybrid THREADS
 *
 * Every step the threads of a rank add up their parts of a vector and meet at a barrier; the first adds up
 * over all ranks, and all go on with the sum. Exit status 0 if it is right. */
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS_MAX = 64, STEPS = 4, NUMBERS = 512 };

static int threads, rank, ranks;
static pthread_barrier_t barrier;
static long number[NUMBERS], part[THREADS_MAX], sum = 1;

static void *work(void *argument)
{
    intptr_t me = (intptr_t)argument;
    for (int step = 0; step < STEPS; step++) {
        part[me] = 0;
        for (int i = (int)me; i < NUMBERS; i += threads)
            part[me] += number[i] * sum % 1000;
        pthread_barrier_wait(&barrier);
        if (me == 0) {
            long mine = 0;
            for (int i = 0; i < threads; i++)
                mine += part[i];
            MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        }
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

/* What one thread alone computes. */
static long expected(void)
{
    long all = 1;
    for (int step = 0; step < STEPS; step++) {
        long next = 0;
        for (int r = 0; r < ranks; r++)
            for (int i = 0; i < NUMBERS; i++)
                next += (i + r) * all % 1000;
        all = next;
    }
    return all;
}

int main(int argc, char **argv)
{
    pthread_t other[THREADS_MAX];
    int provided, wrong;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    threads = argc > 1 ? atoi(argv[1]) : 1;
    if (provided < MPI_THREAD_FUNNELED || threads < 1 || threads > THREADS_MAX)
        MPI_Abort(MPI_COMM_WORLD, 2);
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (int i = 0; i < NUMBERS; i++)
        number[i] = i + rank;
    for (intptr_t i = 1; i < threads; i++)
        if (pthread_create(&other[i], NULL, work, (void *)i) != 0)
            MPI_Abort(MPI_COMM_WORLD, 3);
    work(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(other[i], NULL);
    wrong = sum != expected();
    if (rank == 0)
        printf("%d ranks of %d threads: %ld, %s\n", ranks, threads, sum, wrong ? "wrong" : "right");
    MPI_Finalize();
    return wrong;
}
