/* Errors: see errors.c. */
#ifndef CHASQUI_ERROR_H
#define CHASQUI_ERROR_H

#include "mpi/runtime/public.h"

struct communicator;

/* Notes why the next error is raised, for its message, and returns `class`. `text` is static. */
int chq_reason(int class, const char *text);

/* Raises an error of `call` on `comm` (null: on MPI_COMM_WORLD) as its error handler says; returns
 * `class` when the program goes on. `reason` null: what chq_reason noted last. Success passes. */
int chq_fail(struct communicator *comm, const char *call, int class, const char *reason);

/* Ends the job: the library itself can't go on. */
_Noreturn void chq_die(const char *text);

/* Text of an error class; never null. */
const char *chq_error_text(int class);

#endif
