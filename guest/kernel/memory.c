/* The kernel's own memory: blocks of powers of two, each aligned to its size, those that came back in a list for each size
 * (D. E. Knuth, The Art of Computer Programming 1, section 2.5, without its buddies: blocks are never joined). */
#include "kernel.h"

#define SMALLEST_LOG 6
#define LARGEST_LOG 20

struct block {
    struct block *next;
};

static struct block *free_blocks[LARGEST_LOG + 1];
static uint8_t *next, *end;

void memory_begin(uint64_t physical, uint64_t bytes)
{
    next = of_physical(physical);
    end = next + bytes;
}

static unsigned log_of(size_t bytes)
{
    unsigned log = SMALLEST_LOG;
    while ((1ull << log) < bytes)
        log++;
    check(log <= LARGEST_LOG, "a block of more than 1 MiB");
    return log;
}

/* What lies before a block at its alignment becomes free blocks. */
static void align(uint64_t bytes)
{
    while ((uint64_t)next & (bytes - 1)) {
        uint64_t part = (uint64_t)next & -(uint64_t)next;
        memory_give(next, part);
        next += part;
    }
}

void *memory_take(size_t bytes)
{
    unsigned log = log_of(bytes);
    struct block *block = free_blocks[log];
    if (block) {
        free_blocks[log] = block->next;
        return block;
    }
    uint64_t size = 1ull << log;
    align(size);
    check(size <= (uint64_t)(end - next), "out of memory (node.software.kernel_memory)");
    void *memory = next;
    next += size;
    return memory;
}

void memory_give(void *memory, size_t bytes)
{
    unsigned log = log_of(bytes);
    struct block *block = memory;
    block->next = free_blocks[log];
    free_blocks[log] = block;
}

/* Whole words. */
void memory_clear(void *memory, size_t bytes)
{
    for (uint64_t *word = memory, *last = word + bytes / sizeof *word; word != last; word++)
        *word = 0;
}

/* From between words to words, each of which has parts of two (as Linux's memmove for RISC-V). Whole words of `to`;
 * what is read beside `from`'s bytes is in words that have some of them. */
static void copy_shifted(uint64_t *to, const uint8_t *from, size_t words)
{
    unsigned shift = 8 * ((uint64_t)from & 7);
    const uint64_t *in = (const uint64_t *)((uint64_t)from & ~7ull);
    for (uint64_t low = *in, high; words > 0; words--, low = high) {
        high = *++in;
        *to++ = low >> shift | high << (64 - shift);
    }
}

void memory_copy(void *to, const void *from, size_t bytes)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    for (; bytes > 0 && (uint64_t)out & 7; bytes--)
        *out++ = *in++;
    size_t whole = bytes & ~7ull;
    if ((uint64_t)in & 7) {
        copy_shifted((uint64_t *)out, in, whole / 8);
        out += whole;
        in += whole;
    } else {
        for (const uint8_t *end = in + whole; in != end; out += 8, in += 8)
            *(uint64_t *)out = *(const uint64_t *)in;
    }
    for (bytes &= 7; bytes > 0; bytes--)
        *out++ = *in++;
}
