/* Errors within the library: functions return an error class, and note why. Public functions raise it
 * (comm/raise.h). */
#ifndef CHASQUI_ERROR_H
#define CHASQUI_ERROR_H

#include "mpi/runtime/public.h"

/* Notes why the next error is raised, for its message, and returns `class`. `text` is static. */
int chq_reason(int class, const char *text);

/* Ends the job: the library itself can't go on. */
_Noreturn void chq_die(const char *text);
/* The same, for what the program has called. */
_Noreturn void chq_die_in(const char *call, const char *text);

#endif
