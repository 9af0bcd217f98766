/* What the compiler calls to copy and to clear records, which are of words. */
#include "memory.h"

#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    char *target = to;
    const char *source = from;
    if ((((uintptr_t)target | (uintptr_t)source) & 3) == 0)
        for (; bytes >= 4; bytes -= 4, target += 4, source += 4)
            *(uint32_t *)(void *)target = *(const uint32_t *)(const void *)source;
    for (; bytes > 0; bytes--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    char *target = to;
    uint32_t word = 0x01010101u * (uint8_t)value;
    if (((uintptr_t)target & 3) == 0)
        for (; bytes >= 4; bytes -= 4, target += 4)
            *(uint32_t *)(void *)target = word;
    for (; bytes > 0; bytes--)
        *target++ = (char)value;
    return to;
}
