/* Datatype constructors (MPI 5.0, section 5.1.2). Each describes its blocks in a type_shape; the
 * bounds and the other properties follow from those alone (chq_type_build). */
#include "mpi/comm/attribute.h"
#include "mpi/comm/raise.h"
#include "mpi/datatype/plan.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

struct type_shape *chq_shape_new(int combiner, int integers, int addresses, int types, size_t displacements)
{
    struct type_shape *shape =
        chq_malloc(sizeof *shape + (size_t)addresses * sizeof(MPI_Aint) + displacements * sizeof(MPI_Aint) +
                   (size_t)types * sizeof(MPI_Datatype) + (size_t)integers * sizeof(int));
    memset(shape, 0, sizeof *shape);
    shape->combiner = combiner;
    shape->integer_count = integers;
    shape->address_count = addresses;
    shape->type_count = types;
    shape->addresses = (MPI_Aint *)(shape + 1);
    shape->displacements = displacements ? shape->addresses + addresses : NULL;
    shape->types = (MPI_Datatype *)(shape->addresses + addresses + displacements);
    shape->integers = (int *)(shape->types + types);
    return shape;
}

/* Properties of a type being put together, block by block. */
struct bounds {
    bool any, any_data;
    bool explicit_lb, explicit_ub;
    bool far, true_far;
    MPI_Aint lb, ub, true_lb, true_ub;
    bool run;         /* So far the data is one run, ... */
    MPI_Aint run_end; /* ... up to here. */
    uint8_t alignment;
};

static MPI_Aint least(MPI_Aint a, MPI_Aint b) { return a < b ? a : b; }
static MPI_Aint most(MPI_Aint a, MPI_Aint b) { return a > b ? a : b; }

/* The sum; *far if an address does not hold it. */
static MPI_Aint add(MPI_Aint a, MPI_Aint b, bool *far)
{
    MPI_Aint sum;
    *far |= __builtin_add_overflow(a, b, &sum);
    return sum;
}

/* Bounds with a marker count alone, as soon as there is one (section 5.1.6). */
static void bounds_extend(struct bounds *b, const struct datatype *type, MPI_Aint low, MPI_Aint high)
{
    bool marker = type->size == 0 && (type->explicit_lb != type->explicit_ub);
    if (type->explicit_lb || (!b->explicit_lb && !marker)) {
        bool more = b->explicit_lb == type->explicit_lb && (type->explicit_lb || b->any);
        b->lb = more ? least(b->lb, low) : low;
        b->explicit_lb |= type->explicit_lb;
    }
    if (type->explicit_ub || (!b->explicit_ub && !marker)) {
        bool more = b->explicit_ub == type->explicit_ub && (type->explicit_ub || b->any);
        b->ub = more ? most(b->ub, high) : high;
        b->explicit_ub |= type->explicit_ub;
    }
    if (!marker)
        b->any = true;
}

static void bounds_add(struct bounds *b, const struct datatype *type, size_t length, MPI_Aint displacement)
{
    if (length == 0)
        return;
    MPI_Aint span = type_distance((MPI_Aint)(length - 1), type->extent);
    bool far = span == TYPE_FAR || displacement == TYPE_FAR;
    MPI_Aint first = add(displacement, least(0, span), &far), last = add(displacement, most(0, span), &far);
    b->far |= far | type->far;
    b->true_far |= far | type->true_far;
    MPI_Aint lb = add(first, type->lb, &b->far), ub = add(last, add(type->lb, type->extent, &b->far), &b->far);
    bounds_extend(b, type, lb, ub);
    if (type->alignment > b->alignment)
        b->alignment = type->alignment;
    if (type->size == 0)
        return;
    MPI_Aint low = add(first, type->true_lb, &b->true_far);
    MPI_Aint high = add(last, type->true_lb + type->true_extent, &b->true_far);
    bool single = (type->state & TYPE_DENSE) || ((type->state & TYPE_RUN) && length == 1);
    b->run = single && (!b->any_data || (b->run && low == b->run_end));
    b->run_end = high;
    b->true_lb = b->any_data ? least(b->true_lb, low) : low;
    b->true_ub = b->any_data ? most(b->true_ub, high) : high;
    b->any_data = true;
}

