/* Datatypes: what pack.c and the short paths need to know of them.
 *
 * Invariant: `state` says committed only of a type that may be used for communication, so one
 * comparison with TYPE_DENSE_COMMITTED tells that a handle is valid, committed, and that `count`
 * elements are count * size bytes at the buffer's address.
 */
#ifndef CHASQUI_TYPE_H
#define CHASQUI_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/runtime/public.h"

#define TYPE_VALID 0x7d7e0000u
enum {
    TYPE_COMMITTED = 1,
    TYPE_RUN = 2,   /* One element's data is one run of bytes, at true_lb. */
    TYPE_DENSE = 4, /* And true_lb is 0 and the extent is the size. */
    TYPE_FLAGS = 7
};
#define TYPE_DENSE_COMMITTED (TYPE_VALID | TYPE_COMMITTED | TYPE_RUN | TYPE_DENSE)

/* What an operator sees in a predefined type. */
enum type_class {
    CLASS_NONE,
    CLASS_INT8,
    CLASS_UINT8,
    CLASS_INT16,
    CLASS_UINT16,
    CLASS_INT32,
    CLASS_UINT32,
    CLASS_INT64,
    CLASS_UINT64,
    CLASS_INT128,
    CLASS_FLOAT,
    CLASS_DOUBLE,
    CLASS_LONG_DOUBLE,
    CLASS_COMPLEX_FLOAT,
    CLASS_COMPLEX_DOUBLE,
    CLASS_COMPLEX_LONG_DOUBLE,
    CLASS_LOGICAL8,
    CLASS_LOGICAL16,
    CLASS_LOGICAL32,
    CLASS_LOGICAL64,
    CLASS_BYTE,
    CLASS_PAIR_FLOAT_INT,
    CLASS_PAIR_DOUBLE_INT,
    CLASS_PAIR_LONG_INT,
    CLASS_PAIR_INT_INT,
    CLASS_PAIR_SHORT_INT,
    CLASS_PAIR_LONG_DOUBLE_INT,
    CLASS_PAIR_FLOAT_FLOAT,
    CLASS_PAIR_DOUBLE_DOUBLE
};

struct attribute;
struct datatype;
struct plan;
struct pool;

/* How a derived type was made, and the blocks that pack.c walks. */
struct type_shape {
    int combiner;
    /* The constructor's arguments, for MPI_Type_get_contents. */
    int integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
    MPI_Datatype built; /* What is walked in place of types[0], which it was built from; null: types[0]. */
    /* The walk. `displacements` null: `blocks` blocks of `length` elements of types[0], `stride`
     * bytes apart. Otherwise block i is lengths[i] (null: `length`) elements of types[i] (or of
     * types[0], when there is only one) at displacements[i]. */
    size_t blocks;
    size_t length;
    MPI_Aint stride;
    const MPI_Aint *displacements;
    const int *lengths;
    struct plan *plan; /* How to pack it, once committed (plan.h); null: one run, or no plan. */
};

struct datatype {
    size_t size;    /* Bytes of data of one element, or TYPE_HUGE. First: the pool's link may overwrite it. */
    uint32_t state; /* TYPE_VALID with TYPE_* flags; 0: not a datatype. */
    int32_t references;
    MPI_Aint lb, extent;
    MPI_Aint true_lb, true_extent;
    size_t elements; /* Basic elements in one element, or TYPE_HUGE. */
    struct type_shape *shape; /* Null: predefined. */
    char *name;               /* Null: none set, or the predefined one. */
    const char *predefined_name;
    uint8_t class;
    uint8_t alignment;
    bool explicit_lb, explicit_ub; /* Set by a marker or by resizing: sticks to what is built on it. */
    struct attribute *attributes;
    bool far, true_far; /* An address holds lb and extent, or the true ones, no more: they are 0 here. */
    uint8_t spare[30];
};
_Static_assert(sizeof(struct datatype) == 128, "an index into chq_types is a shift");

/* A size that no MPI_Count holds, and a displacement that no address does. Such types can be made and asked about
 * (sections 5.1.5 and 5.1.7: what can't be said is MPI_UNDEFINED); MPI_Type_commit refuses them, so that nothing else
 * meets them. */
#define TYPE_HUGE SIZE_MAX
#define TYPE_FAR INT64_MAX

