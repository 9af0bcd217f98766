/* Packing in the representation "external32" (MPI 5.0, section 14.5.2): big-endian, with sizes of
 * its own. Data are first packed as they are, so that the conversion meets the basic elements in a
 * row and needs no displacement. */
#include "mpi/comm/raise.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/text.h"

/* How one basic element is made of numbers: `parts` of `here` bytes here and `there` bytes in
 * external32, then maybe a last one that is as long in both. */
struct layout {
    size_t parts, here, there, last;
};

static struct layout layout_of(const struct datatype *type)
{
    MPI_Datatype handle = type_handle((struct datatype *)(uintptr_t)type);
    if (handle == MPI_LONG || handle == MPI_UNSIGNED_LONG)
        return (struct layout){1, sizeof(long), 4, 0};
    if (handle == MPI_WCHAR)
        return (struct layout){1, 4, 2, 0};
    if (handle == MPI_LONG_INT)
        return (struct layout){1, sizeof(long), 4, sizeof(int)};
    if (type->class >= CLASS_COMPLEX_FLOAT && type->class <= CLASS_COMPLEX_LONG_DOUBLE)
        return (struct layout){2, type->size / 2, type->size / 2, 0};
    if (type->class >= CLASS_PAIR_FLOAT_FLOAT)
        return (struct layout){2, type->size / 2, type->size / 2, 0};
    if (type->elements == 2)
        return (struct layout){1, type->size - sizeof(int), type->size - sizeof(int), sizeof(int)};
    return (struct layout){1, type->size, type->size, 0};
}

struct conversion {
    char *here, *there;
    bool outward; /* From here to there. */
};

/* One number. It is cut off, or widened with its sign, where the sizes differ. */
static void convert_number(struct conversion *c, size_t here, size_t there, bool is_signed)
{
    size_t both = here < there ? here : there;
    for (size_t i = 0; i < both; i++) {
        if (c->outward)
            c->there[there - 1 - i] = c->here[i];
        else
            c->here[i] = c->there[there - 1 - i];
    }
    if (!c->outward && here > there)
        memset(c->here + there, is_signed && (c->there[0] & 0x80) ? 0xff : 0, here - there);
    c->here += here;
    c->there += there;
}

static void convert(struct conversion *c, const struct datatype *type, size_t count)
{
    const struct type_shape *shape = type->shape;
    if (shape && (shape->type_count || shape->built)) {
        for (; count > 0; count--)
            for (size_t i = 0; i < shape->blocks; i++)
                convert(c, shape_type(shape, i), shape_length(shape, i));
        return;
    }
    if (type->size == 0)
        return;
    struct layout layout = layout_of(type);
    bool is_signed = type->class != CLASS_UINT64; // NOLINT(clang-analyzer-optin.core.FixedAddressDereference): checked
    for (; count > 0; count--) {
        for (size_t i = 0; i < layout.parts; i++)
            convert_number(c, layout.here, layout.there, is_signed);
        if (layout.last)
            convert_number(c, layout.last, layout.last, true);
    }
}

static size_t external_size(const struct datatype *type)
{
    const struct type_shape *shape = type->shape;
    if (shape && (shape->type_count || shape->built)) {
        size_t size = 0;
        bool same = !shape->lengths && (shape->type_count == 1 || shape->built);
        if (same && shape->blocks)
            return type_product(shape->blocks * shape->length, external_size(shape_type(shape, 0)));
        for (size_t i = 0; i < shape->blocks; i++)
            size = type_sum(size, type_product(shape_length(shape, i), external_size(shape_type(shape, i))));
        return size;
    }
    struct layout layout = layout_of(type);
    return layout.parts * layout.there + layout.last;
}

static int check(const char datarep[], int count, const struct datatype *type)
{
    if (!text_equal(datarep, "external32"))
        return chq_reason(MPI_ERR_UNSUPPORTED_DATAREP, "the only data representation is external32");
    if (count < 0)
        return chq_reason(MPI_ERR_COUNT, "negative count");
    return chq_type_check(type);
}

static int check_room(MPI_Aint room, MPI_Aint position, int count, const struct datatype *type, const char *reason)
{
    if (position < 0 || position > room || type_product((size_t)count, external_size(type)) > (size_t)(room - position))
        return chq_reason(MPI_ERR_TRUNCATE, reason);
    return MPI_SUCCESS;
}

int PMPI_Pack_external_size(const char datarep[], int incount, MPI_Datatype datatype, MPI_Aint *size)
{
    struct datatype *type = type_of(datatype);
    int error = check(datarep, incount, type);
    if (error)
        return chq_fail(NULL, "MPI_Pack_external_size", error, NULL);
    size_t bytes = type_product((size_t)incount, external_size(type));
    *size = bytes == TYPE_HUGE ? MPI_UNDEFINED : (MPI_Aint)bytes;
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack_external_size);

int PMPI_Pack_external(const char datarep[], const void *inbuf, int incount, MPI_Datatype datatype, void *outbuf,
                       MPI_Aint outsize, MPI_Aint *position)
{
    struct datatype *type = type_of(datatype);
    int error = check(datarep, incount, type);
    if (!error)
        error = check_room(outsize, *position, incount, type, "the buffer has no room for the data");
    if (error)
        return chq_fail(NULL, "MPI_Pack_external", error, NULL);
    size_t bytes = (size_t)incount * type->size;
    char *packed = chq_malloc(bytes);
    chq_pack(inbuf, (size_t)incount, type, packed, bytes);
    struct conversion c = {packed, (char *)outbuf + *position, true};
    convert(&c, type, (size_t)incount);
    *position = c.there - (char *)outbuf;
    free(packed);
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack_external);

int PMPI_Unpack_external(const char datarep[], const void *inbuf, MPI_Aint insize, MPI_Aint *position, void *outbuf,
                         int outcount, MPI_Datatype datatype)
{
    struct datatype *type = type_of(datatype);
    int error = check(datarep, outcount, type);
    if (!error)
        error = check_room(insize, *position, outcount, type, "the buffer has less data than that");
    if (error)
        return chq_fail(NULL, "MPI_Unpack_external", error, NULL);
    size_t bytes = (size_t)outcount * type->size;
    char *packed = chq_malloc(bytes);
    struct conversion c = {packed, (char *)(uintptr_t)inbuf + *position, false};
    convert(&c, type, (size_t)outcount);
    chq_unpack(packed, bytes, outbuf, (size_t)outcount, type);
    *position = c.there - (const char *)inbuf;
    free(packed);
    return MPI_SUCCESS;
}
MPI_ALIAS(Unpack_external);
