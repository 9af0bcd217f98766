/* Integer sort: quicksort of random keys, then insertion into what is left of short parts. The argument is
 * the number of times. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 50000, SHORT = 12 };

static uint32_t keys[KEYS];

static void insertion(uint32_t *key, long n)
{
    for (long i = 1; i < n; i++) {
        uint32_t value = key[i];
        long j = i;
        for (; j > 0 && key[j - 1] > value; j--)
            key[j] = key[j - 1];
        key[j] = value;
    }
}

static void sort(uint32_t *key, long n)
{
    while (n > SHORT) {
        uint32_t pivot = key[n / 2];
        long i = 0, j = n - 1;
        for (;;) {
            while (key[i] < pivot)
                i++;
            while (key[j] > pivot)
                j--;
            if (i >= j)
                break;
            uint32_t swapped = key[i];
            key[i++] = key[j];
            key[j--] = swapped;
        }
        sort(key, i);
        key += i;
        n -= i;
    }
    insertion(key, n);
}

int main(int argc, char **argv)
{
    int times = argc > 1 ? atoi(argv[1]) : 1, wrong = 0;
    uint64_t state = 1;
    for (int t = 0; t < times; t++) {
        for (int i = 0; i < KEYS; i++) {
            state = state * 6364136223846793005 + 1442695040888963407;
            keys[i] = state >> 40;
        }
        sort(keys, KEYS);
        for (int i = 1; i < KEYS; i++)
            wrong += keys[i - 1] > keys[i];
    }
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong != 0;
}
