/* Types of distributed arrays against the definition, element by element; external32; types by KIND,
 * size and pair; errors of all of them. */
#include "check.h"

#include <stdint.h>

/* The owner of element `index` of a dimension, by the definition of the distributions. */
static int owner(int index, int size, int distribution, int argument, int processes)
{
    if (distribution == MPI_DISTRIBUTE_NONE)
        return 0;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        argument = distribution == MPI_DISTRIBUTE_BLOCK ? (size + processes - 1) / processes : 1;
    return index / argument % processes;
}

enum { EDGE = 7, CELLS = EDGE * EDGE * EDGE };

/* Packs every process's part of a cube of its own indices; the owner says which those are. */
static void darray(int order, const int distributions[3], const int arguments[3], const int grid[3])
{
    const int sizes[3] = {EDGE, EDGE, EDGE};
    static int cube[CELLS], packed[CELLS];
    int seen = 0;
    for (int i = 0; i < CELLS; i++)
        cube[i] = i;
    for (int rank = 0; rank < grid[0] * grid[1] * grid[2]; rank++) {
        const int at[3] = {rank / grid[2] / grid[1], rank / grid[2] % grid[1], rank % grid[2]};
        MPI_Datatype type;
        MPI_Aint lb, extent;
        int position = 0, taken = 0;
        MPI_Type_create_darray(grid[0] * grid[1] * grid[2], rank, 3, sizes, distributions, arguments, grid, order,
                               MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_get_extent(type, &lb, &extent);
        CHECK(lb == 0 && extent == (MPI_Aint)sizeof cube);
        MPI_Pack(cube, 1, type, packed, sizeof packed, &position, MPI_COMM_SELF);
        for (int i = 0; i < CELLS; i++) {
            const int c = order == MPI_ORDER_C;
            const int index[3] = {c ? i / (EDGE * EDGE) : i % EDGE, i / EDGE % EDGE, c ? i % EDGE : i / (EDGE * EDGE)};
            int mine = 1;
            for (int d = 0; d < 3; d++)
                mine &= owner(index[d], EDGE, distributions[d], arguments[d], grid[d]) == at[d];
            if (mine && taken < position / (int)sizeof(int))
                CHECK_EQUAL(packed[taken], i);
            taken += mine;
        }
        CHECK_EQUAL(position, taken * (int)sizeof(int));
        seen += taken;
        MPI_Type_free(&type);
    }
    CHECK_EQUAL(seen, CELLS);
}

static void darrays(void)
{
    enum {
        NONE = MPI_DISTRIBUTE_NONE,
        BLOCK = MPI_DISTRIBUTE_BLOCK,
        CYCLIC = MPI_DISTRIBUTE_CYCLIC,
        DEFAULT = MPI_DISTRIBUTE_DFLT_DARG
    };
    for (int order = 0; order < 2; order++) {
        int o = order ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
        darray(o, (int[]){BLOCK, BLOCK, BLOCK}, (int[]){DEFAULT, DEFAULT, 5}, (int[]){2, 3, 2});
        darray(o, (int[]){CYCLIC, CYCLIC, CYCLIC}, (int[]){DEFAULT, 2, 3}, (int[]){3, 2, 2});
        darray(o, (int[]){NONE, CYCLIC, BLOCK}, (int[]){DEFAULT, 2, DEFAULT}, (int[]){1, 5, 2});
        darray(o, (int[]){CYCLIC, NONE, NONE}, (int[]){4, 9, DEFAULT}, (int[]){9, 1, 1}); /* Some have nothing. */
    }
}

static void darray_contents(void)
{
    const int sizes[2] = {8, 6}, distributions[2] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC},
              arguments[2] = {4, 2}, grid[2] = {2, 3};
    const int expected[] = {6, 4, 2, 8, 6, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, 4, 2, 2, 3, MPI_ORDER_C};
    MPI_Datatype type, of;
    int integers, addresses, types, combiner, values[12];
    MPI_Aint none;
    MPI_Type_create_darray(6, 4, 2, sizes, distributions, arguments, grid, MPI_ORDER_C, MPI_DOUBLE, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 12 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_DARRAY);
    MPI_Type_get_contents(type, 12, 0, 1, values, &none, &of);
    CHECK(of == MPI_DOUBLE && memcmp(values, expected, sizeof expected) == 0);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(2, sizes, grid, (int[]){1, 2}, MPI_ORDER_FORTRAN, MPI_FLOAT, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 8 && addresses == 0 && types == 1 && combiner == MPI_COMBINER_SUBARRAY);
    MPI_Type_get_contents(type, 8, 0, 1, values, &none, &of);
    CHECK(of == MPI_FLOAT && values[0] == 2 && values[1] == 8 && values[4] == 3 && values[6] == 2 &&
          values[7] == MPI_ORDER_FORTRAN);
    MPI_Type_free(&type);
}

