/* Handles and statuses between C and Fortran (MPI 5.0, section 19.3.4), and handles as integers,
 * which are the same numbers in this ABI. No function here raises an error: a number that names
 * nothing becomes a null pointer, which every other function refuses. */
#include "mpi/runtime/fortran_handle.h"
#include "mpi/runtime/platform.h"

#define CONVERT(kind, handle_type)                                                               \
    MPI_Fint PMPI_##kind##_c2f(handle_type handle) { return fortran_from_c((void *)handle); }    \
    MPI_ALIAS(kind##_c2f);                                                                       \
    handle_type PMPI_##kind##_f2c(MPI_Fint number) { return (handle_type)fortran_to_c(number); } \
    MPI_ALIAS(kind##_f2c);                                                                       \
    int PMPI_##kind##_toint(handle_type handle) { return fortran_from_c((void *)handle); }       \
    MPI_ALIAS(kind##_toint);                                                                     \
    handle_type PMPI_##kind##_fromint(int number) { return (handle_type)fortran_to_c(number); }  \
    MPI_ALIAS(kind##_fromint)

CONVERT(Comm, MPI_Comm);
CONVERT(Errhandler, MPI_Errhandler);
CONVERT(Group, MPI_Group);
CONVERT(Info, MPI_Info);
CONVERT(Message, MPI_Message);
CONVERT(Op, MPI_Op);
CONVERT(Request, MPI_Request);
CONVERT(Type, MPI_Datatype);

/* A status is the same eight integers in both languages. */
_Static_assert(sizeof(MPI_Status) == sizeof(MPI_Fint[MPI_F_STATUS_SIZE]), "MPI_STATUS_SIZE of mpif.h");

int PMPI_Status_c2f(const MPI_Status *c_status, MPI_Fint *f_status)
{
    memcpy(f_status, c_status, sizeof *c_status);
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_c2f);

int PMPI_Status_f2c(const MPI_Fint *f_status, MPI_Status *c_status)
{
    memcpy(c_status, f_status, sizeof *c_status);
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_f2c);
