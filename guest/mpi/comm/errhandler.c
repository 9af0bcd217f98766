/* Error handlers of communicators (MPI 5.0, section 9.3). */
#include "mpi/comm/errhandler.h"

#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

struct errhandler chq_errors_are_fatal = {ERRHANDLER_VALID, 1, NULL, false};
struct errhandler chq_errors_abort = {ERRHANDLER_VALID, 1, NULL, false};
struct errhandler chq_errors_return = {ERRHANDLER_VALID, 1, NULL, false};

static struct errhandler *handler_of(MPI_Errhandler handle)
{
    if (handle == MPI_ERRORS_ARE_FATAL)
        return &chq_errors_are_fatal;
    if (handle == MPI_ERRORS_ABORT)
        return &chq_errors_abort;
    if (handle == MPI_ERRORS_RETURN)
        return &chq_errors_return;
    struct errhandler *handler = (struct errhandler *)handle;
    return (uintptr_t)handle >= 0x1000 && handler->valid == ERRHANDLER_VALID ? handler : NULL;
}

static MPI_Errhandler handle_of(struct errhandler *handler)
{
    return handler == &chq_errors_are_fatal ? MPI_ERRORS_ARE_FATAL
           : handler == &chq_errors_abort   ? MPI_ERRORS_ABORT
           : handler == &chq_errors_return  ? MPI_ERRORS_RETURN
                                            : (MPI_Errhandler)handler;
}

/* Of one that has been checked. */
static int is_predefined(const struct errhandler *handler)
{
    return !handler->function; // NOLINT(clang-analyzer-core.NullDereference)
}

void chq_errhandler_retain(struct errhandler *handler)
{
    if (!is_predefined(handler))
        handler->references++;
}

void chq_errhandler_release(struct errhandler *handler)
{
    if (is_predefined(handler) || --handler->references > 0)
        return;
    handler->valid = 0;
    free(handler); // NOLINT(clang-analyzer-unix.Malloc): no predefined one, as is_predefined says
}

int PMPI_Comm_create_errhandler(MPI_Comm_errhandler_function *function, MPI_Errhandler *errhandler)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!function)
        return chq_fail(NULL, "MPI_Comm_create_errhandler", MPI_ERR_ARG, "null function");
    struct errhandler *handler = chq_malloc(sizeof *handler);
    *handler = (struct errhandler){ERRHANDLER_VALID, 1, function, false};
    *errhandler = (MPI_Errhandler)handler;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_create_errhandler);

int PMPI_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler errhandler)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    struct errhandler *handler = handler_of(errhandler);
    int error = chq_comm_check(c);
    if (!error && !handler)
        error = chq_reason(MPI_ERR_ERRHANDLER, "not an error handler");
    if (error)
        return chq_fail(c, "MPI_Comm_set_errhandler", error, NULL);
    chq_errhandler_retain(handler);
    chq_errhandler_release(c->errhandler);
    c->errhandler = handler;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_set_errhandler);

int PMPI_Comm_get_errhandler(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_get_errhandler", error, NULL);
    chq_errhandler_retain(c->errhandler);
    *errhandler = handle_of(c->errhandler);
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_get_errhandler);

int PMPI_Comm_call_errhandler(MPI_Comm comm, int errorcode)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (error)
        return chq_fail(c, "MPI_Comm_call_errhandler", error, NULL);
    chq_fail(c, "MPI_Comm_call_errhandler", errorcode, "called by the program");
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_call_errhandler);

int PMPI_Errhandler_free(MPI_Errhandler *errhandler)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct errhandler *handler = handler_of(*errhandler);
    if (!handler)
        return chq_fail(NULL, "MPI_Errhandler_free", MPI_ERR_ERRHANDLER, "not an error handler");
    chq_errhandler_release(handler);
    *errhandler = MPI_ERRHANDLER_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Errhandler_free);

int PMPI_Errhandler_create(MPI_Handler_function *function, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_create_errhandler(function, errhandler);
}
MPI_ALIAS(Errhandler_create);

int PMPI_Errhandler_set(MPI_Comm comm, MPI_Errhandler errhandler) { return PMPI_Comm_set_errhandler(comm, errhandler); }
MPI_ALIAS(Errhandler_set);

int PMPI_Errhandler_get(MPI_Comm comm, MPI_Errhandler *errhandler)
{
    return PMPI_Comm_get_errhandler(comm, errhandler);
}
MPI_ALIAS(Errhandler_get);
