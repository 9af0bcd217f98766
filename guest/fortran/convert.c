/* Conversion of arguments between Fortran and C (MPI 5.0, section 19.3). */
#include "fortran/fortran.h"
#include "mpi/platform.h"

struct fortran_sentinels mpi_sentinels_;

/* The others are null pointers in C. */
#define SPECIAL(member, value) [offsetof(struct fortran_sentinels, member) / sizeof(MPI_Fint)] = (value)
void *const chq_fortran_specials[FORTRAN_SPECIALS] = {
    SPECIAL(in_place, MPI_IN_PLACE),
    SPECIAL(buffer_automatic, MPI_BUFFER_AUTOMATIC),
    SPECIAL(unweighted, MPI_UNWEIGHTED),
    SPECIAL(weights_empty, MPI_WEIGHTS_EMPTY),
};

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
