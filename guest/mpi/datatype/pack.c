/* Packing and unpacking. One walk serves both: it moves what it can by loops (move.h), by the plan of
 * a committed type (plan.h), and goes into a type only where it has none, or where the data end inside
 * an element. */
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/datatype/plan.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/process.h"

struct cursor {
    char *packed;
    size_t left; /* Bytes that may still be moved. */
    enum direction direction;
};

static void move_run(struct cursor *cursor, char *user, size_t bytes)
{
    if (bytes > cursor->left)
        bytes = cursor->left;
    if (cursor->direction == UNPACK)
        chq_copy(user, cursor->packed, bytes);
    else
        chq_copy(cursor->packed, user, bytes);
    cursor->packed += bytes;
    cursor->left -= bytes;
}

/* Whole elements of a type that is one run, or has a plan. */
static void move_elements(struct cursor *cursor, char *user, size_t count, const struct datatype *type)
{
    if (type->state & TYPE_RUN) {
        struct grid grid = {type->size, count, 1, type->extent, 0};
        chq_move_grid(cursor->direction, cursor->packed, user + type->true_lb, &grid);
    } else {
        chq_plan_move(type->shape->plan, cursor->direction, cursor->packed, user, count, type);
    }
    cursor->packed += count * type->size;
    cursor->left -= count * type->size;
}

static void walk(struct cursor *cursor, char *user, size_t count, const struct datatype *type);

/* One element of a type that is no run. */
static void walk_element(struct cursor *cursor, char *user, const struct datatype *type)
{
    const struct type_shape *shape = type->shape;
    if (!shape) {
        /* The only predefined types that are no run: MPI_SHORT_INT and its like, value then index. */
        move_run(cursor, user, type->size - sizeof(int));
        move_run(cursor, user + type->true_extent - (MPI_Aint)sizeof(int), sizeof(int));
        return;
    }
    for (size_t i = 0; i < shape->blocks && cursor->left > 0; i++) {
        MPI_Aint at = shape->displacements ? shape->displacements[i] : (MPI_Aint)i * shape->stride;
        walk(cursor, user + at, shape_length(shape, i), shape_type(shape, i));
    }
}

static void walk(struct cursor *cursor, char *user, size_t count, const struct datatype *type)
{
    if (type->size == 0 || count == 0)
        return;
    if (type_is_dense(type)) {
        move_run(cursor, user, count * type->size);
        return;
    }
    if ((type->state & TYPE_RUN) || (type->shape && type->shape->plan)) {
        size_t whole = count * type->size <= cursor->left ? count : cursor->left / type->size;
        if (whole)
            move_elements(cursor, user, whole, type);
        user += (MPI_Aint)whole * type->extent;
        count -= whole;
    }
    for (; count > 0 && cursor->left > 0; count--, user += type->extent) {
        if (type->state & TYPE_RUN)
            move_run(cursor, user + type->true_lb, type->size);
        else
            walk_element(cursor, user, type);
    }
}

size_t chq_pack(const void *user, size_t count, const struct datatype *type, void *packed, size_t limit)
{
    struct cursor cursor = {packed, limit, PACK};
    walk(&cursor, (char *)(uintptr_t)user, count, type);
    return limit - cursor.left;
}

size_t chq_unpack(const void *packed, size_t limit, void *user, size_t count, const struct datatype *type)
{
    struct cursor cursor = {(char *)(uintptr_t)packed, limit, UNPACK};
    walk(&cursor, user, count, type);
    return limit - cursor.left;
}

void chq_copy_typed(const void *from, size_t from_count, const struct datatype *from_type, void *to, size_t to_count,
                    const struct datatype *to_type)
{
    size_t bytes = from_count * from_type->size, room = to_count * to_type->size;
    if (bytes > room)
        bytes = room;
    if (bytes == 0 || (from == to && from_type == to_type))
        return;
    if (type_is_dense(from_type)) {
        chq_unpack(from, bytes, to, to_count, to_type);
    } else if (type_is_dense(to_type)) {
        chq_pack(from, from_count, from_type, to, bytes);
    } else {
        void *packed = chq_malloc(bytes);
        chq_pack(from, from_count, from_type, packed, bytes);
        chq_unpack(packed, bytes, to, to_count, to_type);
        free(packed);
    }
}

