/* Raising errors (MPI 5.0, section 9.3). MPI_ERRORS_ARE_FATAL is the default: the message names
 * rank, call and reason, and the job ends. An error code is its class, or one that the program
 * added (error_codes.c). */
#include "mpi/comm/raise.h"

#include "mpi/comm/comm.h"
#include "mpi/comm/errhandler.h"
#include "mpi/runtime/fortran_handle.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/text.h"

static void report(const char *call, int class, const char *reason)
{
    struct line line = {.length = 0};
    line_add(&line, "rank ");
    line_add_number(&line, (long)chq.rank);
    line_add(&line, ": ");
    line_add(&line, call);
    line_add(&line, ": ");
    line_add(&line, reason ? reason : chq_error_text(class));
    if (reason) {
        line_add(&line, " (");
        line_add(&line, chq_error_text(class));
        line_add(&line, ")");
    }
    line_add(&line, "\n");
    chq_platform_write(2, line.text, line.length);
}

int chq_fail(struct communicator *comm, const char *call, int class, const char *reason)
{
    if (class == MPI_SUCCESS)
        return MPI_SUCCESS;
    if (!reason)
        reason = chq.reason;
    chq.reason = NULL;
    /* Errors that belong to no communicator go where programs set their handler. */
    if (!comm || !comm_is_valid(comm))
        comm = &chq_world;
    struct errhandler *handler = chq.initialized && comm_is_valid(comm) ? comm->errhandler : &chq_errors_are_fatal;
    if (handler == &chq_errors_return)
        return class;
    if (handler->function) {
        MPI_Comm handle = comm_handle(comm);
        if (handler->fortran)
            handle = fortran_in_place(handle);
        int code = class;
        handler->function(&handle, &code);
        return class;
    }
    report(call, class, reason);
    /* The job's exit status must not be 0, and says which class it was where that fits. */
    chq_platform_exit(class < 128 ? class : 1);
}
