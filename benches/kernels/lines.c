/* Loads of one word every STRIDE bytes of BYTES, round and round: of a working set that one level of the memory holds and the
 * one before does not, all loads but the first ones miss there. The arguments are BYTES, STRIDE and the number of loads. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES_MAX = 1 << 23, UNROLLED = 16 };

static _Alignas(4096) unsigned char memory[BYTES_MAX];

int main(int argc, char **argv)
{
    uint64_t bytes = argc > 1 ? strtoull(argv[1], NULL, 0) : 4096;
    uint64_t stride = argc > 2 ? strtoull(argv[2], NULL, 0) : 64;
    uint64_t loads = argc > 3 ? strtoull(argv[3], NULL, 0) : 1;
    if (bytes > BYTES_MAX || stride < sizeof(void *) || bytes < stride)
        return 2;
    uint64_t places = bytes / stride;
    for (uint64_t i = 0; i < places; i++)
        *(void **)(memory + i * stride) = memory + (i + 1) % places * stride;
    void *volatile *at = (void *volatile *)memory;
    for (uint64_t i = 0; i < loads; i += UNROLLED) {
#pragma GCC unroll 16
        for (int j = 0; j < UNROLLED; j++)
            at = (void *volatile *)*at;
    }
    uint64_t last = (loads + UNROLLED - 1) / UNROLLED * UNROLLED % places;
    int wrong = (unsigned char *)at != memory + last * stride;
    printf("%s\n", wrong ? "WRONG" : "right");
    return wrong;
}
