/* What every Fortran wrapper needs: both names, conversion of handles, special addresses, texts.
 *
 * gfortran's conventions: lower case and one underscore; all arguments by address; lengths of
 * CHARACTER arguments by value behind the others. A LOGICAL is an int that holds 0 or 1, so it is
 * passed on as it is, and so is a status: it has the layout of MPI_Status.
 */
#ifndef CHASQUI_FORTRAN_H
#define CHASQUI_FORTRAN_H

#include <stddef.h>

#include "mpi/comm/comm.h"
#include "mpi/runtime/fortran_handle.h"
#include "mpi/runtime/public.h"
#include "mpi/runtime/text.h"

/* pmpi_x_ is the function, mpi_x_ a weak alias that a tool may define instead. Used after the
 * definition. */
#define FORTRAN_ALIAS(name) __typeof__(pmpi_##name##_) mpi_##name##_ __attribute__((weak, alias("pmpi_" #name "_")))

/* The COMMON block /MPI_SENTINELS/ of mpif.h: its variables' addresses stand for C's special
 * values. The generator (python/chasqui/fortran.py) writes the same list into mpif.h. */
struct fortran_sentinels {
    MPI_Fint bottom;
    MPI_Fint in_place;
    MPI_Fint buffer_automatic;
    MPI_Fint unweighted;
    MPI_Fint weights_empty;
    MPI_Fint errcodes_ignore;
    MPI_Fint status_ignore[8];
    MPI_Fint statuses_ignore[8];
    char argv_null;
    char argvs_null;
};
_Static_assert(sizeof(MPI_Status) == sizeof(MPI_Fint[8]), "MPI_STATUS_SIZE");
/* As gfortran aligns COMMON blocks. */
extern struct fortran_sentinels mpi_sentinels_ __attribute__((aligned(16)));

/* C's values, by the sentinels' places. */
enum { FORTRAN_SPECIALS = sizeof(struct fortran_sentinels) / sizeof(MPI_Fint) };
extern void *const chq_fortran_specials[FORTRAN_SPECIALS];

/* A buffer, status or array of weights: its address, or the special value that it stands for. No
 * call, so that wrappers have nothing to keep over one. */
static inline void *fortran_address(const void *argument)
{
    uintptr_t offset = (uintptr_t)argument - (uintptr_t)&mpi_sentinels_;
    if (unlikely(offset < sizeof mpi_sentinels_))
        return chq_fortran_specials[offset / sizeof(MPI_Fint)];
    return (void *)(uintptr_t)argument;
}

/* Arrays of handles, which C has twice as wide. */
void chq_fortran_handles_to_c(void *to, const MPI_Fint *from, int count);
void chq_fortran_handles_from_c(MPI_Fint *to, const void *from, int count);
/* For calls that read the array until their request is complete: one that is never freed. */
const void *chq_fortran_handles_kept(const MPI_Fint *from, int count);

/* Length of an array of one element a process that the call talks to. */
static inline int fortran_peers(MPI_Fint comm)
{
    const struct communicator *c = comm_of(fortran_to_c(comm));
    return c->valid != COMM_VALID ? 0 : c->inter ? c->remote->size : c->size;
}

/* Of one element a neighbour that the process sends to, or receives from. */
int chq_fortran_neighbors_out(MPI_Fint comm);
int chq_fortran_neighbors_in(MPI_Fint comm);

/* Arrays of addresses from INTEGERs, in the functions of MPI-1. */
void chq_fortran_widen(MPI_Aint *to, const MPI_Fint *from, int count);

/* CHARACTER values end in blanks that mean nothing; those of info objects begin with some, too.
 * `to` has room for length + 1. */
void chq_fortran_text_to_c(char *to, const char *from, size_t length);
void chq_fortran_info_to_c(char *to, const char *from, size_t length);
void chq_fortran_text_from_c(char *to, size_t length, const char *from);

/* Indices count from 1; MPI_UNDEFINED is negative. */
static inline void fortran_index(MPI_Fint *index) { *index += *index >= 0; }

#endif
