/* What can be asked of a datatype, and its life (MPI 5.0, sections 5.1.5 to 5.1.13). */
#include <stdint.h>

#include "mpi/comm/attribute.h"
#include "mpi/comm/raise.h"
#include "mpi/datatype/plan.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/text.h"
#include "mpi/runtime/thread.h"

/* The valid type, or null with the error raised. */
static struct datatype *checked(const char *call, MPI_Datatype handle, int *error)
{
    struct datatype *type = type_of(handle);
    *error = type_is_valid(type) ? MPI_SUCCESS : chq_fail(NULL, call, MPI_ERR_TYPE, "not a datatype");
    return type;
}

int PMPI_Type_commit(MPI_Datatype *datatype)
{
    LOCAL_CALL();
    int error;
    struct datatype *type = checked("MPI_Type_commit", *datatype, &error);
    if (!error && (type->size == TYPE_HUGE || type->far || type->true_far))
        return chq_fail(NULL, "MPI_Type_commit", MPI_ERR_TYPE, "its size or an end of it fits no address");
    if (!error && !(type->state & TYPE_COMMITTED)) {
        chq_plan_make(type);
        type->state |= TYPE_COMMITTED;
    }
    return error;
}
MPI_ALIAS(Type_commit);

int PMPI_Type_free(MPI_Datatype *datatype)
{
    LOCAL_CALL();
    int error;
    struct datatype *type = checked("MPI_Type_free", *datatype, &error);
    if (error)
        return error;
    if (type_is_predefined(type) || type->predefined_name)
        return chq_fail(NULL, "MPI_Type_free", MPI_ERR_TYPE, "a predefined datatype can't be freed");
    /* While it is the last reference, an attribute's function may still forbid it. */
    if (type->references == 1)
        error = chq_attributes_delete(&type->attributes, *datatype);
    if (error)
        return chq_fail(NULL, "MPI_Type_free", error, NULL);
    chq_type_release(type);
    *datatype = MPI_DATATYPE_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_free);

int PMPI_Type_size(MPI_Datatype datatype, int *size)
{
    int error;
    struct datatype *type = checked("MPI_Type_size", datatype, &error);
    if (!error)
        *size = type->size > INT32_MAX ? MPI_UNDEFINED : (int)type->size;
    return error;
}
MPI_ALIAS(Type_size);

int PMPI_Type_size_x(MPI_Datatype datatype, MPI_Count *size)
{
    int error;
    struct datatype *type = checked("MPI_Type_size_x", datatype, &error);
    if (!error)
        *size = type->size == TYPE_HUGE ? MPI_UNDEFINED : (MPI_Count)type->size;
    return error;
}
MPI_ALIAS(Type_size_x);

int PMPI_Type_get_extent(MPI_Datatype datatype, MPI_Aint *lb, MPI_Aint *extent)
{
    int error;
    struct datatype *type = checked("MPI_Type_get_extent", datatype, &error);
    if (!error) {
        *lb = type->far ? MPI_UNDEFINED : type->lb;
        *extent = type->far ? MPI_UNDEFINED : type->extent;
    }
    return error;
}
MPI_ALIAS(Type_get_extent);

int PMPI_Type_get_extent_x(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    MPI_Aint low = 0, length = 0;
    int error = PMPI_Type_get_extent(datatype, &low, &length);
    *lb = low;
    *extent = length;
    return error;
}
MPI_ALIAS(Type_get_extent_x);

int PMPI_Type_get_true_extent(MPI_Datatype datatype, MPI_Aint *true_lb, MPI_Aint *true_extent)
{
    int error;
    struct datatype *type = checked("MPI_Type_get_true_extent", datatype, &error);
    if (!error) {
        *true_lb = type->true_far ? MPI_UNDEFINED : type->true_lb;
        *true_extent = type->true_far ? MPI_UNDEFINED : type->true_extent;
    }
    return error;
}
MPI_ALIAS(Type_get_true_extent);

int PMPI_Type_get_true_extent_x(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    MPI_Aint low = 0, length = 0;
    int error = PMPI_Type_get_true_extent(datatype, &low, &length);
    *true_lb = low;
    *true_extent = length;
    return error;
}
MPI_ALIAS(Type_get_true_extent_x);

