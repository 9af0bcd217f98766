/* Predefined operators on predefined types, and where they are not defined. */
#include "check.h"

#include <stdbool.h>
#include <stdint.h>

/* a op b of two elements through the library. */
#define REDUCE(type, handle, op, a, b)                                                    \
    ({                                                                                    \
        type reduce_in[2] = {(a), (b)}, reduce_out[2] = {(b), (a)};                       \
        CHECK_EQUAL(MPI_Reduce_local(reduce_in, reduce_out, 2, handle, op), MPI_SUCCESS); \
        CHECK(reduce_out[0] == reduce_out[1]);                                            \
        reduce_out[0];                                                                    \
    })

#define INTEGER(type, handle)                                                         \
    do {                                                                              \
        CHECK_EQUAL(REDUCE(type, handle, MPI_SUM, 5, 9), 14);                         \
        CHECK_EQUAL(REDUCE(type, handle, MPI_PROD, 5, 9), 45);                        \
        CHECK_EQUAL(REDUCE(type, handle, MPI_MIN, 5, 9), 5);                          \
        CHECK_EQUAL(REDUCE(type, handle, MPI_MAX, 5, 9), 9);                          \
        CHECK_EQUAL(REDUCE(type, handle, MPI_BAND, 12, 10), 8);                       \
        CHECK_EQUAL(REDUCE(type, handle, MPI_BOR, 12, 10), 14);                       \
        CHECK_EQUAL(REDUCE(type, handle, MPI_BXOR, 12, 10), 6);                       \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LAND, 3, 0), 0);                         \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LAND, 3, 4), 1);                         \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LOR, 3, 0), 1);                          \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LXOR, 3, 4), 0);                         \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LXOR, 3, 0), 1);                         \
        CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, handle, MPI_MINLOC), MPI_ERR_OP); \
    } while (0)

#define SIGNED(type, handle)                                   \
    do {                                                       \
        INTEGER(type, handle);                                 \
        CHECK_EQUAL(REDUCE(type, handle, MPI_MIN, -5, 9), -5); \
    } while (0)

#define REAL(type, handle)                                                           \
    do {                                                                             \
        CHECK(REDUCE(type, handle, MPI_SUM, (type)1.5, (type) - 4) == (type) - 2.5); \
        CHECK(REDUCE(type, handle, MPI_PROD, (type)1.5, (type) - 4) == (type) - 6);  \
        CHECK(REDUCE(type, handle, MPI_MIN, (type)1.5, (type) - 4) == (type) - 4);   \
        CHECK(REDUCE(type, handle, MPI_MAX, (type)1.5, (type) - 4) == (type)1.5);    \
        CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, handle, MPI_BXOR), MPI_ERR_OP);  \
    } while (0)

#define COMPLEX(type, handle)                                                      \
    do {                                                                           \
        CHECK(REDUCE(type _Complex, handle, MPI_SUM, 1 + 2i, 3 - 1i) == 4 + 1i);   \
        CHECK(REDUCE(type _Complex, handle, MPI_PROD, 1 + 2i, 3 - 1i) == 5 + 5i);  \
        CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, handle, MPI_MAX), MPI_ERR_OP); \
    } while (0)

#define LOGICAL(type, handle)                                                      \
    do {                                                                           \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LAND, 1, 0), 0);                      \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LOR, 1, 0), 1);                       \
        CHECK_EQUAL(REDUCE(type, handle, MPI_LXOR, 1, 1), 0);                      \
        CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, handle, MPI_SUM), MPI_ERR_OP); \
    } while (0)

#define PAIR(value_type, index_type, handle)                                             \
    do {                                                                                 \
        struct {                                                                         \
            value_type value;                                                            \
            index_type index;                                                            \
        } a[3] = {{3, 1}, {4, 2}, {5, 9}}, b[3] = {{2, 7}, {4, 1}, {5, 10}}, c[3];       \
        int size;                                                                        \
        MPI_Type_size(handle, &size);                                                    \
        CHECK_EQUAL(size, sizeof(value_type) + sizeof(index_type));                      \
        memcpy(c, b, sizeof c);                                                          \
        CHECK_EQUAL(MPI_Reduce_local(a, c, 3, handle, MPI_MAXLOC), MPI_SUCCESS);         \
        CHECK(c[0].value == 3 && c[0].index == 1 && c[1].index == 1 && c[2].index == 9); \
        memcpy(c, b, sizeof c);                                                          \
        CHECK_EQUAL(MPI_Reduce_local(a, c, 3, handle, MPI_MINLOC), MPI_SUCCESS);         \
        CHECK(c[0].value == 2 && c[0].index == 7 && c[1].index == 1 && c[2].index == 9); \
        CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, handle, MPI_SUM), MPI_ERR_OP);       \
    } while (0)

