/* Datatypes: every constructor against a plain model that lists the bytes of a type map. Random
 * nested types are packed, unpacked, sent and received. */
#include "check.h"

#include <stddef.h>

/* A model: the byte offsets of one element's data in the order of the type map, and its bounds. */
struct model {
    MPI_Datatype type;
    long count;
    long *offsets;
    long lb, extent;
};

enum { BYTES_MAX = 600 };

static struct model model_basic(MPI_Datatype type, int bytes)
{
    struct model m = {type, bytes, malloc(BYTES_MAX * sizeof(long)), 0, bytes};
    for (int i = 0; i < bytes; i++)
        m.offsets[i] = i;
    return m;
}

static void model_add(struct model *to, const struct model *from, long elements, long displacement)
{
    for (long e = 0; e < elements; e++)
        for (long i = 0; i < from->count; i++)
            to->offsets[to->count++] = displacement + e * from->extent + from->offsets[i];
}

static void bounds(struct model *to, const struct model *from, long elements, long displacement, int *any)
{
    if (elements == 0)
        return;
    for (int end = 0; end < 2; end++) {
        long at = displacement + (end ? elements - 1 : 0) * from->extent + from->lb;
        long high = at + from->extent;
        long ub = *any ? to->lb + to->extent : high;
        if (!*any || at < to->lb)
            to->lb = at;
        if (high > ub)
            ub = high;
        to->extent = ub - to->lb;
        *any = 1;
    }
}

/* A random constructor around `old`; the result takes its place. */
static void wrap(struct model *m)
{
    struct model made = {MPI_DATATYPE_NULL, 0, malloc(BYTES_MAX * sizeof(long)), 0, 0};
    int any = 0, n = 1 + check_random(3);
    int lengths[3], indices[3];
    MPI_Aint displacements[3];
    MPI_Datatype types[3];
    if (m->count * 9 > BYTES_MAX)
        n = 1;
    for (int i = 0; i < 3; i++) {
        lengths[i] = m->count * 9 > BYTES_MAX ? 1 : 1 + (int)check_random(3);
        indices[i] = i * 5 + (int)check_random(3) - 1;
        displacements[i] = i * 4 * labs(m->extent) + (int)check_random(20) - 3;
        types[i] = m->type;
    }
    switch (check_random(9)) {
    case 0:
        MPI_Type_contiguous(n, m->type, &made.type);
        model_add(&made, m, n, 0);
        bounds(&made, m, n, 0, &any);
        break;
    case 1: {
        int stride = (int)check_random(7) - 2;
        MPI_Type_vector(n, lengths[0], stride, m->type, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[0], i * stride * m->extent);
            bounds(&made, m, lengths[0], i * stride * m->extent, &any);
        }
        break;
    }
    case 2: {
        MPI_Aint stride = displacements[1];
        MPI_Type_create_hvector(n, lengths[0], stride, m->type, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[0], i * stride);
            bounds(&made, m, lengths[0], i * stride, &any);
        }
        break;
    }
    case 3:
        MPI_Type_indexed(n, lengths, indices, m->type, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[i], indices[i] * m->extent);
            bounds(&made, m, lengths[i], indices[i] * m->extent, &any);
        }
        break;
    case 4:
        MPI_Type_create_hindexed(n, lengths, displacements, m->type, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[i], displacements[i]);
            bounds(&made, m, lengths[i], displacements[i], &any);
        }
        break;
    case 5:
        MPI_Type_create_struct(n, lengths, displacements, types, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[i], displacements[i]);
            bounds(&made, m, lengths[i], displacements[i], &any);
        }
        made.extent = -1; /* May be padded: taken from the library. */
        break;
    case 6:
        MPI_Type_create_indexed_block(n, lengths[0], indices, m->type, &made.type);
        for (int i = 0; i < n; i++) {
            model_add(&made, m, lengths[0], indices[i] * m->extent);
            bounds(&made, m, lengths[0], indices[i] * m->extent, &any);
        }
        break;
    case 7:
        made.lb = (long)check_random(9) - 4;
        made.extent = labs(m->extent) + (long)check_random(12);
        MPI_Type_create_resized(m->type, made.lb, made.extent, &made.type);
        model_add(&made, m, 1, 0);
        break;
    default:
        MPI_Type_dup(m->type, &made.type);
        model_add(&made, m, 1, 0);
        made.lb = m->lb;
        made.extent = m->extent;
    }
    MPI_Aint lb, extent;
    MPI_Type_get_extent(made.type, &lb, &extent);
    if (made.extent == -1)
        made.extent = extent;
    CHECK_EQUAL(lb, made.lb);
    CHECK_EQUAL(extent, made.extent);
    int size;
    MPI_Type_size(made.type, &size);
    CHECK_EQUAL(size, made.count);
    int integers, addresses, datatypes, combiner;
    MPI_Type_get_envelope(made.type, &integers, &addresses, &datatypes, &combiner);
    CHECK(datatypes >= 1 && combiner != MPI_COMBINER_NAMED);
    free(m->offsets);
    /* Freed while in use by the new type. */
    MPI_Type_get_envelope(m->type, &integers, &addresses, &datatypes, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        MPI_Type_free(&m->type);
    *m = made;
}

