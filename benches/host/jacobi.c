/* Jacobi iterations whose rows threads share out: most of what they miss in the first-level cache comes from memory, some from
 * each other. Arguments: threads, side, iterations. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE_MAX = 512, THREADS_MAX = 16 };

static double cells[2][SIDE_MAX * SIDE_MAX];
static int threads, side, iterations;
static pthread_barrier_t barrier;

static void *sweep(void *argument)
{
    int number = (int)(size_t)argument;
    int first = 1 + (side - 2) * number / threads, end = 1 + (side - 2) * (number + 1) / threads;
    for (int iteration = 0; iteration < iterations; iteration++) {
        const double *from = cells[iteration % 2];
        double *to = cells[1 - iteration % 2];
        for (int row = first; row < end; row++)
            for (int i = row * side + 1; i < (row + 1) * side - 1; i++)
                to[i] = 0.25 * (from[i - 1] + from[i + 1] + from[i - side] + from[i + side]);
        pthread_barrier_wait(&barrier);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t others[THREADS_MAX];
    if (argc != 4)
        return 2;
    threads = atoi(argv[1]);
    side = atoi(argv[2]);
    iterations = atoi(argv[3]);
    if (threads < 1 || threads > THREADS_MAX || side < 3 || side > SIDE_MAX)
        return 2;
    for (int i = 0; i < side; i++)
        cells[0][i] = cells[1][i] = 1;
    pthread_barrier_init(&barrier, NULL, (unsigned)threads);
    for (size_t i = 1; i < (size_t)threads; i++)
        if (pthread_create(&others[i], NULL, sweep, (void *)i))
            return 3;
    sweep(NULL);
    for (int i = 1; i < threads; i++)
        pthread_join(others[i], NULL);
    printf("%.17g\n", cells[iterations % 2][side * 2 + side / 2]);
    return 0;
}
