/* Handles as Fortran has them: INTEGERs. Predefined handles keep their values; every other handle
 * gets a number when Fortran first sees it, and keeps it. Numbers are not taken back: an address
 * that is used again names the same number, so there are at most as many as there were addresses,
 * and a stale number is found where a stale handle is. */
#ifndef CHASQUI_FORTRAN_HANDLE_H
#define CHASQUI_FORTRAN_HANDLE_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/runtime/public.h"

/* Above all predefined values (MPI 5.0, appendix A.1). */
enum { FORTRAN_HANDLE_FIRST = 0x1000 };

struct fortran_handles {
    void **handle; /* By number. */
    uint32_t count;
    uint32_t room;
    int32_t *slot; /* Hash table of numbers, twice as long as `handle`; -1: empty. */
};
extern struct fortran_handles chq_fortran_handles;

/* The number of a handle that is not predefined. */
MPI_Fint chq_fortran_number(void *handle);

static inline MPI_Fint fortran_from_c(void *handle)
{
    if (likely((uintptr_t)handle < FORTRAN_HANDLE_FIRST))
        return (MPI_Fint)(uintptr_t)handle;
    return chq_fortran_number(handle);
}

/* Null, which is no handle of any kind, for a number that names nothing. */
static inline void *fortran_to_c(MPI_Fint value)
{
    uint32_t number = (uint32_t)value;
    if (likely(number < FORTRAN_HANDLE_FIRST))
        return (void *)(uintptr_t)number;
    number -= FORTRAN_HANDLE_FIRST;
    return likely(number < chq_fortran_handles.count) ? chq_fortran_handles.handle[number] : NULL;
}

/* A handle in memory whose first four bytes are the INTEGER: what a Fortran function finds where a
 * C function would find the handle (RISC-V is little-endian). */
static inline void *fortran_in_place(void *handle) { return (void *)(uintptr_t)(uint32_t)fortran_from_c(handle); }

#endif