/* Room for three elements around `middle`. */
enum { ROOM = 1 << 17 };
static unsigned char user[ROOM], back[ROOM], expected[ROOM], packed[4 * BYTES_MAX], model_packed[4 * BYTES_MAX];
static unsigned char *const middle = user + ROOM / 2;

/* Whether data lies inside the room and no byte twice (as a receive buffer must not). */
static int fits(const struct model *m, int elements)
{
    memset(expected, 0, sizeof expected);
    for (int e = 0; e < elements; e++)
        for (long i = 0; i < m->count; i++) {
            long at = ROOM / 2 + e * m->extent + m->offsets[i];
            if (at < 0 || at >= ROOM || expected[at]++)
                return 0;
        }
    return 1;
}

static void use(struct model *m)
{
    int elements = 1 + (int)check_random(3), position = 0, bytes = (int)(elements * m->count);
    if (!fits(m, elements))
        return;
    MPI_Type_commit(&m->type);
    for (int i = 0; i < ROOM; i++) {
        user[i] = (unsigned char)check_random(256);
        back[i] = expected[i] = (unsigned char)(i * 3);
    }
    for (int e = 0, at = 0; e < elements; e++)
        for (long i = 0; i < m->count; i++, at++) {
            long offset = e * m->extent + m->offsets[i];
            model_packed[at] = middle[offset];
            expected[ROOM / 2 + offset] = middle[offset];
        }
    MPI_Pack(middle, elements, m->type, packed, sizeof packed, &position, MPI_COMM_WORLD);
    CHECK_EQUAL(position, bytes);
    CHECK(memcmp(packed, model_packed, bytes) == 0);
    position = 0;
    MPI_Unpack(packed, bytes, &position, back + ROOM / 2, elements, m->type, MPI_COMM_WORLD);
    CHECK(memcmp(back, expected, ROOM) == 0);
    /* Sent typed and received typed, and as bytes. */
    MPI_Request requests[2];
    MPI_Status status;
    for (int i = 0; i < ROOM; i++)
        back[i] = (unsigned char)(i * 3);
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size, count;
    /* All ranks use the same random numbers, so the neighbour's data is this rank's. */
    MPI_Irecv(back + ROOM / 2, elements, m->type, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(middle, elements, m->type, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    CHECK(memcmp(back, expected, ROOM) == 0);
    MPI_Get_count(&status, m->type, &count);
    CHECK_EQUAL(count, m->count ? elements : 0);
    memset(packed, 0, sizeof packed);
    MPI_Sendrecv(middle, elements, m->type, right, 2, packed, sizeof packed, MPI_BYTE, left, 2, MPI_COMM_WORLD,
                 &status);
    CHECK(memcmp(packed, model_packed, bytes) == 0);
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQUAL(count, bytes);
    MPI_Aint true_lb, true_extent;
    MPI_Type_get_true_extent(m->type, &true_lb, &true_extent);
    long low = m->offsets[0], high = low;
    for (long i = 0; i < m->count; i++) {
        low = m->offsets[i] < low ? m->offsets[i] : low;
        high = m->offsets[i] > high ? m->offsets[i] : high;
    }
    CHECK_EQUAL(true_lb, low);
    CHECK_EQUAL(true_extent, high - low + 1);
}

static void random_types(int rounds)
{
    static const struct {
        MPI_Datatype type;
        int bytes;
    } basics[] = {{MPI_CHAR, 1}, {MPI_SHORT, 2}, {MPI_INT, 4}, {MPI_DOUBLE, 8}, {MPI_LONG, 8}};
    for (int round = 0; round < rounds; round++) {
        int basic = check_random(5), depth = 1 + check_random(4);
        struct model m = model_basic(basics[basic].type, basics[basic].bytes);
        for (int i = 0; i < depth; i++)
            wrap(&m);
        use(&m);
        MPI_Type_free(&m.type);
        free(m.offsets);
    }
}

/* Bounds: padding, markers of MPI-1, resizing. */
static void structures(void)
{
    struct particle {
        double position[3];
        char kind;
    } particles[4], got[4];
    int lengths[3] = {3, 1, 1};
    MPI_Aint displacements[3] = {0, offsetof(struct particle, kind), sizeof(struct particle)}, lb, extent;
    MPI_Datatype types[3] = {MPI_DOUBLE, MPI_CHAR, MPI_UB}, type, marked;
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    MPI_Type_get_extent(type, &lb, &extent);
    CHECK_EQUAL(lb, 0);
    CHECK_EQUAL(extent, sizeof(struct particle));
    MPI_Type_commit(&type);
    memset(particles, 0, sizeof particles);
    memset(got, 0, sizeof got);
    for (int i = 0; i < 4; i++) {
        particles[i].position[2] = i + 0.5;
        particles[i].kind = (char)(i + 1);
    }
    MPI_Sendrecv(particles, 4, type, check_rank, 0, got, 4, type, check_rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 4; i++)
        CHECK(got[i].position[2] == i + 0.5 && got[i].kind == i + 1);
    displacements[2] = 100;
    MPI_Type_struct(3, lengths, displacements, types, &marked);
    MPI_Type_extent(marked, &extent);
    CHECK_EQUAL(extent, 100);
    MPI_Type_ub(marked, &extent);
    CHECK_EQUAL(extent, 100);
    /* Markers stick: a vector of it strides by the marked extent. */
    MPI_Datatype vector;
    MPI_Type_vector(2, 1, 2, marked, &vector);
    MPI_Type_get_extent(vector, &lb, &extent);
    CHECK_EQUAL(extent, 300);
    int two[2] = {1, 1};
    MPI_Aint where[2] = {-8, 0};
    MPI_Datatype with[2] = {MPI_LB, MPI_INT}, lower;
    MPI_Type_struct(2, two, where, with, &lower);
    MPI_Type_lb(lower, &lb);
    MPI_Type_extent(lower, &extent);
    CHECK_EQUAL(lb, -8);
    CHECK_EQUAL(extent, 12);
    MPI_Type_free(&type);
    MPI_Type_free(&marked);
    MPI_Type_free(&vector);
    MPI_Type_free(&lower);
    /* Absolute addresses. */
    int a = check_rank, b = 7, c[2] = {0, 0};
    int ones[2] = {1, 1};
    MPI_Aint at[2];
    MPI_Datatype ints[2] = {MPI_INT, MPI_INT}, absolute;
    MPI_Get_address(&a, &at[0]);
    MPI_Address(&b, &at[1]);
    MPI_Type_create_struct(2, ones, at, ints, &absolute);
    MPI_Type_commit(&absolute);
    MPI_Sendrecv(MPI_BOTTOM, 1, absolute, check_rank, 0, c, 2, MPI_INT, check_rank, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    CHECK(c[0] == check_rank && c[1] == 7);
    MPI_Type_free(&absolute);
}

static void subarrays(void)
{
    int sizes[3] = {4, 5, 6}, parts[3] = {2, 3, 4}, starts[3] = {1, 1, 2};
    int array[4 * 5 * 6], part[24], position;
    MPI_Datatype type;
    for (int i = 0; i < 120; i++)
        array[i] = i;
    for (int order = 0; order < 2; order++) {
        MPI_Type_create_subarray(3, sizes, parts, starts, order ? MPI_ORDER_FORTRAN : MPI_ORDER_C, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Aint lb, extent;
        MPI_Type_get_extent(type, &lb, &extent);
        CHECK_EQUAL(lb, 0);
        CHECK_EQUAL(extent, sizeof array);
        position = 0;
        MPI_Pack(array, 1, type, part, sizeof part, &position, MPI_COMM_WORLD);
        CHECK_EQUAL(position, sizeof part);
        int at = 0;
        for (int i = 0; i < (order ? parts[2] : parts[0]); i++)
            for (int j = 0; j < parts[1]; j++)
                for (int k = 0; k < (order ? parts[0] : parts[2]); k++, at++) {
                    int want = order ? (starts[0] + k) + 4 * ((starts[1] + j) + 5 * (starts[2] + i))
                                     : ((starts[0] + i) * 5 + starts[1] + j) * 6 + starts[2] + k;
                    CHECK_EQUAL(part[at], want);
                }
        MPI_Type_free(&type);
    }
}

static void elements(void)
{
    int lengths[2] = {2, 1}, count;
    MPI_Aint displacements[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE}, type;
    char data[64] = {0};
    MPI_Status status;
    MPI_Type_create_struct(2, lengths, displacements, types, &type);
    MPI_Type_commit(&type);
    static const int bytes[] = {0, 4, 8, 16, 20, 24, 32};
    static const int wanted[] = {0, 1, 2, 3, 4, 5, 6};
    for (int i = 0; i < 7; i++) {
        MPI_Sendrecv(data, bytes[i], MPI_BYTE, check_rank, 0, data, 4, type, check_rank, 0, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, type, &count);
        CHECK_EQUAL(count, wanted[i]);
        MPI_Get_count(&status, type, &count);
        CHECK_EQUAL(count, bytes[i] % 16 ? MPI_UNDEFINED : bytes[i] / 16);
    }
    MPI_Type_free(&type);
    struct {
        short value;
        int index;
    } pairs[3] = {{1, 2}, {3, 4}, {5, 6}}, got[3];
    memset(got, 0, sizeof got);
    MPI_Sendrecv(pairs, 3, MPI_SHORT_INT, check_rank, 0, got, 3, MPI_SHORT_INT, check_rank, 0, MPI_COMM_WORLD, &status);
    CHECK(got[2].value == 5 && got[2].index == 6 && got[0].value == 1);
    MPI_Get_elements(&status, MPI_SHORT_INT, &count);
    CHECK_EQUAL(count, 6);
    MPI_Status_set_elements(&status, MPI_INT, 9);
    MPI_Get_elements(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 9);
}

/* Messages shorter than the receive: what they don't fill stays as it was. */
static void shorter(void)
{
    static const MPI_Datatype basics[] = {MPI_CHAR, MPI_INT, MPI_DOUBLE};
    static const int bytes[] = {1, 4, 8};
    for (int b = 0; b < 3; b++) {
        unsigned char data[400], got[400];
        MPI_Datatype type;
        MPI_Type_vector(10, 1, 2, basics[b], &type);
        MPI_Type_commit(&type);
        for (int elements = 0; elements <= 10; elements++) {
            memset(data, 7, sizeof data);
            memset(got, 1, sizeof got);
            MPI_Sendrecv(data, elements, basics[b], check_rank, 0, got, 1, type, check_rank, 0, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
            for (int i = 0; i < (int)sizeof got; i++)
                CHECK_EQUAL(got[i], i / bytes[b] % 2 == 0 && i / bytes[b] / 2 < elements ? 7 : 1);
        }
        MPI_Type_free(&type);
    }
}

static void contents(void)
{
    int lengths[2] = {3, 4}, indices[2] = {5, 9}, integers[5], n[4];
    MPI_Aint addresses[1];
    MPI_Datatype type, inner[1];
    char name[MPI_MAX_OBJECT_NAME];
    MPI_Type_indexed(2, lengths, indices, MPI_FLOAT, &type);
    MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]);
    CHECK(n[0] == 5 && n[1] == 0 && n[2] == 1 && n[3] == MPI_COMBINER_INDEXED);
    MPI_Type_get_contents(type, 5, 1, 1, integers, addresses, inner);
    CHECK(integers[0] == 2 && integers[1] == 3 && integers[2] == 4 && integers[3] == 5 && integers[4] == 9);
    CHECK(inner[0] == MPI_FLOAT);
    MPI_Type_set_name(type, "pieces");
    MPI_Type_get_name(type, name, &n[0]);
    CHECK(strcmp(name, "pieces") == 0 && n[0] == 6);
    MPI_Type_get_name(MPI_DOUBLE_PRECISION, name, &n[0]);
    CHECK(strcmp(name, "MPI_DOUBLE_PRECISION") == 0);
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    int seed = argc > 1 ? atoi(argv[1]) : 1;
    if (check_rank == 0)
        printf("datatypes: seed %d\n", seed);
    check_seed(seed);
    random_types(argc > 2 ? atoi(argv[2]) : 200);
    structures();
    subarrays();
    elements();
    shorter();
    contents();
    return check_end("datatypes");
}
