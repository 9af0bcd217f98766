/* Fortran procedures that the library calls: operators and error handlers. C's call passes all
 * arguments by address already, as Fortran expects; only the handle behind its address must be an
 * INTEGER, so the object is told whose procedure it has. */
#include "fortran/fortran.h"
#include "mpi/comm/errhandler.h"
#include "mpi/op/op.h"

void pmpi_op_create_(MPI_User_function *user_fn, MPI_Fint *commute, MPI_Fint *op, MPI_Fint *ierror)
{
    MPI_Op made = MPI_OP_NULL;
    *ierror = PMPI_Op_create(user_fn, *commute, &made);
    if (!*ierror)
        op_of(made)->fortran = true;
    *op = fortran_from_c(made);
}
FORTRAN_ALIAS(op_create);

void pmpi_comm_create_errhandler_(MPI_Comm_errhandler_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    MPI_Errhandler made = MPI_ERRHANDLER_NULL;
    *ierror = PMPI_Comm_create_errhandler(function, &made);
    if (!*ierror)
        ((struct errhandler *)made)->fortran = true;
    *errhandler = fortran_from_c(made);
}
FORTRAN_ALIAS(comm_create_errhandler);

void pmpi_errhandler_create_(MPI_Comm_errhandler_function *function, MPI_Fint *errhandler, MPI_Fint *ierror)
{
    pmpi_comm_create_errhandler_(function, errhandler, ierror);
}
FORTRAN_ALIAS(errhandler_create);
