/* Predefined datatypes by what they must be able to hold: MPI_Type_match_size, the types of Fortran's
 * KIND parameters, pairs of value and index (MPI 5.0, sections 19.1.9 and 5.1.1). */
#include "mpi/comm/raise.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

int PMPI_Type_match_size(int typeclass, int size, MPI_Datatype *datatype)
{
    static const MPI_Datatype classes[][5] = {
        {MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8, MPI_INTEGER16},
        {MPI_REAL4, MPI_REAL8, MPI_REAL16},
        {MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32},
    };
    int class = typeclass == MPI_TYPECLASS_INTEGER   ? 0
                : typeclass == MPI_TYPECLASS_REAL    ? 1
                : typeclass == MPI_TYPECLASS_COMPLEX ? 2
                                                     : -1;
    if (class < 0)
        return chq_fail(NULL, "MPI_Type_match_size", MPI_ERR_ARG, "not a class of types");
    for (int i = 0; i < 5 && classes[class][i]; i++)
        if (type_of(classes[class][i])->size == (size_t)size) {
            *datatype = classes[class][i];
            return MPI_SUCCESS;
        }
    return chq_fail(NULL, "MPI_Type_match_size", MPI_ERR_ARG, "no type has that size");
}
MPI_ALIAS(Type_match_size);

/* A type made for precision and range, once for all requests; it is never freed. */
struct kind {
    struct kind *next;
    int combiner, precision, range;
    MPI_Datatype type;
};
static struct kind *kinds;

static int kind_type(const char *call, int combiner, int precision, int range, MPI_Datatype like, MPI_Datatype *newtype)
{
    if (like == MPI_DATATYPE_NULL)
        return chq_fail(NULL, call, MPI_ERR_ARG, "no KIND has that precision and range");
    struct kind *kind = kinds;
    while (kind && !(kind->combiner == combiner && kind->precision == precision && kind->range == range))
        kind = kind->next;
    if (!kind) {
        bool integer = combiner == MPI_COMBINER_F90_INTEGER;
        struct type_shape *shape = chq_shape_new(combiner, integer ? 1 : 2, 0, 0, 0);
        shape->integers[0] = integer ? range : precision;
        if (!integer)
            shape->integers[1] = range;
        struct datatype *type = pool_take(&chq_type_pool);
        *type = *type_of(like);
        type->shape = shape;
        type->name = NULL;
        type->attributes = NULL;
        type->predefined_name = "";
        kind = chq_malloc(sizeof *kind);
        *kind = (struct kind){kinds, combiner, precision, range, (MPI_Datatype)type};
        kinds = kind;
    }
    *newtype = kind->type;
    return MPI_SUCCESS;
}

/* Index of the least of gfortran's real KINDs (4, 8, 16) that does; -1: none. */
static int real_kind(int precision, int range)
{
    static const struct {
        int precision, range;
    } real[] = {{6, 37}, {15, 307}, {33, 4931}};
    if (precision == MPI_UNDEFINED && range == MPI_UNDEFINED)
        return -1;
    for (int i = 0; i < 3; i++)
        if (precision <= real[i].precision && range <= real[i].range)
            return i;
    return -1;
}

int PMPI_Type_create_f90_real(int p, int r, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    static const MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_REAL4, MPI_REAL8, MPI_REAL16};
    return kind_type("MPI_Type_create_f90_real", MPI_COMBINER_F90_REAL, p, r, types[1 + real_kind(p, r)], newtype);
}
MPI_ALIAS(Type_create_f90_real);

int PMPI_Type_create_f90_complex(int p, int r, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    static const MPI_Datatype types[] = {MPI_DATATYPE_NULL, MPI_COMPLEX8, MPI_COMPLEX16, MPI_COMPLEX32};
    return kind_type("MPI_Type_create_f90_complex", MPI_COMBINER_F90_COMPLEX, p, r, types[1 + real_kind(p, r)],
                     newtype);
}
MPI_ALIAS(Type_create_f90_complex);

int PMPI_Type_create_f90_integer(int r, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    MPI_Datatype like = r <= 2    ? MPI_INTEGER1
                        : r <= 4  ? MPI_INTEGER2
                        : r <= 9  ? MPI_INTEGER4
                        : r <= 18 ? MPI_INTEGER8
                        : r <= 38 ? MPI_INTEGER16
                                  : MPI_DATATYPE_NULL;
    return kind_type("MPI_Type_create_f90_integer", MPI_COMBINER_F90_INTEGER, MPI_UNDEFINED, r, like, newtype);
}
MPI_ALIAS(Type_create_f90_integer);

int PMPI_Type_get_value_index(MPI_Datatype value_type, MPI_Datatype index_type, MPI_Datatype *pair_type)
{
    LOCAL_CALL();
    static const MPI_Datatype pairs[][3] = {
        {MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},      {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
        {MPI_LONG, MPI_INT, MPI_LONG_INT},        {MPI_INT, MPI_INT, MPI_2INT},
        {MPI_SHORT, MPI_INT, MPI_SHORT_INT},      {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
        {MPI_REAL, MPI_REAL, MPI_2REAL},          {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
        {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
    };
    if (!type_is_valid(type_of(value_type)) || !type_is_valid(type_of(index_type)))
        return chq_fail(NULL, "MPI_Type_get_value_index", MPI_ERR_TYPE, "not a datatype");
    *pair_type = MPI_DATATYPE_NULL;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][0] == value_type && pairs[i][1] == index_type)
            *pair_type = pairs[i][2];
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_get_value_index);