static void darray_errors(void)
{
    const int sizes[1] = {8}, block[1] = {MPI_DISTRIBUTE_BLOCK}, none[1] = {MPI_DISTRIBUTE_NONE}, two[1] = {2},
              odd[1] = {99};
    MPI_Datatype type;
    CHECK_EQUAL(MPI_Type_create_darray(2, 2, 1, sizes, block, two, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_darray(3, 0, 1, sizes, block, two, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 1, sizes, block, two, two, MPI_ORDER_C, MPI_INT, &type),
                MPI_ERR_ARG); /* 2 * 2 < 8 */
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 1, sizes, none, two, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 1, sizes, odd, two, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 1, sizes, block, odd, two, 99, MPI_INT, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 0, sizes, block, odd, two, MPI_ORDER_C, MPI_INT, &type), MPI_ERR_DIMS);
    CHECK_EQUAL(MPI_Type_create_darray(2, 0, 1, sizes, block, odd, two, MPI_ORDER_C, MPI_DATATYPE_NULL, &type),
                MPI_ERR_TYPE);
}

/* Bytes that follow from the standard's table of sizes and from IEEE 754, written by hand. */
static void external(void)
{
    struct {
        short s;
        long l;
        double d;
        char c;
    } from = {-2, -3, 1.5, 'x'}, to;
    static const unsigned char expected[] = {0xff, 0xfe, 0xff, 0xff, 0xff, 0xfd, 0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 'x'};
    unsigned char packed[64] = {0};
    const MPI_Datatype types[4] = {MPI_SHORT, MPI_LONG, MPI_DOUBLE, MPI_CHAR};
    const int lengths[4] = {1, 1, 1, 1};
    const MPI_Aint at[4] = {0, (char *)&from.l - (char *)&from, (char *)&from.d - (char *)&from,
                            &from.c - (char *)&from};
    MPI_Datatype type;
    MPI_Aint size = 0, position = 0;
    MPI_Type_create_struct(4, lengths, at, types, &type);
    MPI_Type_commit(&type);
    MPI_Pack_external_size("external32", 1, type, &size);
    CHECK_EQUAL(size, sizeof expected);
    CHECK_EQUAL(MPI_Pack_external("external32", &from, 1, type, packed, sizeof packed, &position), MPI_SUCCESS);
    CHECK_EQUAL(position, sizeof expected);
    CHECK(memcmp(packed, expected, sizeof expected) == 0);
    memset(&to, 0, sizeof to);
    position = 0;
    CHECK_EQUAL(MPI_Unpack_external("external32", packed, size, &position, &to, 1, type), MPI_SUCCESS);
    CHECK(to.s == -2 && to.l == -3 && to.d == 1.5 && to.c == 'x');
    position = 0;
    CHECK_EQUAL(MPI_Pack_external("external32", &from, 1, type, packed, size - 1, &position), MPI_ERR_TRUNCATE);
    CHECK_EQUAL(MPI_Unpack_external("external32", packed, size - 1, &position, &to, 1, type), MPI_ERR_TRUNCATE);
    CHECK_EQUAL(MPI_Pack_external("native", &from, 1, type, packed, size, &position), MPI_ERR_UNSUPPORTED_DATAREP);
    CHECK_EQUAL(MPI_Pack_external("external32", &from, -1, type, packed, size, &position), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Pack_external_size("external32", 1, MPI_DATATYPE_NULL, &size), MPI_ERR_TYPE);
    MPI_Type_free(&type);
}

