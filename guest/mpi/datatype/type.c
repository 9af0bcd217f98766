/* Datatypes: the predefined ones, and what holds for all. */
#include "mpi/datatype/type.h"

#include <stddef.h>

#include "mpi/comm/attribute.h"
#include "mpi/datatype/plan.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

/* Fortran: default INTEGER, REAL and LOGICAL are 4 bytes, DOUBLE PRECISION 8, as in gfortran. */
#define DENSE(handle, bytes, type_class, text)    \
    [(handle) - TYPE_HANDLE_FIRST] = {            \
        .state = TYPE_DENSE_COMMITTED,            \
        .references = 1,                          \
        .size = (bytes),                          \
        .extent = (bytes),                        \
        .true_extent = (bytes),                   \
        .elements = 1,                            \
        .class = (type_class),                    \
        .alignment = (bytes) > 16 ? 16 : (bytes), \
        .predefined_name = (text),                \
    }
/* A complex number is aligned as its parts are. */
#define COMPLEX(handle, bytes, type_class, text) \
    [(handle) - TYPE_HANDLE_FIRST] = {           \
        .state = TYPE_DENSE_COMMITTED,           \
        .references = 1,                         \
        .size = (bytes),                         \
        .extent = (bytes),                       \
        .true_extent = (bytes),                  \
        .elements = 1,                           \
        .class = (type_class),                   \
        .alignment = (bytes) / 2,                \
        .predefined_name = (text),               \
    }
/* Value and index as they lie in a C structure; pack.c knows the gap of the sparse ones. */
#define PAIR(handle, value_type, index_type, type_class, text)                                                  \
    [(handle) - TYPE_HANDLE_FIRST] = {                                                                          \
        .state = sizeof(struct {                                                                                \
                     value_type v;                                                                              \
                     index_type i;                                                                              \
                 }) == sizeof(value_type) + sizeof(index_type)                                                  \
                     ? TYPE_DENSE_COMMITTED                                                                     \
                 : offsetof(                                                                                    \
                       struct {                                                                                 \
                           value_type v;                                                                        \
                           index_type i;                                                                        \
                       },                                                                                       \
                       i) == sizeof(value_type)                                                                 \
                     ? (TYPE_VALID | TYPE_COMMITTED | TYPE_RUN)                                                 \
                     : (TYPE_VALID | TYPE_COMMITTED),                                                           \
        .references = 1,                                                                                        \
        .size = sizeof(value_type) + sizeof(index_type),                                                        \
        .extent = sizeof(struct {                                                                               \
            value_type v;                                                                                       \
            index_type i;                                                                                       \
        }),                                                                                                     \
        .true_extent = offsetof(                                                                                \
                           struct {                                                                             \
                               value_type v;                                                                    \
                               index_type i;                                                                    \
                           },                                                                                   \
                           i) +                                                                                 \
                       sizeof(index_type),                                                                      \
        .elements = 2,                                                                                          \
        .class = (type_class),                                                                                  \
        .alignment = _Alignof(value_type) > _Alignof(index_type) ? _Alignof(value_type) : _Alignof(index_type), \
        .predefined_name = (text),                                                                              \
    }
/* Markers of bounds: no data. */
#define MARKER(handle, lower, upper, text)               \
    [(handle) - TYPE_HANDLE_FIRST] = {                   \
        .state = TYPE_VALID | TYPE_COMMITTED | TYPE_RUN, \
        .references = 1,                                 \
        .explicit_lb = (lower),                          \
        .explicit_ub = (upper),                          \
        .alignment = 1,                                  \
        .predefined_name = (text),                       \
    }

#define HANDLE(value) (0x##value)

