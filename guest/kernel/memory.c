/* The kernel's own memory: blocks of powers of two, each aligned to its size, those that came back in a list for each size
 * (D. E. Knuth, The Art of Computer Programming 1, section 2.5: the buddy system's blocks, which are split, but never joined).
 *
 * What a process asks the kernel for (VIs, sockets) comes from a share of its own, and goes back to it: one that asks for too
 * much, or for blocks of all sizes in turn, is refused, and takes nothing from the kernel or from other processes. */
#include "kernel.h"

#define SMALLEST_LOG 6
#define LARGEST_LOG 20
/* Of the kernel's, before processes have their shares [bytes]: a thousand packets that wait for the driver (2 KiB each), two
 * rings of them, and stacks. */
#define KERNELS_OWN (4ull << 20)

struct block {
    struct block *next;
};

struct heap {
    struct block *free_blocks[LARGEST_LOG + 1];
    uint64_t left; /* that may be made into blocks [bytes] */
};

static struct heap kernels, shares[PROCESSES];
static uint8_t *next; /* from here on nothing has been a block yet */

void memory_begin(uint64_t physical, uint64_t bytes)
{
    next = of_physical(physical);
    kernels.left = bytes;
}

static unsigned log_of(size_t bytes)
{
    unsigned log = SMALLEST_LOG;
    while ((1ull << log) < bytes)
        log++;
    return log;
}

static void heap_give(struct heap *heap, void *memory, unsigned log)
{
    struct block *block = memory;
    block->next = heap->free_blocks[log];
    heap->free_blocks[log] = block;
}

/* A new block. What lies before it at its alignment becomes free blocks. */
SELDOM static void *make_block(struct heap *heap, unsigned log)
{
    uint64_t size = 1ull << log, whole = size + (-(uint64_t)next & (size - 1));
    if (log > LARGEST_LOG || whole > heap->left)
        return 0;
    heap->left -= whole;
    while ((uint64_t)next & (size - 1)) {
        uint64_t part = (uint64_t)next & -(uint64_t)next;
        heap_give(heap, next, log_of(part));
        next += part;
    }
    void *memory = next;
    next += size;
    return memory;
}

/* One where there is none of this size: the first part of a larger one, or a new one. */
SELDOM static void *find_block(struct heap *heap, unsigned log)
{
    unsigned larger = log;
    while (larger <= LARGEST_LOG && !heap->free_blocks[larger])
        larger++;
    if (larger > LARGEST_LOG)
        return make_block(heap, log);
    struct block *block = heap->free_blocks[larger];
    heap->free_blocks[larger] = block->next;
    while (larger-- > log)
        heap_give(heap, (uint8_t *)block + (1ull << larger), larger);
    return block;
}

static void *heap_take(struct heap *heap, size_t bytes)
{
    unsigned log = log_of(bytes);
    struct block *block = log <= LARGEST_LOG ? heap->free_blocks[log] : 0;
    if (!block)
        return find_block(heap, log);
    heap->free_blocks[log] = block->next;
    return block;
}

void *memory_try(size_t bytes) { return heap_take(&kernels, bytes); }

void *memory_take(size_t bytes)
{
    void *memory = heap_take(&kernels, bytes);
    check(memory, "out of memory (node.software.kernel_memory)");
    return memory;
}

void memory_give(void *memory, size_t bytes) { heap_give(&kernels, memory, log_of(bytes)); }

/* Once, when a process first asks for something: the kernel has begun. */
SELDOM static void share_out(void)
{
    uint64_t own = kernels.left / 2 < KERNELS_OWN ? kernels.left / 2 : KERNELS_OWN;
    uint64_t each = (kernels.left - own) / process_count;
    for (uint64_t process = 0; process < process_count; process++)
        shares[process].left = each;
    kernels.left -= each * process_count;
}

SELDOM void *memory_take_for(uint64_t process, size_t bytes)
{
    static bool is_shared_out;
    if (!is_shared_out) {
        is_shared_out = true;
        share_out();
    }
    return heap_take(&shares[process], bytes);
}

SELDOM void memory_give_for(uint64_t process, void *memory, size_t bytes)
{
    heap_give(&shares[process], memory, log_of(bytes));
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
