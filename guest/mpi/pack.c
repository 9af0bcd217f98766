/* Packing and unpacking. One walk serves both: it visits the runs of a type's data in the order of
 * its type map and moves them between the program's buffer and a cursor. Dense parts at any depth
 * are one run, and a vector of dense blocks is one loop. */
#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/platform.h"
#include "mpi/process.h"
#include "mpi/type.h"

struct cursor {
    char *packed;
    size_t left;  /* Bytes that may still be moved. */
    bool to_user; /* Unpacking. */
};

static inline void move_run(struct cursor *cursor, char *user, size_t bytes)
{
    if (unlikely(bytes > cursor->left))
        bytes = cursor->left;
    if (cursor->to_user)
        chq_copy(user, cursor->packed, bytes);
    else
        chq_copy(cursor->packed, user, bytes);
    cursor->packed += bytes;
    cursor->left -= bytes;
}

/* Runs of whole words: the loops that columns of matrices and lists of points spend their time in. */
#define MOVE_WORDS(word)                                                                           \
    do {                                                                                           \
        word *packed = (word *)(void *)cursor->packed;                                             \
        if (cursor->to_user)                                                                       \
            for (size_t i = 0; i < runs; i++, user += stride)                                      \
                *(word *)(void *)user = packed[i];                                                 \
        else                                                                                       \
            for (size_t i = 0; i < runs; i++, user += stride)                                      \
                packed[i] = *(word *)(void *)user;                                                 \
        cursor->packed += runs * sizeof(word);                                                     \
        cursor->left -= runs * sizeof(word);                                                       \
    } while (0)

typedef uint64_t __attribute__((may_alias)) word64;
typedef uint32_t __attribute__((may_alias)) word32;

static void move_strided(struct cursor *cursor, char *user, size_t runs, size_t bytes, MPI_Aint stride)
{
    if (runs * bytes <= cursor->left) {
        uintptr_t low_bits = (uintptr_t)user | (uintptr_t)cursor->packed | (uintptr_t)stride;
        if (bytes == 8 && (low_bits & 7) == 0) {
            MOVE_WORDS(word64);
            return;
        }
        if (bytes == 4 && (low_bits & 3) == 0) {
            MOVE_WORDS(word32);
            return;
        }
    }
    for (size_t i = 0; i < runs && cursor->left > 0; i++, user += stride)
        move_run(cursor, user, bytes);
}

static void walk(struct cursor *cursor, char *user, size_t count, const struct datatype *type);

/* One element of a type that is no run. */
static void walk_blocks(struct cursor *cursor, char *user, const struct type_shape *shape)
{
    const struct datatype *type = shape_type(shape, 0);
    if (!shape->displacements) {
        if (type_is_dense(type)) {
            move_strided(cursor, user, shape->blocks, shape->length * type->size, shape->stride);
            return;
        }
        for (size_t i = 0; i < shape->blocks && cursor->left > 0; i++)
            walk(cursor, user + (MPI_Aint)i * shape->stride, shape->length, type);
        return;
    }
    for (size_t i = 0; i < shape->blocks && cursor->left > 0; i++) {
        if (i > 0 && shape->type_count > 1)
            type = shape_type(shape, i);
        walk(cursor, user + shape->displacements[i], shape_length(shape, i), type);
    }
}

/* The only predefined types that are no run: MPI_SHORT_INT and its like, value then index. */
static void walk_pair(struct cursor *cursor, char *user, const struct datatype *type)
{
    move_run(cursor, user, type->size - sizeof(int));
    move_run(cursor, user + type->true_extent - (MPI_Aint)sizeof(int), sizeof(int));
}

static void walk(struct cursor *cursor, char *user, size_t count, const struct datatype *type)
{
    if (type->size == 0 || count == 0)
        return;
    if (type_is_dense(type)) {
        move_run(cursor, user, count * type->size);
    } else if (type->state & TYPE_RUN) {
        move_strided(cursor, user + type->true_lb, count, type->size, type->extent);
    } else {
        for (size_t i = 0; i < count && cursor->left > 0; i++, user += type->extent) {
            if (type->shape)
                walk_blocks(cursor, user, type->shape);
            else
                walk_pair(cursor, user, type);
        }
    }
}

size_t chq_pack(const void *user, size_t count, const struct datatype *type, void *packed, size_t limit)
{
    struct cursor cursor = {packed, limit, false};
    walk(&cursor, (char *)(uintptr_t)user, count, type);
    return limit - cursor.left;
}

size_t chq_unpack(const void *packed, size_t limit, void *user, size_t count, const struct datatype *type)
{
    struct cursor cursor = {(char *)(uintptr_t)packed, limit, true};
    walk(&cursor, user, count, type);
    return limit - cursor.left;
}

void chq_copy_typed(const void *from, size_t from_count, const struct datatype *from_type, void *to,
                    size_t to_count, const struct datatype *to_type)
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
        /* A pair's value may be there without its index. */
        if (type->elements == 2 && *bytes == type->size - (type->class >= CLASS_PAIR_FLOAT_FLOAT ? type->size / 2 : sizeof(int))) {
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
    return true;
}

int64_t chq_elements(const struct datatype *type, size_t bytes)
{
    int64_t elements = 0;
    if (type->size == 0)
        return bytes == 0 ? 0 : -1;
    return count_elements(type, SIZE_MAX / type->size, &bytes, &elements) ? elements : -1;
}

int PMPI_Pack(const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf, int outsize, int *position, MPI_Comm comm)
{
    struct datatype *type = type_of(datatype);
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_type_check(type);
    if (!error && incount < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error && (*position < 0 || (size_t)incount * type->size > (size_t)(outsize - *position)))
        error = chq_reason(MPI_ERR_TRUNCATE, "the buffer has no room for the data");
    if (error)
        return chq_fail(c, "MPI_Pack", error, NULL);
    *position += (int)chq_pack(inbuf, (size_t)incount, type, (char *)outbuf + *position, (size_t)(outsize - *position));
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack);

int PMPI_Unpack(const void *inbuf, int insize, int *position, void *outbuf, int outcount, MPI_Datatype datatype, MPI_Comm comm)
{
    struct datatype *type = type_of(datatype);
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_type_check(type);
    if (!error && outcount < 0)
        error = chq_reason(MPI_ERR_COUNT, "negative count");
    if (!error && (*position < 0 || (size_t)outcount * type->size > (size_t)(insize - *position)))
        error = chq_reason(MPI_ERR_TRUNCATE, "the buffer has less data than that");
    if (error)
        return chq_fail(c, "MPI_Unpack", error, NULL);
    *position += (int)chq_unpack((const char *)inbuf + *position, (size_t)(insize - *position), outbuf, (size_t)outcount, type);
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
    *size = incount * (int)type->size;
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack_size);
