/* What ends the job, and what is noted of an error: raising one is comm/raise.c's. */
#include "mpi/runtime/error.h"

#include "mpi/runtime/process.h"
#include "mpi/runtime/text.h"

int chq_reason(int class, const char *text)
{
    chq.reason = text;
    return class;
}

_Noreturn void chq_die_in(const char *call, const char *text)
{
    struct line line = {.length = 0};
    if (chq.ni) {
        line_add(&line, "rank ");
        line_add_number(&line, (long)chq.ni->rank);
        line_add(&line, ": ");
    }
    line_add(&line, call);
    line_add(&line, ": ");
    line_add(&line, text);
    line_add(&line, "\n");
    chq_platform_write(2, line.text, line.length);
    chq_platform_exit(1);
}

_Noreturn void chq_die(const char *text) { chq_die_in("MPI", text); }
