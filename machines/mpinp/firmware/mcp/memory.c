/* What the compiler calls to copy and to clear records. */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t bytes);
void *memset(void *to, int value, size_t bytes);

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    char *target = to;
    const char *source = from;
    if ((((uintptr_t)target | (uintptr_t)source) & 7) == 0)
        for (; bytes >= 8; bytes -= 8, target += 8, source += 8)
            *(uint64_t *)(void *)target = *(const uint64_t *)(const void *)source;
    for (; bytes > 0; bytes--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    char *target = to;
    uint64_t word = 0x0101010101010101u * (uint8_t)value;
    if (((uintptr_t)target & 7) == 0)
        for (; bytes >= 8; bytes -= 8, target += 8)
            *(uint64_t *)(void *)target = word;
    for (; bytes > 0; bytes--)
        *target++ = (char)value;
    return to;
}
