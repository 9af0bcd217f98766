/* Generalized requests (MPI 5.0, section 13.2): procedures that get an INTEGER(MPI_ADDRESS_KIND) as
 * their state, everything by address. It is the program's own variable, as it is in C what the program's pointer points
 * at: a program may store there while the operation is under way, and its procedures may, for it to read. Open MPI
 * passes that address, too. (The state of a key is another matter: attribute.c.) */
#include "fortran/fortran.h"

#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

typedef void fortran_query(MPI_Aint *extra_state, MPI_Status *status, MPI_Fint *ierror);
typedef void fortran_free(MPI_Aint *extra_state, MPI_Fint *ierror);
typedef void fortran_cancel(MPI_Aint *extra_state, MPI_Fint *complete, MPI_Fint *ierror);

struct grequest_state {
    fortran_query *query;
    fortran_free *free;
    fortran_cancel *cancel;
    MPI_Aint *extra_state; /* In the program. */
};

static int query(void *extra_state, MPI_Status *status)
{
    struct grequest_state *state = extra_state;
    MPI_Fint error = MPI_SUCCESS;
    state->query(state->extra_state, status, &error);
    return error;
}

static int cancel(void *extra_state, int complete)
{
    struct grequest_state *state = extra_state;
    MPI_Fint error = MPI_SUCCESS;
    state->cancel(state->extra_state, &complete, &error);
    return error;
}

/* The library's last call. */
static int release(void *extra_state)
{
    struct grequest_state *state = extra_state;
    MPI_Fint error = MPI_SUCCESS;
    state->free(state->extra_state, &error);
    free(state);
    return error;
}

void pmpi_grequest_start_(fortran_query *query_fn, fortran_free *free_fn, fortran_cancel *cancel_fn,
                          MPI_Aint *extra_state, MPI_Fint *request, MPI_Fint *ierror)
{
    MPI_Request made = MPI_REQUEST_NULL;
    struct grequest_state *state = chq_malloc(sizeof *state);
    *state = (struct grequest_state){query_fn, free_fn, cancel_fn, extra_state};
    *ierror = PMPI_Grequest_start(query, release, cancel, state, &made);
    if (*ierror)
        free(state);
    *request = fortran_from_c(made);
}
FORTRAN_ALIAS(grequest_start);