static void integers(void)
{
    SIGNED(short, MPI_SHORT);
    SIGNED(int, MPI_INT);
    SIGNED(long, MPI_LONG);
    SIGNED(long long, MPI_LONG_LONG);
    SIGNED(signed char, MPI_SIGNED_CHAR);
    SIGNED(int8_t, MPI_INT8_T);
    SIGNED(int16_t, MPI_INT16_T);
    SIGNED(int32_t, MPI_INT32_T);
    SIGNED(int64_t, MPI_INT64_T);
    SIGNED(int, MPI_INTEGER);
    SIGNED(int8_t, MPI_INTEGER1);
    SIGNED(int16_t, MPI_INTEGER2);
    SIGNED(int32_t, MPI_INTEGER4);
    SIGNED(int64_t, MPI_INTEGER8);
    SIGNED(MPI_Aint, MPI_AINT);
    SIGNED(MPI_Count, MPI_COUNT);
    SIGNED(MPI_Offset, MPI_OFFSET);
    INTEGER(unsigned short, MPI_UNSIGNED_SHORT);
    INTEGER(unsigned, MPI_UNSIGNED);
    INTEGER(unsigned long, MPI_UNSIGNED_LONG);
    INTEGER(unsigned long long, MPI_UNSIGNED_LONG_LONG);
    INTEGER(unsigned char, MPI_UNSIGNED_CHAR);
    INTEGER(uint8_t, MPI_UINT8_T);
    INTEGER(uint16_t, MPI_UINT16_T);
    INTEGER(uint32_t, MPI_UINT32_T);
    INTEGER(uint64_t, MPI_UINT64_T);
    CHECK_EQUAL(REDUCE(unsigned char, MPI_BYTE, MPI_BOR, 12, 10), 14);
    CHECK_EQUAL(MPI_Reduce_local(NULL, NULL, 0, MPI_BYTE, MPI_SUM), MPI_ERR_OP);
    CHECK(REDUCE(unsigned, MPI_UNSIGNED, MPI_MAX, 4000000000u, 1u) == 4000000000u);
}

static void reals(void)
{
    REAL(float, MPI_FLOAT);
    REAL(double, MPI_DOUBLE);
    REAL(long double, MPI_LONG_DOUBLE);
    REAL(float, MPI_REAL);
    REAL(double, MPI_DOUBLE_PRECISION);
    REAL(float, MPI_REAL4);
    REAL(double, MPI_REAL8);
    COMPLEX(float, MPI_C_COMPLEX);
    COMPLEX(double, MPI_C_DOUBLE_COMPLEX);
    COMPLEX(long double, MPI_C_LONG_DOUBLE_COMPLEX);
    COMPLEX(float, MPI_COMPLEX);
    COMPLEX(double, MPI_DOUBLE_COMPLEX);
    COMPLEX(float, MPI_COMPLEX8);
    COMPLEX(double, MPI_COMPLEX16);
    LOGICAL(bool, MPI_C_BOOL);
    LOGICAL(int, MPI_LOGICAL);
    PAIR(float, int, MPI_FLOAT_INT);
    PAIR(double, int, MPI_DOUBLE_INT);
    PAIR(long, int, MPI_LONG_INT);
    PAIR(int, int, MPI_2INT);
    PAIR(short, int, MPI_SHORT_INT);
    PAIR(long double, int, MPI_LONG_DOUBLE_INT);
    PAIR(float, float, MPI_2REAL);
    PAIR(double, double, MPI_2DOUBLE_PRECISION);
    PAIR(int, int, MPI_2INTEGER);
}

static void located(void)
{
    struct {
        double value;
        int rank;
    } own = {(check_rank * 7) % check_size, check_rank}, best;
    MPI_Allreduce(&own, &best, 1, MPI_DOUBLE_INT, MPI_MAXLOC, MPI_COMM_WORLD);
    double most = -1;
    int where = -1;
    for (int r = 0; r < check_size; r++)
        if ((r * 7) % check_size > most) {
            most = (r * 7) % check_size;
            where = r;
        }
    CHECK(best.value == most);
    CHECK_EQUAL(best.rank, where);
}

int main(int argc, char **argv)
{
    int commutes = -1;
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    integers();
    reals();
    located();
    MPI_Op_commutative(MPI_SUM, &commutes);
    CHECK_EQUAL(commutes, 1);
    return check_end("operators");
}
