/* Conversion of arguments between Fortran and C (MPI 5.0, section 19.3). */
#include "fortran/fortran.h"
#include "mpi/platform.h"

struct fortran_sentinels mpi_sentinels_;

void *chq_fortran_sentinel(const void *argument)
{
    switch ((uintptr_t)argument - (uintptr_t)&mpi_sentinels_) {
    case offsetof(struct fortran_sentinels, in_place):
        return MPI_IN_PLACE;
    case offsetof(struct fortran_sentinels, buffer_automatic):
        return MPI_BUFFER_AUTOMATIC;
    case offsetof(struct fortran_sentinels, unweighted):
        return MPI_UNWEIGHTED;
    case offsetof(struct fortran_sentinels, weights_empty):
        return MPI_WEIGHTS_EMPTY;
    default: /* The others are null pointers in C. */
        return NULL;
    }
}

void chq_fortran_handles_to_c(void *to, const MPI_Fint *from, int count)
{
    void **handles = to;
    for (int i = 0; i < count; i++)
        handles[i] = fortran_to_c(from[i]);
}

void chq_fortran_handles_from_c(MPI_Fint *to, const void *from, int count)
{
    void *const *handles = from;
    for (int i = 0; i < count; i++)
        to[i] = fortran_from_c(handles[i]);
}

void chq_fortran_widen(MPI_Aint *to, const MPI_Fint *from, int count)
{
    for (int i = 0; i < count; i++)
        to[i] = from[i];
}

void chq_fortran_text_to_c(char *to, const char *from, size_t length)
{
    while (length > 0 && from[length - 1] == ' ')
        length--;
    memcpy(to, from, length);
    to[length] = '\0';
}

void chq_fortran_info_to_c(char *to, const char *from, size_t length)
{
    while (length > 0 && *from == ' ')
        from++, length--;
    chq_fortran_text_to_c(to, from, length);
}

void chq_fortran_text_from_c(char *to, size_t length, const char *from)
{
    size_t used = text_length(from);
    if (used > length)
        used = length;
    memcpy(to, from, used);
    memset(to + used, ' ', length - used);
}
