/* Memory of the library: malloc that never returns null, free lists of equal objects, short copies. */
#ifndef CHASQUI_MEMORY_H
#define CHASQUI_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/runtime/platform.h"
#include "mpi/runtime/public.h"

enum { COPY_INLINE_BYTES_MAX = 32 };

/* Ends the job with a message when there is no memory: no caller could go on. */
void *chq_malloc(size_t bytes);

/* Objects of one size, never given back to malloc. The first word of a free object is the link,
 * so an object must not keep anything there while it is free.
 *
 * What keeps messages is filled once in its part's init, so that most programs take nothing from malloc within a message:
 * system software clears pages when they are first touched, and ranks that came to that one after another would wait for
 * each other every time. A pool that runs out is refilled within a message. */
struct pool {
    void *first;
    size_t object_bytes;
    size_t objects; /* Taken from malloc at a time. */
};

void chq_pool_refill(struct pool *pool);

static inline void *pool_take(struct pool *pool)
{
    if (unlikely(!pool->first))
        chq_pool_refill(pool);
    void *object = pool->first;
    pool->first = *(void **)object;
    return object;
}

static inline void pool_give(struct pool *pool, void *object)
{
    *(void **)object = pool->first;
    pool->first = object;
}

/* Copies that are usually a few bytes: half a word or a few whole ones without a call. */
static inline void chq_copy(void *to, const void *from, size_t bytes)
{
    if (likely(bytes == 8 && (((uintptr_t)to | (uintptr_t)from) & 7) == 0)) {
        uint64_t *target = __builtin_assume_aligned(to, 8);
        const uint64_t *source = __builtin_assume_aligned(from, 8);
        __builtin_memcpy(target, source, 8);
        return;
    }
    if ((((uintptr_t)to | (uintptr_t)from | bytes) & 7) == 0 && bytes <= COPY_INLINE_BYTES_MAX) {
        uint64_t *target = __builtin_assume_aligned(to, 8);
        const uint64_t *source = __builtin_assume_aligned(from, 8);
        for (size_t words = bytes / 8; words > 0; words--)
            *target++ = *source++;
        return;
    }
    if (likely(bytes == 4 && (((uintptr_t)to | (uintptr_t)from) & 3) == 0)) {
        uint32_t *target = __builtin_assume_aligned(to, 4);
        const uint32_t *source = __builtin_assume_aligned(from, 4);
        __builtin_memcpy(target, source, 4);
        return;
    }
    memcpy(to, from, bytes);
}

#endif
