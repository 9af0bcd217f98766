/* Attributes of datatypes (MPI 5.0, section 7.7.4). */
#include "mpi/comm/attribute.h"
#include "mpi/comm/raise.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/thread.h"

static int check(const struct datatype *type)
{
    return type_is_valid(type) ? MPI_SUCCESS : chq_reason(MPI_ERR_TYPE, "not a datatype");
}

int PMPI_Type_create_keyval(MPI_Type_copy_attr_function *copy_fn, MPI_Type_delete_attr_function *delete_fn, int *keyval,
                            void *extra_state)
{
    LOCAL_CALL();
    *keyval = chq_keyval_new((struct keyval){
        .kind = ATTRIBUTE_TYPE, .copy.type = copy_fn, .delete.type = delete_fn, .extra_state = extra_state});
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_keyval);

int PMPI_Type_free_keyval(int *keyval)
{
    LOCAL_CALL();
    return chq_fail(NULL, "MPI_Type_free_keyval", chq_keyval_free(ATTRIBUTE_TYPE, keyval), NULL);
}
MPI_ALIAS(Type_free_keyval);

int PMPI_Type_set_attr(MPI_Datatype datatype, int keyval, void *attribute_val)
{
    LOCAL_CALL();
    struct datatype *type = type_of(datatype);
    int error = check(type);
    if (!error)
        error = chq_attribute_set(ATTRIBUTE_TYPE, &type->attributes, datatype, keyval, attribute_val);
    return chq_fail(NULL, "MPI_Type_set_attr", error, NULL);
}
MPI_ALIAS(Type_set_attr);

int PMPI_Type_get_attr(MPI_Datatype datatype, int keyval, void *attribute_val, int *flag)
{
    LOCAL_CALL();
    struct datatype *type = type_of(datatype);
    int error = check(type);
    if (!error)
        error = chq_attribute_get(ATTRIBUTE_TYPE, type->attributes, keyval, attribute_val, flag);
    return chq_fail(NULL, "MPI_Type_get_attr", error, NULL);
}
MPI_ALIAS(Type_get_attr);

int PMPI_Type_delete_attr(MPI_Datatype datatype, int keyval)
{
    LOCAL_CALL();
    struct datatype *type = type_of(datatype);
    int error = check(type);
    if (!error)
        error = chq_attribute_delete(ATTRIBUTE_TYPE, &type->attributes, datatype, keyval);
    return chq_fail(NULL, "MPI_Type_delete_attr", error, NULL);
}
MPI_ALIAS(Type_delete_attr);