/* Size, basic elements and bounds. */
static struct bounds measure(struct datatype *type, const struct type_shape *shape)
{
    struct bounds b = {.alignment = 1};
    if (shape->displacements) {
        for (size_t i = 0; i < shape->blocks; i++) {
            struct datatype *of = shape_type(shape, i);
            size_t length = shape_length(shape, i);
            bounds_add(&b, of, length, shape->displacements[i]);
            type->size = type_sum(type->size, type_product(length, of->size));
            type->elements = type_sum(type->elements, type_product(length, of->elements));
        }
    } else if (shape->blocks > 0) {
        struct datatype *of = shape_type(shape, 0);
        size_t total = shape->blocks * shape->length;
        bool close = shape->blocks == 1 || shape->stride == type_distance((MPI_Aint)shape->length, of->extent);
        bounds_add(&b, of, shape->length, 0);
        if (shape->blocks > 1)
            bounds_add(&b, of, shape->length, type_distance((MPI_Aint)(shape->blocks - 1), shape->stride));
        b.run = ((of->state & TYPE_DENSE) && close) || ((of->state & TYPE_RUN) && total == 1);
        type->size = type_product(total, of->size);
        type->elements = type_product(total, of->elements);
    }
    return b;
}

static void set_bounds(struct datatype *type, struct bounds *b, bool is_padded)
{
    MPI_Aint extent, true_extent;
    b->far |= __builtin_sub_overflow(b->ub, b->lb, &extent);
    b->true_far |= __builtin_sub_overflow(b->true_ub, b->true_lb, &true_extent);
    MPI_Aint over = is_padded ? extent & (b->alignment - 1) : 0;
    if (over)
        extent = add(extent, b->alignment - over, &b->far);
    type->far = b->far;
    type->true_far = b->true_far;
    type->lb = b->far ? 0 : b->lb;
    type->extent = b->far ? 0 : extent;
    type->true_lb = b->true_far ? 0 : b->true_lb;
    type->true_extent = b->true_far ? 0 : true_extent;
    type->explicit_lb = b->explicit_lb;
    type->explicit_ub = b->explicit_ub;
    type->alignment = b->alignment;
}

MPI_Datatype chq_type_build(struct type_shape *shape)
{
    struct datatype *type = pool_take(&chq_type_pool);
    memset(type, 0, sizeof *type);
    struct bounds b = measure(type, shape);
    type->shape = shape;
    type->references = 1;
    /* A structure is padded so that the next one is aligned. */
    set_bounds(type, &b, shape->combiner == MPI_COMBINER_STRUCT && !b.explicit_ub);
    type->state = TYPE_VALID;
    if ((b.run && !b.far && !b.true_far && type->size != TYPE_HUGE) || type->size == 0)
        type->state |= TYPE_RUN;
    if ((type->state & TYPE_RUN) && type->lb == 0 && type->true_lb == 0 && (size_t)type->extent == type->size)
        type->state |= TYPE_DENSE;
    for (int i = 0; i < shape->type_count; i++)
        type_retain(type_of(shape->types[i]));
    return (MPI_Datatype)type;
}

static int check(const char *call, int count, MPI_Datatype oldtype)
{
    if (count < 0)
        return chq_fail(NULL, call, MPI_ERR_COUNT, "negative count");
    if (!type_is_valid(type_of(oldtype)))
        return chq_fail(NULL, call, MPI_ERR_TYPE, "not a datatype");
    return MPI_SUCCESS;
}

static int check_lengths(const char *call, int count, const int lengths[])
{
    for (int i = 0; i < count; i++)
        if (lengths[i] < 0)
            return chq_fail(NULL, call, MPI_ERR_ARG, "negative block length");
    return MPI_SUCCESS;
}

MPI_Datatype chq_type_wrap(int combiner, int count, const int *const integers[], const int lengths[],
                           MPI_Datatype oldtype, MPI_Datatype built)
{
    int total = 0, at = 0;
    for (int i = 0; i < count; i++)
        total += lengths[i];
    struct type_shape *shape = chq_shape_new(combiner, total, 0, 1, 0);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < lengths[i]; j++)
            shape->integers[at++] = integers[i][j];
    shape->types[0] = oldtype;
    shape->built = built;
    shape->blocks = 1;
    shape->length = 1;
    return chq_type_build(shape);
}

