/* Allocation: see memory.h. */
#include "mpi/runtime/memory.h"

#include "mpi/runtime/error.h"
#include "mpi/runtime/platform.h"

void *chq_malloc(size_t bytes)
{
    void *block = malloc(bytes ? bytes : 1);
    if (!block)
        chq_die("out of memory in the MPI library");
    return block;
}

void chq_pool_refill(struct pool *pool)
{
    char *objects = chq_malloc(pool->object_bytes * pool->objects);
    /* Backwards, so that they are handed out in the order of their addresses. */
    for (size_t i = pool->objects; i-- > 0;)
        pool_give(pool, objects + i * pool->object_bytes);
} // NOLINT(clang-analyzer-unix.Malloc): the pool has them