static inline size_t type_product(size_t a, size_t b)
{
    size_t product;
    return __builtin_mul_overflow(a, b, &product) || product > INT64_MAX ? TYPE_HUGE : product;
}

static inline size_t type_sum(size_t a, size_t b)
{
    size_t sum;
    return __builtin_add_overflow(a, b, &sum) || sum > INT64_MAX ? TYPE_HUGE : sum;
}

static inline MPI_Aint type_distance(MPI_Aint elements, MPI_Aint extent)
{
    MPI_Aint distance;
    return __builtin_mul_overflow(elements, extent, &distance) ? TYPE_FAR : distance;
}

enum { TYPE_HANDLE_FIRST = 0x200, TYPE_HANDLES = 256 };
extern struct datatype chq_types[TYPE_HANDLES];

/* Whatever the handle is, the result may be read; its `state` says so. */
static inline struct datatype *type_of(MPI_Datatype handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (likely(value - TYPE_HANDLE_FIRST < TYPE_HANDLES))
        return &chq_types[value - TYPE_HANDLE_FIRST];
    return value < 0x1000 ? &chq_types[0] : (struct datatype *)value;
}

static inline MPI_Datatype type_handle(struct datatype *type)
{
    uintptr_t offset = (uintptr_t)type - (uintptr_t)chq_types;
    return offset < sizeof chq_types ? (MPI_Datatype)(TYPE_HANDLE_FIRST + offset / sizeof(struct datatype))
                                     : (MPI_Datatype)type;
}

static inline bool type_is_valid(const struct datatype *type)
{
    return (type->state & ~(uint32_t)TYPE_FLAGS) == TYPE_VALID;
}
static inline bool type_is_predefined(const struct datatype *type) { return !type->shape; }

/* What block `block` of the walk consists of. */
static inline struct datatype *shape_type(const struct type_shape *shape, size_t block)
{
    return type_of(shape->built ? shape->built : shape->types[shape->type_count == 1 ? 0 : block]);
}
static inline bool type_is_dense(const struct datatype *type) { return type->state & TYPE_DENSE; }

/* And how many of them. */
static inline size_t shape_length(const struct type_shape *shape, size_t block)
{
    return shape->lengths ? (size_t)shape->lengths[block] : shape->length;
}

static inline void type_retain(struct datatype *type)
{
    if (type->shape)
        type->references++;
}
void chq_type_release(struct datatype *type);
/* Derived types stay memory that can be read, so that a handle of a freed one is known as such. */
extern struct pool chq_type_pool;

/* type_new.c. A shape with room for the constructor's arguments, and for `displacements` in bytes. */
struct type_shape *chq_shape_new(int combiner, int integers, int addresses, int types, size_t displacements);
/* The new type; its contents are retained. */
MPI_Datatype chq_type_build(struct type_shape *shape);
/* `built`, whose reference it takes, as a type that says it came from `oldtype` by these arguments. */
MPI_Datatype chq_type_wrap(int combiner, int count, const int *const integers[], const int lengths[],
                           MPI_Datatype oldtype, MPI_Datatype built);

/* Valid and committed, else MPI_ERR_TYPE with its reason. */
int chq_type_check(const struct datatype *type);

/* pack.c. Data of `count` elements at `user` to or from `packed`; stops after `limit` bytes.
 * Returns the bytes moved. */
size_t chq_pack(const void *user, size_t count, const struct datatype *type, void *packed, size_t limit);
size_t chq_unpack(const void *packed, size_t limit, void *user, size_t count, const struct datatype *type);

/* Copies typed data within the process, as a message would (truncating silently). */
void chq_copy_typed(const void *from, size_t from_count, const struct datatype *from_type, void *to, size_t to_count,
                    const struct datatype *to_type);

/* Basic elements in the first `bytes` bytes of packed data; -1: not a whole number of them. */
int64_t chq_elements(const struct datatype *type, size_t bytes);

/* And the other way round: bytes of so many basic elements, or TYPE_HUGE. */
size_t chq_element_bytes(const struct datatype *type, size_t elements);

/* Bytes from the first to past the last that `count` elements touch. */
static inline size_t type_span(const struct datatype *type, size_t count)
{
    return count == 0 ? 0 : (size_t)(type->true_extent + (MPI_Aint)(count - 1) * type->extent);
}

#endif