/* A pair's value may be there without its index. */
static size_t value_bytes(const struct datatype *pair)
{
    return pair->size - (pair->class >= CLASS_PAIR_FLOAT_FLOAT ? pair->size / 2 : sizeof(int));
}

/* Counts basic elements of up to `count` elements while `*bytes` last. False: ends inside one. */
static bool count_elements(const struct datatype *type, size_t count, size_t *bytes, int64_t *elements)
{
    if (type->size == 0 || count == 0)
        return true;
    size_t whole = *bytes / type->size;
    if (whole > count)
        whole = count;
    *bytes -= whole * type->size;
    *elements += (int64_t)(whole * type->elements);
    if (whole == count || *bytes == 0)
        return true;
    const struct type_shape *shape = type->shape;
    if (!shape) {
        if (type->elements == 2 && *bytes == value_bytes(type)) {
            *bytes = 0;
            ++*elements;
            return true;
        }
        return false;
    }
    for (size_t i = 0; i < shape->blocks && *bytes > 0; i++) {
        const struct datatype *of = shape_type(shape, i);
        if (!count_elements(of, shape_length(shape, i), bytes, elements))
            return false;
    }
    return *bytes == 0;
}

int64_t chq_elements(const struct datatype *type, size_t bytes)
{
    int64_t elements = 0;
    if (type->size == 0)
        return bytes == 0 ? 0 : -1;
    return count_elements(type, SIZE_MAX / type->size, &bytes, &elements) ? elements : -1;
}

/* Bytes of the first `*left` basic elements of up to `count` elements; takes them off. */
static size_t count_bytes(const struct datatype *type, size_t count, size_t *left)
{
    if (type->elements == 0 || count == 0)
        return 0;
    size_t whole = *left / type->elements;
    if (whole > count)
        whole = count;
    *left -= whole * type->elements;
    size_t bytes = type_product(whole, type->size);
    if (whole == count || *left == 0)
        return bytes;
    const struct type_shape *shape = type->shape;
    if (!shape) {
        *left = 0;
        return type_sum(bytes, value_bytes(type));
    }
    for (size_t i = 0; i < shape->blocks && *left > 0; i++)
        bytes = type_sum(bytes, count_bytes(shape_type(shape, i), shape_length(shape, i), left));
    return bytes;
}

size_t chq_element_bytes(const struct datatype *type, size_t elements)
{
    return count_bytes(type, SIZE_MAX, &elements);
}

int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position,
              MPI_Comm comm)
{
    struct datatype *type = type_of(datatype);
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_type_check(type);
    if (!error && incount < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error && (*position < 0 || *position > outsize ||
                   type_product((size_t)incount, type->size) > (size_t)(outsize - *position)))
        error = chq_reason(MPI_ERR_TRUNCATE, "the buffer has no room for the data");
    if (error)
        return chq_fail(c, "MPI_Pack", error, NULL);
    *position += (int)chq_pack(inbuf, (size_t)incount, type, (char *)outbuf + *position, (size_t)(outsize - *position));
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack);

int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype datatype,
                MPI_Comm comm)
{
    struct datatype *type = type_of(datatype);
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_type_check(type);
    if (!error && outcount < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error && (*position < 0 || *position > insize ||
                   type_product((size_t)outcount, type->size) > (size_t)(insize - *position)))
        error = chq_reason(MPI_ERR_TRUNCATE, "the buffer has less data than that");
    if (error)
        return chq_fail(c, "MPI_Unpack", error, NULL);
    *position +=
        (int)chq_unpack((const char *)inbuf + *position, (size_t)(insize - *position), outbuf, (size_t)outcount, type);
    return MPI_SUCCESS;
}
MPI_ALIAS(Unpack);

int PMPI_Pack_size(int incount, MPI_Datatype datatype, MPI_Comm comm, int *size)
{
    struct datatype *type = type_of(datatype);
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error && !type_is_valid(type))
        error = chq_reason(MPI_ERR_TYPE, "not a datatype");
    if (!error && incount < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (error)
        return chq_fail(c, "MPI_Pack_size", error, NULL);
    size_t bytes = type_product((size_t)incount, type->size);
    *size = bytes > INT32_MAX ? MPI_UNDEFINED : (int)bytes;
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack_size);
