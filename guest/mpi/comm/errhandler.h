/* Error handlers. */
#ifndef CHASQUI_ERRHANDLER_H
#define CHASQUI_ERRHANDLER_H

#include <stdbool.h>
#include <stdint.h>

#include "mpi/runtime/public.h"

enum { ERRHANDLER_VALID = 0x45525248 };

struct errhandler {
    uint32_t valid;
    int32_t references; /* The handle, and the communicators that use it. */
    MPI_Comm_errhandler_function *function; /* Null: a predefined handler. */
    bool fortran;                           /* The function is Fortran's: the handle is an INTEGER. */
};

extern struct errhandler chq_errors_are_fatal, chq_errors_abort, chq_errors_return;

void chq_errhandler_retain(struct errhandler *handler);
void chq_errhandler_release(struct errhandler *handler);

#endif