int PMPI_Type_contiguous(int count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_contiguous", count, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_CONTIGUOUS, 1, 0, 1, 0);
    shape->integers[0] = count;
    shape->types[0] = oldtype;
    shape->blocks = 1;
    shape->length = (size_t)count;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_contiguous);

int PMPI_Type_vector(int count, int blocklength, int stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_vector", count < blocklength ? count : blocklength, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_VECTOR, 3, 0, 1, 0);
    shape->integers[0] = count;
    shape->integers[1] = blocklength;
    shape->integers[2] = stride;
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->length = (size_t)blocklength;
    shape->stride = type_distance(stride, type_of(oldtype)->extent);
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_vector);

int PMPI_Type_create_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_create_hvector", count < blocklength ? count : blocklength, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_HVECTOR, 2, 1, 1, 0);
    shape->integers[0] = count;
    shape->integers[1] = blocklength;
    shape->addresses[0] = stride;
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->length = (size_t)blocklength;
    shape->stride = stride;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_hvector);

int PMPI_Type_indexed(int count, const int blocklengths[], const int displacements[], MPI_Datatype oldtype,
                      MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_indexed", count, oldtype);
    if (!error)
        error = check_lengths("MPI_Type_indexed", count, blocklengths);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_INDEXED, 1 + 2 * count, 0, 1, (size_t)count);
    MPI_Aint *bytes = shape->addresses;
    shape->integers[0] = count;
    for (int i = 0; i < count; i++) {
        shape->integers[1 + i] = blocklengths[i];
        shape->integers[1 + count + i] = displacements[i];
        bytes[i] = type_distance(displacements[i], type_of(oldtype)->extent);
    }
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->lengths = shape->integers + 1;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_indexed);

static int hindexed(const char *call, int combiner, int count, const int blocklengths[], const MPI_Aint displacements[],
                    MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    int error = check(call, count, oldtype);
    if (!error)
        error = check_lengths(call, count, blocklengths);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(combiner, 1 + count, count, 1, 0);
    shape->integers[0] = count;
    for (int i = 0; i < count; i++) {
        shape->integers[1 + i] = blocklengths[i];
        shape->addresses[i] = displacements[i];
    }
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->lengths = shape->integers + 1;
    shape->displacements = shape->addresses;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}

int PMPI_Type_create_hindexed(int count, const int blocklengths[], const MPI_Aint displacements[], MPI_Datatype oldtype,
                              MPI_Datatype *newtype)
{
    LOCAL_CALL();
    return hindexed("MPI_Type_create_hindexed", MPI_COMBINER_HINDEXED, count, blocklengths, displacements, oldtype,
                    newtype);
}
MPI_ALIAS(Type_create_hindexed);

int PMPI_Type_create_indexed_block(int count, int blocklength, const int displacements[], MPI_Datatype oldtype,
                                   MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_create_indexed_block", count < blocklength ? count : blocklength, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_INDEXED_BLOCK, 2 + count, 0, 1, (size_t)count);
    MPI_Aint *bytes = shape->addresses;
    shape->integers[0] = count;
    shape->integers[1] = blocklength;
    for (int i = 0; i < count; i++) {
        shape->integers[2 + i] = displacements[i];
        bytes[i] = type_distance(displacements[i], type_of(oldtype)->extent);
    }
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->length = (size_t)blocklength;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_indexed_block);

int PMPI_Type_create_hindexed_block(int count, int blocklength, const MPI_Aint displacements[], MPI_Datatype oldtype,
                                    MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_create_hindexed_block", count < blocklength ? count : blocklength, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_HINDEXED_BLOCK, 2, count, 1, 0);
    shape->integers[0] = count;
    shape->integers[1] = blocklength;
    for (int i = 0; i < count; i++)
        shape->addresses[i] = displacements[i];
    shape->types[0] = oldtype;
    shape->blocks = (size_t)count;
    shape->length = (size_t)blocklength;
    shape->displacements = shape->addresses;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_hindexed_block);

