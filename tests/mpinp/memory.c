/* The firmware's memset and memcpy: bytes within and around, of each beginning within words and each length. */
#define memset np_memset
#define memcpy np_memcpy
#include "mcp/memory.c"
#undef memset
#undef memcpy

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>

enum { AROUND = 8, LONGEST = 70, SIZE = LONGEST + 2 * AROUND };

static _Alignas(8) unsigned char from[SIZE], to[SIZE];

static void begin(void)
{
    for (int i = 0; i < SIZE; i++) {
        from[i] = (unsigned char)(i + 1);
        to[i] = 200;
    }
}

static bool is_right(int first, int length, int source, int value)
{
    for (int i = 0; i < SIZE; i++) {
        bool is_within = i >= first && i < first + length;
        int wanted = !is_within ? 200 : value >= 0 ? value : from[i - first + source];
        if (to[i] != wanted)
            return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    bool right = true;
    MPI_Init(&argc, &argv);
    for (int length = 0; length <= LONGEST; length++)
        for (int first = AROUND; first < AROUND + 4; first++) {
            begin();
            right &= np_memset(to + first, 0x1a5, (size_t)length) == to + first && is_right(first, length, 0, 0xa5);
            for (int source = 0; source < 4; source++) {
                begin();
                right &= np_memcpy(to + first, from + source, (size_t)length) == to + first &&
                         is_right(first, length, source, -1);
            }
        }
    printf("memory: %s\n", right ? "PASSED" : "FAILED");
    MPI_Finalize();
    return !right;
}
