/* What memcpy, memmove and memset share: copying and filling by words.
 *
 * zig's own functions store single bytes on RISC-V, since nothing promises that unaligned accesses are
 * quick there; that is more than two instructions a byte. These store aligned words, as glibc's do, and put
 * words together by shifts where the source is aligned otherwise. Each function is a file, so that a program
 * may define one of its own.
 */
#ifndef CHASQUI_WORDS_H
#define CHASQUI_WORDS_H

#include <stddef.h>
#include <stdint.h>

typedef uint64_t __attribute__((may_alias)) word;
typedef uint32_t __attribute__((may_alias)) half;
#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

enum { WORD = sizeof(word), BLOCK = 8 };

static inline size_t misalignment(const void *place) { return (uintptr_t)place % WORD; }

/* Both aligned. Four words are loaded before they are stored: `from` may overlap what lies before it. */
static inline void copy_words(word *to, const word *from, size_t words)
{
    for (; words >= BLOCK; words -= BLOCK, to += BLOCK, from += BLOCK)
        for (int i = 0; i < BLOCK; i += 4) {
            word a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];
            to[i] = a, to[i + 1] = b, to[i + 2] = c, to[i + 3] = d;
        }
    for (; words; words--)
        *to++ = *from++;
}

/* The last few bytes. */
static inline void copy_tail(char *to, const char *from, size_t bytes)
{
    if (bytes >= sizeof(half) && ((uintptr_t)to | (uintptr_t)from) % sizeof(half) == 0) {
        *(half *)to = *(const half *)from;
        to += sizeof(half);
        from += sizeof(half);
        bytes -= sizeof(half);
    }
    for (; bytes; bytes--)
        *to++ = *from++;
}

/* unaligned.c: the same as copy_forward. Apart, and with memcpy's own result, so that the usual case is a
 * function without a stack. */
void *chq_copy_unaligned(char *to, const char *from, size_t bytes);

/* From the lowest address on: right where `to` lies before `from`, or they don't overlap. `to`. */
static inline void *copy_forward(char *to, const char *from, size_t bytes)
{
    if (unlikely(misalignment(to) | misalignment(from)))
        return chq_copy_unaligned(to, from, bytes);
    size_t words = bytes / WORD;
    copy_words((word *)to, (const word *)from, words);
    if (unlikely(bytes % WORD))
        copy_tail(to + words * WORD, from + words * WORD, bytes % WORD);
    return to;
}

#endif
