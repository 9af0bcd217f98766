/* What the compiler calls to copy and to clear records: by words of the bus, between the first and the last of them by less. Of
 * records that begin or end within a word the compiler stores a part by itself.
 */
#include "memory.h"

#include <stdbool.h>
#include <stdint.h>

static inline uint16_t *half(void *at) { return at; }
static inline uint32_t *word(void *at) { return at; }
static inline const uint16_t *half_of(const void *at) { return at; }
static inline const uint32_t *word_of(const void *at) { return at; }
static inline bool is_odd(const void *at, unsigned bytes) { return (uintptr_t)at & bytes; }

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    char *target = to;
    const char *source = from;
    if ((((uintptr_t)target ^ (uintptr_t)source) & 3) == 0) {
        if (is_odd(target, 1) && bytes >= 1)
            *target++ = *source++, bytes--;
        if (is_odd(target, 2) && bytes >= 2) {
            *half(target) = *half_of(source);
            target += 2, source += 2, bytes -= 2;
        }
        for (; bytes >= 16; bytes -= 16, target += 16, source += 16) {
            uint32_t a = word_of(source)[0], b = word_of(source)[1], c = word_of(source)[2], d = word_of(source)[3];
            word(target)[0] = a, word(target)[1] = b, word(target)[2] = c, word(target)[3] = d;
        }
        for (; bytes >= 4; bytes -= 4, target += 4, source += 4)
            *word(target) = *word_of(source);
    }
    for (; bytes > 0; bytes--)
        *target++ = *source++;
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    char *target = to;
    uint32_t all = 0x01010101u * (uint8_t)value;
    if (is_odd(target, 1) && bytes >= 1)
        *target++ = (char)all, bytes--;
    if (is_odd(target, 2) && bytes >= 2) {
        *half(target) = (uint16_t)all;
        target += 2, bytes -= 2;
    }
    for (; bytes >= 16; bytes -= 16, target += 16)
        word(target)[0] = all, word(target)[1] = all, word(target)[2] = all, word(target)[3] = all;
    for (; bytes >= 4; bytes -= 4, target += 4)
        *word(target) = all;
    for (; bytes > 0; bytes--)
        *target++ = (char)all;
    return to;
}