struct datatype chq_types[TYPE_HANDLES] = {
    DENSE(HANDLE(201), 8, CLASS_INT64, "MPI_AINT"),
    DENSE(HANDLE(202), 8, CLASS_INT64, "MPI_COUNT"),
    DENSE(HANDLE(203), 8, CLASS_INT64, "MPI_OFFSET"),
    MARKER(HANDLE(204), true, false, "MPI_LB"),
    MARKER(HANDLE(205), false, true, "MPI_UB"),
    DENSE(HANDLE(207), 1, CLASS_BYTE, "MPI_PACKED"),
    DENSE(HANDLE(208), 2, CLASS_INT16, "MPI_SHORT"),
    DENSE(HANDLE(209), 4, CLASS_INT32, "MPI_INT"),
    DENSE(HANDLE(20a), 8, CLASS_INT64, "MPI_LONG"),
    DENSE(HANDLE(20b), 8, CLASS_INT64, "MPI_LONG_LONG_INT"),
    DENSE(HANDLE(20c), 2, CLASS_UINT16, "MPI_UNSIGNED_SHORT"),
    DENSE(HANDLE(20d), 4, CLASS_UINT32, "MPI_UNSIGNED"),
    DENSE(HANDLE(20e), 8, CLASS_UINT64, "MPI_UNSIGNED_LONG"),
    DENSE(HANDLE(20f), 8, CLASS_UINT64, "MPI_UNSIGNED_LONG_LONG"),
    DENSE(HANDLE(210), 4, CLASS_FLOAT, "MPI_FLOAT"),
    COMPLEX(HANDLE(212), 8, CLASS_COMPLEX_FLOAT, "MPI_C_COMPLEX"),
    COMPLEX(HANDLE(213), 8, CLASS_COMPLEX_FLOAT, "MPI_CXX_FLOAT_COMPLEX"),
    DENSE(HANDLE(214), 8, CLASS_DOUBLE, "MPI_DOUBLE"),
    COMPLEX(HANDLE(216), 16, CLASS_COMPLEX_DOUBLE, "MPI_C_DOUBLE_COMPLEX"),
    COMPLEX(HANDLE(217), 16, CLASS_COMPLEX_DOUBLE, "MPI_CXX_DOUBLE_COMPLEX"),
    DENSE(HANDLE(218), 4, CLASS_LOGICAL32, "MPI_LOGICAL"),
    DENSE(HANDLE(219), 4, CLASS_INT32, "MPI_INTEGER"),
    DENSE(HANDLE(21a), 4, CLASS_FLOAT, "MPI_REAL"),
    COMPLEX(HANDLE(21b), 8, CLASS_COMPLEX_FLOAT, "MPI_COMPLEX"),
    DENSE(HANDLE(21c), 8, CLASS_DOUBLE, "MPI_DOUBLE_PRECISION"),
    COMPLEX(HANDLE(21d), 16, CLASS_COMPLEX_DOUBLE, "MPI_DOUBLE_COMPLEX"),
    DENSE(HANDLE(21e), 1, CLASS_UINT8, "MPI_CHARACTER"),
    DENSE(HANDLE(220), sizeof(long double), CLASS_LONG_DOUBLE, "MPI_LONG_DOUBLE"),
    COMPLEX(HANDLE(224), 2 * sizeof(long double), CLASS_COMPLEX_LONG_DOUBLE, "MPI_C_LONG_DOUBLE_COMPLEX"),
    COMPLEX(HANDLE(225), 2 * sizeof(long double), CLASS_COMPLEX_LONG_DOUBLE, "MPI_CXX_LONG_DOUBLE_COMPLEX"),
    PAIR(HANDLE(228), float, int, CLASS_PAIR_FLOAT_INT, "MPI_FLOAT_INT"),
    PAIR(HANDLE(229), double, int, CLASS_PAIR_DOUBLE_INT, "MPI_DOUBLE_INT"),
    PAIR(HANDLE(22a), long, int, CLASS_PAIR_LONG_INT, "MPI_LONG_INT"),
    PAIR(HANDLE(22b), int, int, CLASS_PAIR_INT_INT, "MPI_2INT"),
    PAIR(HANDLE(22c), short, int, CLASS_PAIR_SHORT_INT, "MPI_SHORT_INT"),
    PAIR(HANDLE(22d), long double, int, CLASS_PAIR_LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT"),
    PAIR(HANDLE(230), float, float, CLASS_PAIR_FLOAT_FLOAT, "MPI_2REAL"),
    PAIR(HANDLE(231), double, double, CLASS_PAIR_DOUBLE_DOUBLE, "MPI_2DOUBLE_PRECISION"),
    PAIR(HANDLE(232), int, int, CLASS_PAIR_INT_INT, "MPI_2INTEGER"),
    DENSE(HANDLE(238), 1, CLASS_LOGICAL8, "MPI_C_BOOL"),
    DENSE(HANDLE(239), 1, CLASS_LOGICAL8, "MPI_CXX_BOOL"),
    DENSE(HANDLE(23c), 4, CLASS_INT32, "MPI_WCHAR"),
    DENSE(HANDLE(240), 1, CLASS_INT8, "MPI_INT8_T"),
    DENSE(HANDLE(241), 1, CLASS_UINT8, "MPI_UINT8_T"),
    DENSE(HANDLE(243), 1, CLASS_UINT8, "MPI_CHAR"), /* char is unsigned on RISC-V. */
    DENSE(HANDLE(244), 1, CLASS_INT8, "MPI_SIGNED_CHAR"),
    DENSE(HANDLE(245), 1, CLASS_UINT8, "MPI_UNSIGNED_CHAR"),
    DENSE(HANDLE(247), 1, CLASS_BYTE, "MPI_BYTE"),
    DENSE(HANDLE(248), 2, CLASS_INT16, "MPI_INT16_T"),
    DENSE(HANDLE(249), 2, CLASS_UINT16, "MPI_UINT16_T"),
    DENSE(HANDLE(250), 4, CLASS_INT32, "MPI_INT32_T"),
    DENSE(HANDLE(251), 4, CLASS_UINT32, "MPI_UINT32_T"),
    DENSE(HANDLE(258), 8, CLASS_INT64, "MPI_INT64_T"),
    DENSE(HANDLE(259), 8, CLASS_UINT64, "MPI_UINT64_T"),
    DENSE(HANDLE(2c0), 1, CLASS_LOGICAL8, "MPI_LOGICAL1"),
    DENSE(HANDLE(2c1), 1, CLASS_INT8, "MPI_INTEGER1"),
    DENSE(HANDLE(2c8), 2, CLASS_LOGICAL16, "MPI_LOGICAL2"),
    DENSE(HANDLE(2c9), 2, CLASS_INT16, "MPI_INTEGER2"),
    DENSE(HANDLE(2ca), 2, CLASS_NONE, "MPI_REAL2"),
    DENSE(HANDLE(2d0), 4, CLASS_LOGICAL32, "MPI_LOGICAL4"),
    DENSE(HANDLE(2d1), 4, CLASS_INT32, "MPI_INTEGER4"),
    DENSE(HANDLE(2d2), 4, CLASS_FLOAT, "MPI_REAL4"),
    COMPLEX(HANDLE(2d3), 4, CLASS_NONE, "MPI_COMPLEX4"),
    DENSE(HANDLE(2d8), 8, CLASS_LOGICAL64, "MPI_LOGICAL8"),
    DENSE(HANDLE(2d9), 8, CLASS_INT64, "MPI_INTEGER8"),
    DENSE(HANDLE(2da), 8, CLASS_DOUBLE, "MPI_REAL8"),
    COMPLEX(HANDLE(2db), 8, CLASS_COMPLEX_FLOAT, "MPI_COMPLEX8"),
    DENSE(HANDLE(2e0), 16, CLASS_NONE, "MPI_LOGICAL16"),
    DENSE(HANDLE(2e1), 16, CLASS_INT128, "MPI_INTEGER16"),
    DENSE(HANDLE(2e2), 16, CLASS_LONG_DOUBLE, "MPI_REAL16"),
    COMPLEX(HANDLE(2e3), 16, CLASS_COMPLEX_DOUBLE, "MPI_COMPLEX16"),
    COMPLEX(HANDLE(2eb), 32, CLASS_COMPLEX_LONG_DOUBLE, "MPI_COMPLEX32"),
};

/* The index is the handle's value less the first, so the table and mpi.h must agree. */
#define AGREE(name, value) _Static_assert((uintptr_t)MPI_##name == (value), #name)
AGREE(INT, 0x209);
AGREE(DOUBLE, 0x214);
AGREE(BYTE, 0x247);

int chq_type_check(const struct datatype *type)
{
    if (!type_is_valid(type))
        return chq_reason(MPI_ERR_TYPE, "not a datatype");
    if (!(type->state & TYPE_COMMITTED))
        return chq_reason(MPI_ERR_TYPE, "the datatype is not committed");
    return MPI_SUCCESS;
}

struct pool chq_type_pool = {NULL, sizeof(struct datatype), 8};

void chq_type_release(struct datatype *type)
{
    struct type_shape *shape = type->shape;
    if (!shape || --type->references > 0)
        return;
    chq_attributes_delete(&type->attributes, type_handle(type));
    type->state = 0;
    for (int i = 0; i < shape->type_count; i++)
        chq_type_release(type_of(shape->types[i]));
    if (shape->built)
        chq_type_release(type_of(shape->built));
    chq_plan_free(shape->plan);
    free(shape); /* The arrays are in the same block. */
    free(type->name);
    pool_give(&chq_type_pool, type);
}
