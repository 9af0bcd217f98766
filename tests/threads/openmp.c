/* OpenMP: a sum, a critical section, a schedule, nested in a loop of parallel regions.
 *
 *   openmp THREADS
 *
 * Exit status 0 if all is right. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { NUMBERS = 2000, REGIONS = 5 };

static long number[NUMBERS];

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 1, seen = 0;
    long sum = 0, count = 0;
    omp_set_num_threads(threads);
    for (int region = 0; region < REGIONS; region++) {
#pragma omp parallel for schedule(dynamic, 16)
        for (int i = 0; i < NUMBERS; i++)
            number[i] = i + region;
#pragma omp parallel for reduction(+ : sum)
        for (int i = 0; i < NUMBERS; i++)
            sum += number[i];
#pragma omp parallel
        {
#pragma omp critical
            count++;
#pragma omp single
            seen = omp_get_num_threads();
        }
    }
    long all = REGIONS * ((long)NUMBERS * (NUMBERS - 1) / 2 + (long)NUMBERS * (REGIONS - 1) / 2);
    printf("%d threads: sum %ld, count %ld\n", seen, sum, count);
    return sum != all || count != (long)REGIONS * threads || seen != threads;
}