static int make_struct(const char *call, int count, const int blocklengths[], const MPI_Aint displacements[],
                       const MPI_Datatype types[], MPI_Datatype *newtype)
{
    int error = check(call, count, MPI_BYTE);
    if (!error)
        error = check_lengths(call, count, blocklengths);
    for (int i = 0; i < count && !error; i++)
        error = check(call, 0, types[i]);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_STRUCT, 1 + count, count, count, 0);
    shape->integers[0] = count;
    for (int i = 0; i < count; i++) {
        shape->integers[1 + i] = blocklengths[i];
        shape->addresses[i] = displacements[i];
        shape->types[i] = types[i];
    }
    shape->blocks = (size_t)count;
    shape->lengths = shape->integers + 1;
    shape->displacements = shape->addresses;
    *newtype = chq_type_build(shape);
    return MPI_SUCCESS;
}

int PMPI_Type_create_struct(int count, const int blocklengths[], const MPI_Aint displacements[],
                            const MPI_Datatype types[], MPI_Datatype *newtype)
{
    LOCAL_CALL();
    return make_struct("MPI_Type_create_struct", count, blocklengths, displacements, types, newtype);
}
MPI_ALIAS(Type_create_struct);

int PMPI_Type_create_resized(MPI_Datatype oldtype, MPI_Aint lb, MPI_Aint extent, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_create_resized", 0, oldtype);
    if (error)
        return error;
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_RESIZED, 0, 2, 1, 0);
    shape->addresses[0] = lb;
    shape->addresses[1] = extent;
    shape->types[0] = oldtype;
    shape->blocks = 1;
    shape->length = 1;
    *newtype = chq_type_build(shape);
    struct datatype *type = (struct datatype *)*newtype;
    type->lb = lb;
    type->extent = extent;
    type->far = false;
    type->explicit_lb = type->explicit_ub = true;
    type->state &= ~(uint32_t)TYPE_DENSE;
    if ((type->state & TYPE_RUN) && lb == 0 && type->true_lb == 0 && (size_t)extent == type->size)
        type->state |= TYPE_DENSE;
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_resized);

int PMPI_Type_dup(MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check("MPI_Type_dup", 0, oldtype);
    if (error)
        return error;
    struct datatype *old = type_of(oldtype);
    struct type_shape *shape = chq_shape_new(MPI_COMBINER_DUP, 0, 0, 1, 0);
    shape->types[0] = oldtype;
    shape->blocks = 1;
    shape->length = 1;
    *newtype = chq_type_build(shape);
    struct datatype *type = (struct datatype *)*newtype;
    type->state = old->state;
    type->class = old->class; /* Operators take it as the original. */
    type->extent = old->extent;
    type->lb = old->lb;
    type->far = old->far; /* Bounds that were set may have an end that no address holds. */
    if (type->state & TYPE_COMMITTED)
        chq_plan_make(type);
    error = chq_attributes_copy(old->attributes, oldtype, &type->attributes);
    if (error) {
        chq_type_release(type);
        *newtype = MPI_DATATYPE_NULL;
    }
    return chq_fail(NULL, "MPI_Type_dup", error, NULL);
}
MPI_ALIAS(Type_dup);

int PMPI_Type_hvector(int count, int blocklength, MPI_Aint stride, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    return PMPI_Type_create_hvector(count, blocklength, stride, oldtype, newtype);
}
MPI_ALIAS(Type_hvector);

int PMPI_Type_hindexed(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype oldtype,
                       MPI_Datatype *newtype)
{
    LOCAL_CALL();
    return hindexed("MPI_Type_hindexed", MPI_COMBINER_HINDEXED, count, blocklengths, displacements, oldtype, newtype);
}
MPI_ALIAS(Type_hindexed);

int PMPI_Type_struct(int count, int blocklengths[], MPI_Aint displacements[], MPI_Datatype types[],
                     MPI_Datatype *newtype)
{
    LOCAL_CALL();
    return make_struct("MPI_Type_struct", count, blocklengths, displacements, types, newtype);
}
MPI_ALIAS(Type_struct);
