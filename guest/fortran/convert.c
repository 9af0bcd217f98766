/* Conversion of arguments between Fortran and C (MPI 5.0, section 19.3). */
#include "fortran/fortran.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/comm/topology.h"

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

/* Programs use few different arrays, again and again: an equal one is not kept twice. */
const void *chq_fortran_handles_kept(const MPI_Fint *from, int count)
{
    static struct kept {
        struct kept *next;
        size_t bytes;
        void *handles[];
    } *all;
    size_t bytes = (size_t)count * sizeof(void *);
    struct kept *made = chq_malloc(sizeof *made + bytes);
    chq_fortran_handles_to_c(made->handles, from, count);
    for (struct kept *kept = all; kept; kept = kept->next) {
        if (kept->bytes == bytes && memcmp(kept->handles, made->handles, bytes) == 0) {
            free(made);
            return kept->handles;
        }
    }
    made->next = all;
    made->bytes = bytes;
    all = made;
    return made->handles;
}

/* None where there is no topology: the call itself says so. */
static struct neighbors neighbors_of(MPI_Fint comm)
{
    const struct communicator *c = comm_of(fortran_to_c(comm));
    struct neighbors neighbors = {0};
    if (c->valid == COMM_VALID && c->topology)
        chq_topology_neighbors(c, &neighbors);
    return neighbors;
}

int chq_fortran_neighbors_out(MPI_Fint comm) { return neighbors_of(comm).out; }
int chq_fortran_neighbors_in(MPI_Fint comm) { return neighbors_of(comm).in; }

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
