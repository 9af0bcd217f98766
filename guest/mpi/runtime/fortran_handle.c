/* The numbers of handles (MPI 5.0, section 19.3.4). */
#include "mpi/runtime/fortran_handle.h"

#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

struct fortran_handles chq_fortran_handles;

/* Where the handle is or belongs. */
static int32_t *slot_of(const struct fortran_handles *table, const void *handle)
{
    uint32_t mask = 2 * table->room - 1;
    uint32_t at = (uint32_t)(((uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15u >> 32) & mask;
    while (table->slot[at] >= 0 && table->handle[table->slot[at]] != handle)
        at = (at + 1) & mask;
    return &table->slot[at];
}

static void grow(struct fortran_handles *table)
{
    struct fortran_handles larger = {.count = table->count, .room = table->room ? 2 * table->room : 64};
    larger.handle = chq_malloc(larger.room * sizeof *larger.handle);
    larger.slot = chq_malloc(2 * larger.room * sizeof *larger.slot);
    memset(larger.slot, -1, 2 * larger.room * sizeof *larger.slot);
    for (uint32_t i = 0; i < table->count; i++) {
        *slot_of(&larger, table->handle[i]) = (int32_t)i;
        larger.handle[i] = table->handle[i];
    }
    free(table->handle);
    free(table->slot);
    *table = larger;
}

MPI_Fint chq_fortran_number(void *handle)
{
    struct fortran_handles *table = &chq_fortran_handles;
    if (unlikely(table->count == table->room))
        grow(table);
    int32_t *slot = slot_of(table, handle);
    if (unlikely(*slot < 0)) {
        *slot = (int32_t)table->count;
        table->handle[table->count++] = handle;
    }
    return *slot + FORTRAN_HANDLE_FIRST;
}
