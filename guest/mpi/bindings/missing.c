/* What functions do that are nowhere, in programs linked with --stub-missing (python/chasqui/stubs.py): the first that
 * is called ends the job. */
#include "mpi/runtime/process.h"
#include "mpi/runtime/public.h"
#include "mpi/runtime/text.h"

_Noreturn void chq_missing(const char *name);

void chq_missing(const char *name)
{
    struct line line = {.length = 0};
    if (chq.initialized) {
        line_add(&line, "rank ");
        line_add_number(&line, (long)chq.rank);
        line_add(&line, ": ");
    }
    line_add(&line, name);
    line_add(&line, ": it was called, and is missing: the program was linked with --stub-missing\n");
    chq_platform_write(2, line.text, line.length);
    PMPI_Abort(MPI_COMM_WORLD, 1);
    __builtin_unreachable();
}
