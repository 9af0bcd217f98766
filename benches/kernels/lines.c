/* One access every STRIDE bytes of BYTES, round and round: a working set that one level of the memory holds and the one
 * before does not, so that all accesses but the first ones miss there. The arguments are BYTES, STRIDE, the number of accesses
 * in thousands, and `stores` for stores instead of loads. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS_MAX = 1 << 20, UNROLLED = 16 };

static _Alignas(4096) volatile uint64_t memory[WORDS_MAX];

/* Loads go from place to place by pointers: one instruction each. */
static int load(uint64_t places, uint64_t stride, uint64_t count)
{
    for (uint64_t i = 0; i < places; i++)
        memory[i * stride] = (uint64_t)(uintptr_t)(memory + (i + 1) % places * stride);
    volatile uint64_t *at = memory;
    for (uint64_t i = 0; i < count; i += UNROLLED) {
#pragma GCC unroll 16
        for (int j = 0; j < UNROLLED; j++)
            at = (volatile uint64_t *)(uintptr_t)*at;
    }
    return at == memory + (count + UNROLLED - 1) / UNROLLED * UNROLLED % places * stride;
}

static int store(uint64_t places, uint64_t stride, uint64_t count)
{
    for (uint64_t done = 0; done < count; done += places) {
        for (uint64_t i = 0; i < places; i++)
            memory[i * stride] = i;
    }
    return count == 0 || memory[(places - 1) * stride] == places - 1;
}

int main(int argc, char **argv)
{
    uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 4096;
    uint64_t stride = argc > 2 ? strtoull(argv[2], NULL, 0) : 64;
    uint64_t count = argc > 3 ? strtoull(argv[3], NULL, 0) * 1000 : 1000;
    if (bytes > sizeof memory || stride < sizeof memory[0] || bytes < stride)
        return 2;
    int stores = argc > 4 && !strcmp(argv[4], "stores");
    int right = (stores ? store : load)(bytes / stride, stride / sizeof memory[0], count);
    printf("%s\n", right ? "right" : "WRONG");
    return !right;
}