/* Elements of two numbers: each is turned by itself. */
static void external_pairs(void)
{
    struct {
        short value;
        int index;
    } pair = {0x0102, 0x03040506};
    unsigned long number[2] = {0xfffffffful, 7};
    const float complex_number[2] = {1.0f, -2.0f};
    static const unsigned char pair_bytes[] = {1, 2, 3, 4, 5, 6}, complex_bytes[] = {0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0};
    unsigned char packed[16];
    MPI_Aint position = 0;
    MPI_Pack_external("external32", &pair, 1, MPI_SHORT_INT, packed, sizeof packed, &position);
    CHECK(position == 6 && memcmp(packed, pair_bytes, 6) == 0);
    position = 0;
    MPI_Pack_external("external32", complex_number, 1, MPI_C_FLOAT_COMPLEX, packed, sizeof packed, &position);
    CHECK(position == 8 && memcmp(packed, complex_bytes, 8) == 0);
    position = 0;
    MPI_Pack_external("external32", number, 2, MPI_UNSIGNED_LONG, packed, sizeof packed, &position);
    CHECK_EQUAL(position, 8);
    position = 0;
    number[0] = number[1] = 0;
    MPI_Unpack_external("external32", packed, 8, &position, number, 2, MPI_UNSIGNED_LONG);
    CHECK(number[0] == 0xfffffffful && number[1] == 7);
}

static void kinds(void)
{
    MPI_Datatype type, again, other;
    int size, integers, addresses, types, combiner, values[2], sum[2] = {1, 2}, total[2];
    MPI_Type_create_f90_real(10, 100, &type);
    MPI_Type_size(type, &size);
    CHECK_EQUAL(size, 8);
    MPI_Type_create_f90_real(10, 100, &again);
    CHECK(type == again && type != MPI_REAL8);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 2 && addresses == 0 && types == 0 && combiner == MPI_COMBINER_F90_REAL);
    MPI_Type_get_contents(type, 2, 0, 0, values, NULL, NULL);
    CHECK(values[0] == 10 && values[1] == 100);
    CHECK_EQUAL(MPI_Type_free(&type), MPI_ERR_TYPE);
    MPI_Type_create_f90_complex(MPI_UNDEFINED, 30, &type);
    MPI_Type_size(type, &size);
    CHECK_EQUAL(size, 8);
    MPI_Type_create_f90_integer(9, &type);
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    CHECK(integers == 1 && combiner == MPI_COMBINER_F90_INTEGER);
    MPI_Allreduce(sum, total, 2, type, MPI_SUM, MPI_COMM_WORLD);
    CHECK(total[0] == check_size && total[1] == 2 * check_size);
    MPI_Type_contiguous(3, type, &other);
    MPI_Type_size(other, &size);
    CHECK_EQUAL(size, 12);
    MPI_Type_free(&other);
    CHECK_EQUAL(MPI_Type_create_f90_real(MPI_UNDEFINED, MPI_UNDEFINED, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_f90_complex(40, 10, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_create_f90_integer(39, &type), MPI_ERR_ARG);
}

static void by_size(void)
{
    MPI_Datatype type;
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    CHECK(type == MPI_REAL8);
    MPI_Type_match_size(MPI_TYPECLASS_INTEGER, 2, &type);
    CHECK(type == MPI_INTEGER2);
    MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 16, &type);
    CHECK(type == MPI_COMPLEX16);
    CHECK_EQUAL(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 12, &type), MPI_ERR_ARG);
    CHECK_EQUAL(MPI_Type_match_size(7, 8, &type), MPI_ERR_ARG);
    MPI_Type_get_value_index(MPI_DOUBLE, MPI_INT, &type);
    CHECK(type == MPI_DOUBLE_INT);
    MPI_Type_get_value_index(MPI_INT, MPI_DOUBLE, &type);
    CHECK(type == MPI_DATATYPE_NULL);
    CHECK_EQUAL(MPI_Type_get_value_index(MPI_DATATYPE_NULL, MPI_INT, &type), MPI_ERR_TYPE);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    darrays();
    darray_contents();
    darray_errors();
    external();
    external_pairs();
    kinds();
    by_size();
    return check_end("external");
}
