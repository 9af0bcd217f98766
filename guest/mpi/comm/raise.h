/* Raising errors, as the error handler of a communicator says. */
#ifndef CHASQUI_RAISE_H
#define CHASQUI_RAISE_H

#include "mpi/runtime/public.h"

struct communicator;

/* Raises an error of `call` on `comm` (null: on MPI_COMM_WORLD) as its error handler says; returns
 * `class` when the program goes on. `reason` null: what chq_reason noted last. Success passes. */
int chq_fail(struct communicator *comm, const char *call, int class, const char *reason);

/* error_codes.c. Text of an error class; never null. */
const char *chq_error_text(int class);

#endif
