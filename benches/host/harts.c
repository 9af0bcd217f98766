/* Threads on data of their own, that fit into a first-level cache. Arguments: threads, sweeps of each. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { SIDE = 512, THREADS_MAX = 16 };

static struct part {
    _Alignas(4096) double cells[SIDE];
} parts[THREADS_MAX];
static int sweeps;

static void *sweep(void *argument)
{
    double *cells = ((struct part *)argument)->cells;
    cells[0] = 1;
    for (int sweep = 0; sweep < sweeps; sweep++)
        for (int i = 1; i < SIDE; i++)
            cells[i] = 0.5 * (cells[i] + cells[i - 1]);
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t others[THREADS_MAX];
    int count = argc > 1 ? atoi(argv[1]) : 1;
    sweeps = argc > 2 ? atoi(argv[2]) : 1;
    if (count < 1 || count > THREADS_MAX)
        return 2;
    for (int i = 1; i < count; i++)
        if (pthread_create(&others[i], NULL, sweep, &parts[i]))
            return 3;
    sweep(&parts[0]);
    for (int i = 1; i < count; i++)
        pthread_join(others[i], NULL);
    printf("%.17g\n", parts[0].cells[SIDE / 2]);
    return 0;
}
