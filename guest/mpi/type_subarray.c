/* MPI_Type_create_subarray (MPI 5.0, section 5.1.3): strided blocks, one level a dimension, inside
 * bounds of the whole array. */
#include "mpi/error.h"
#include "mpi/type.h"

/* Wraps *type by the constructor that `made` came from and forgets the inner one. */
static void replace(MPI_Datatype *type, MPI_Datatype made)
{
    PMPI_Type_free(type);
    *type = made;
}

static int check(int ndims, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype oldtype)
{
    if (ndims < 1)
        return chq_reason(MPI_ERR_DIMS, "no dimension");
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return chq_reason(MPI_ERR_ARG, "unknown order");
    for (int i = 0; i < ndims; i++)
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] + subsizes[i] > sizes[i])
            return chq_reason(MPI_ERR_ARG, "the part is not inside the array");
    return type_is_valid(type_of(oldtype)) ? MPI_SUCCESS : chq_reason(MPI_ERR_TYPE, "not a datatype");
}

int PMPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    int error = check(ndims, sizes, subsizes, starts, order, oldtype);
    if (error)
        return chq_fail(NULL, "MPI_Type_create_subarray", error, NULL);
    MPI_Aint extent = type_of(oldtype)->extent; /* Of one step in the dimension at hand. */
    MPI_Aint offset = 0;
    MPI_Datatype part = MPI_DATATYPE_NULL, made;
    for (int i = 0; i < ndims; i++) {
        int dimension = order == MPI_ORDER_C ? ndims - 1 - i : i;
        if (i == 0) {
            PMPI_Type_contiguous(subsizes[dimension], oldtype, &part);
        } else {
            PMPI_Type_create_hvector(subsizes[dimension], 1, extent, part, &made);
            replace(&part, made);
        }
        offset += starts[dimension] * extent;
        extent *= sizes[dimension];
    }
    PMPI_Type_create_hindexed_block(1, 1, &offset, part, &made);
    replace(&part, made);
    PMPI_Type_create_resized(part, 0, extent, newtype);
    PMPI_Type_free(&part);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_subarray);
