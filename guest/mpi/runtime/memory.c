/* Allocation: see memory.h. MPI_Alloc_mem is malloc: no device of this library can only reach
 * registered memory. */
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
}

int PMPI_Alloc_mem(MPI_Aint size, MPI_Info info, void *baseptr)
{
    (void)info;
    if (size < 0)
        return chq_fail(NULL, "MPI_Alloc_mem", MPI_ERR_ARG, "negative size");
    void *block = size ? malloc((size_t)size) : NULL;
    if (size && !block)
        return chq_fail(NULL, "MPI_Alloc_mem", MPI_ERR_NO_MEM, "not enough memory");
    *(void **)baseptr = block;
    return MPI_SUCCESS;
}
MPI_ALIAS(Alloc_mem);

int PMPI_Free_mem(void *base)
{
    free(base);
    return MPI_SUCCESS;
}
MPI_ALIAS(Free_mem);