int PMPI_Type_get_envelope(MPI_Datatype datatype, int *num_integers, int *num_addresses, int *num_datatypes,
                           int *combiner)
{
    int error;
    struct datatype *type = checked("MPI_Type_get_envelope", datatype, &error);
    if (error)
        return error;
    const struct type_shape *shape = type->shape;
    *num_integers = shape ? shape->integer_count : 0;
    *num_addresses = shape ? shape->address_count : 0;
    *num_datatypes = shape ? shape->type_count : 0;
    *combiner = shape ? shape->combiner : MPI_COMBINER_NAMED;
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_get_envelope);

int PMPI_Type_get_contents(MPI_Datatype datatype, int max_integers, int max_addresses, int max_datatypes,
                           int integers[], MPI_Aint addresses[], MPI_Datatype datatypes[])
{
    LOCAL_CALL();
    int error;
    struct datatype *type = checked("MPI_Type_get_contents", datatype, &error);
    if (error)
        return error;
    const struct type_shape *shape = type->shape;
    if (!shape)
        return chq_fail(NULL, "MPI_Type_get_contents", MPI_ERR_TYPE, "a predefined datatype has no contents");
    if (max_integers < shape->integer_count || max_addresses < shape->address_count ||
        max_datatypes < shape->type_count)
        return chq_fail(NULL, "MPI_Type_get_contents", MPI_ERR_ARG, "not enough room");
    for (int i = 0; i < shape->integer_count; i++)
        integers[i] = shape->integers[i];
    for (int i = 0; i < shape->address_count; i++)
        addresses[i] = shape->addresses[i];
    for (int i = 0; i < shape->type_count; i++) {
        datatypes[i] = shape->types[i];
        type_retain(type_of(datatypes[i]));
    }
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_get_contents);

int PMPI_Type_set_name(MPI_Datatype datatype, const char *type_name)
{
    LOCAL_CALL();
    int error;
    struct datatype *type = checked("MPI_Type_set_name", datatype, &error);
    if (error)
        return error;
    if (!type->name)
        type->name = chq_malloc(MPI_MAX_OBJECT_NAME);
    text_copy(type->name, type_name, MPI_MAX_OBJECT_NAME);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_set_name);

int PMPI_Type_get_name(MPI_Datatype datatype, char *type_name, int *resultlen)
{
    LOCAL_CALL();
    const char *name = "MPI_DATATYPE_NULL";
    if (datatype != MPI_DATATYPE_NULL) {
        int error;
        struct datatype *type = checked("MPI_Type_get_name", datatype, &error);
        if (error)
            return error;
        name = type->name ? type->name : type->predefined_name ? type->predefined_name : "";
    }
    *resultlen = (int)text_copy(type_name, name, MPI_MAX_OBJECT_NAME);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_get_name);

int PMPI_Get_address(const void *location, MPI_Aint *address)
{
    *address = (MPI_Aint)location;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_address);

MPI_Aint PMPI_Aint_add(MPI_Aint base, MPI_Aint disp) { return base + disp; }
MPI_ALIAS(Aint_add);

MPI_Aint PMPI_Aint_diff(MPI_Aint addr1, MPI_Aint addr2) { return addr1 - addr2; }
MPI_ALIAS(Aint_diff);

int PMPI_Address(void *location, MPI_Aint *address) { return PMPI_Get_address(location, address); }
MPI_ALIAS(Address);

int PMPI_Type_extent(MPI_Datatype datatype, MPI_Aint *extent)
{
    MPI_Aint lb;
    return PMPI_Type_get_extent(datatype, &lb, extent);
}
MPI_ALIAS(Type_extent);

int PMPI_Type_lb(MPI_Datatype datatype, MPI_Aint *displacement)
{
    MPI_Aint extent;
    return PMPI_Type_get_extent(datatype, displacement, &extent);
}
MPI_ALIAS(Type_lb);

int PMPI_Type_ub(MPI_Datatype datatype, MPI_Aint *displacement)
{
    int error;
    struct datatype *type = checked("MPI_Type_ub", datatype, &error);
    if (!error && (type->far || __builtin_add_overflow(type->lb, type->extent, displacement)))
        *displacement = MPI_UNDEFINED;
    return error;
}
MPI_ALIAS(Type_ub);
