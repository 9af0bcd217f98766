/* Names that MPI-3.0 removed or MPI-2.0 deprecated and that programs still use (MPI 5.0,
 * chapters 16 and 17). mpi.h includes this file; it is of no use alone. The standard ABI gives
 * MPI_LB, MPI_UB and the removed combiners no values: those here are ours.
 */
#ifndef CHASQUI_MPI_REMOVED_H
#define CHASQUI_MPI_REMOVED_H

/* Markers of bounds in MPI_Type_struct; free places of the ABI's datatype range. */
#define MPI_LB ((MPI_Datatype)0x204)
#define MPI_UB ((MPI_Datatype)0x205)

enum { MPI_COMBINER_HVECTOR_INTEGER = 181, MPI_COMBINER_HINDEXED_INTEGER = 182, MPI_COMBINER_STRUCT_INTEGER = 183 };

typedef int MPI_Copy_function(MPI_Comm, int keyval, void *extra_state, void *value_in, void *value_out, int *flag);
typedef int MPI_Delete_function(MPI_Comm, int keyval, void *value, void *extra_state);
typedef MPI_Comm_errhandler_function MPI_Handler_function;

#define MPI_NULL_COPY_FN ((MPI_Copy_function *)0)
#define MPI_DUP_FN ((MPI_Copy_function *)1)
#define MPI_NULL_DELETE_FN ((MPI_Delete_function *)0)

CHASQUI_MPI(int, Address, (void *location, MPI_Aint *address));
CHASQUI_MPI(int, Type_hvector, (int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype));
CHASQUI_MPI(int, Type_hindexed, (int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype oldtype, MPI_Datatype *newtype));
CHASQUI_MPI(int, Type_struct, (int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype types[], MPI_Datatype *newtype));
CHASQUI_MPI(int, Type_extent, (MPI_Datatype datatype, MPI_Aint *extent));
CHASQUI_MPI(int, Type_lb, (MPI_Datatype datatype, MPI_Aint *displacement));
CHASQUI_MPI(int, Type_ub, (MPI_Datatype datatype, MPI_Aint *displacement));
CHASQUI_MPI(int, Errhandler_create, (MPI_Handler_function *function, MPI_Errhandler *errhandler));
CHASQUI_MPI(int, Errhandler_set, (MPI_Comm comm, MPI_Errhandler errhandler));
CHASQUI_MPI(int, Errhandler_get, (MPI_Comm comm, MPI_Errhandler *errhandler));
CHASQUI_MPI(int, Keyval_create, (MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state));
CHASQUI_MPI(int, Keyval_free, (int *keyval));
CHASQUI_MPI(int, Attr_put, (MPI_Comm comm, int keyval, void *attribute_val));
CHASQUI_MPI(int, Attr_get, (MPI_Comm comm, int keyval, void *attribute_val, int *flag));
CHASQUI_MPI(int, Attr_delete, (MPI_Comm comm, int keyval));

#endif
