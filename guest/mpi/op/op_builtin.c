/* The predefined operators on the predefined types (MPI 5.0, sections 6.9.2 to 6.9.4): one loop
 * for each pair that has a meaning. in is the left operand. */
#include "mpi/op/op.h"

enum {
    NUMBER_SUM = 1,
    NUMBER_MIN = 2,
    NUMBER_MAX = 3,
    NUMBER_PROD = 4,
    NUMBER_BAND = 8,
    NUMBER_BOR = 9,
    NUMBER_BXOR = 10,
    NUMBER_LAND = 16,
    NUMBER_LOR = 17,
    NUMBER_LXOR = 18,
    NUMBER_MINLOC = 24,
    NUMBER_MAXLOC = 25
};

#define EACH(expression)                   \
    do {                                   \
        for (size_t i = 0; i < count; i++) \
            b[i] = (expression);           \
        return true;                       \
    } while (0)

/* Integer sums wrap: computed unsigned. */
#define INTEGER(name, type, wrapping)                                       \
    static bool name(unsigned number, const type *a, type *b, size_t count) \
    {                                                                       \
        switch (number) {                                                   \
        case NUMBER_SUM: EACH((type)((wrapping)a[i] + (wrapping)b[i]));     \
        case NUMBER_PROD: EACH((type)((wrapping)a[i] * (wrapping)b[i]));    \
        case NUMBER_MIN: EACH(a[i] < b[i] ? a[i] : b[i]);                   \
        case NUMBER_MAX: EACH(a[i] > b[i] ? a[i] : b[i]);                   \
        case NUMBER_BAND: EACH((type)(a[i] & b[i]));                        \
        case NUMBER_BOR: EACH((type)(a[i] | b[i]));                         \
        case NUMBER_BXOR: EACH((type)(a[i] ^ b[i]));                        \
        case NUMBER_LAND: EACH((type)(a[i] && b[i]));                       \
        case NUMBER_LOR: EACH((type)(a[i] || b[i]));                        \
        case NUMBER_LXOR: EACH((type)(!a[i] != !b[i]));                     \
        default: return false;                                              \
        }                                                                   \
    }

typedef unsigned __int128 uint128;
typedef __int128 int128;
INTEGER(int8, int8_t, unsigned)
INTEGER(uint8, uint8_t, unsigned)
INTEGER(int16, int16_t, unsigned)
INTEGER(uint16, uint16_t, unsigned)
INTEGER(int32, int32_t, uint32_t)
INTEGER(uint32, uint32_t, uint32_t)
INTEGER(int64, int64_t, uint64_t)
INTEGER(uint64, uint64_t, uint64_t)
INTEGER(int128s, int128, uint128)

/* MIN and MAX keep b unless a is really less or greater, so a NaN in b stays. */
#define REAL(name, type)                                                                                         \
    static bool name(unsigned number, const type *a, type *b, size_t count)                                      \
    {                                                                                                            \
        switch (number) {                                                                                        \
        case NUMBER_SUM: EACH(a[i] + b[i]);                                                                      \
        case NUMBER_PROD: EACH(a[i] * b[i]);                                                                     \
        case NUMBER_MIN: EACH(a[i] < b[i] ? a[i] : b[i]);                                                        \
        case NUMBER_MAX: EACH(a[i] > b[i] ? a[i] : b[i]);                                                        \
        case NUMBER_LAND: /* Not in the standard; old C programs do it. */ EACH((type)(a[i] != 0 && b[i] != 0)); \
        case NUMBER_LOR: EACH((type)(a[i] != 0 || b[i] != 0));                                                   \
        default: return false;                                                                                   \
        }                                                                                                        \
    }

REAL(real_float, float)
REAL(real_double, double)
REAL(real_long_double, long double)

#define COMPLEX(name, type)                                                 \
    static bool name(unsigned number, const type *a, type *b, size_t count) \
    {                                                                       \
        switch (number) {                                                   \
        case NUMBER_SUM: count *= 2; EACH(a[i] + b[i]);                     \
        case NUMBER_PROD:                                                   \
            for (size_t i = 0; i < count; i++, a += 2, b += 2) {            \
                type real = a[0] * b[0] - a[1] * b[1];                      \
                b[1] = a[0] * b[1] + a[1] * b[0];                           \
                b[0] = real;                                                \
            }                                                               \
            return true;                                                    \
        default: return false;                                              \
        }                                                                   \
    }

COMPLEX(complex_float, float)
COMPLEX(complex_double, double)
COMPLEX(complex_long_double, long double)

/* C's bool holds 0 or 1, and so does Fortran's LOGICAL as this library sees it. */
#define LOGICAL(name, type)                                                 \
    static bool name(unsigned number, const type *a, type *b, size_t count) \
    {                                                                       \
        switch (number) {                                                   \
        case NUMBER_LAND: EACH((type)(a[i] && b[i]));                       \
        case NUMBER_LOR: EACH((type)(a[i] || b[i]));                        \
        case NUMBER_LXOR: EACH((type)(!a[i] != !b[i]));                     \
        default: return false;                                              \
        }                                                                   \
    }

LOGICAL(logical8, uint8_t)
LOGICAL(logical16, uint16_t)
LOGICAL(logical32, uint32_t)
LOGICAL(logical64, uint64_t)

static bool byte(unsigned number, const uint8_t *a, uint8_t *b, size_t count)
{
    switch (number) {
    case NUMBER_BAND:
    case NUMBER_BOR:
    case NUMBER_BXOR: return uint8(number, a, b, count);
    default: return false;
    }
}

/* Of equal values the lower index wins. */
#define PAIR(name, value_type, index_type)                                       \
    static bool name(unsigned number, const void *in, void *inout, size_t count) \
    {                                                                            \
        struct pair {                                                            \
            value_type value;                                                    \
            index_type index;                                                    \
        };                                                                       \
        const struct pair *a = in;                                               \
        struct pair *b = inout;                                                  \
        if (number != NUMBER_MINLOC && number != NUMBER_MAXLOC)                  \
            return false;                                                        \
        for (size_t i = 0; i < count; i++) {                                     \
            if (a[i].value == b[i].value) {                                      \
                if (a[i].index < b[i].index)                                     \
                    b[i].index = a[i].index;                                     \
            } else if ((a[i].value < b[i].value) == (number == NUMBER_MINLOC)) { \
                b[i] = a[i];                                                     \
            }                                                                    \
        }                                                                        \
        return true;                                                             \
    }

PAIR(pair_float_int, float, int)
PAIR(pair_double_int, double, int)
PAIR(pair_long_int, long, int)
PAIR(pair_int_int, int, int)
PAIR(pair_short_int, short, int)
PAIR(pair_long_double_int, long double, int)
PAIR(pair_float_float, float, float)
PAIR(pair_double_double, double, double)

typedef bool class_function(unsigned number, const void *in, void *inout, size_t count);

/* The functions take pointers to their own type; called through one type, they are cast once, here. */
#define WRAP(function, type)                                                               \
    static bool any_##function(unsigned number, const void *in, void *inout, size_t count) \
    {                                                                                      \
        return function(number, (const type *)in, (type *)inout, count);                   \
    }
WRAP(int8, int8_t)
WRAP(uint8, uint8_t)
WRAP(int16, int16_t)
WRAP(uint16, uint16_t)
WRAP(int32, int32_t)
WRAP(uint32, uint32_t)
WRAP(int64, int64_t)
WRAP(uint64, uint64_t)
WRAP(int128s, int128)
WRAP(real_float, float)
WRAP(real_double, double)
WRAP(real_long_double, long double)
WRAP(complex_float, float)
WRAP(complex_double, double)
WRAP(complex_long_double, long double)
WRAP(logical8, uint8_t)
WRAP(logical16, uint16_t)
WRAP(logical32, uint32_t)
WRAP(logical64, uint64_t)
WRAP(byte, uint8_t)

#define BIT(number) (1u << (number))
#define ARITHMETIC (BIT(NUMBER_SUM) | BIT(NUMBER_PROD))
#define ORDER (BIT(NUMBER_MIN) | BIT(NUMBER_MAX))
#define LOGIC (BIT(NUMBER_LAND) | BIT(NUMBER_LOR) | BIT(NUMBER_LXOR))
#define BITWISE (BIT(NUMBER_BAND) | BIT(NUMBER_BOR) | BIT(NUMBER_BXOR))
#define LOCATION (BIT(NUMBER_MINLOC) | BIT(NUMBER_MAXLOC))
#define WHOLE (ARITHMETIC | ORDER | LOGIC | BITWISE)
#define FLOATING (ARITHMETIC | ORDER | BIT(NUMBER_LAND) | BIT(NUMBER_LOR))

static const struct {
    class_function *apply;
    unsigned numbers; /* Operators that are defined. */
} classes[] = {
    [CLASS_INT8] = {any_int8, WHOLE},
    [CLASS_UINT8] = {any_uint8, WHOLE},
    [CLASS_INT16] = {any_int16, WHOLE},
    [CLASS_UINT16] = {any_uint16, WHOLE},
    [CLASS_INT32] = {any_int32, WHOLE},
    [CLASS_UINT32] = {any_uint32, WHOLE},
    [CLASS_INT64] = {any_int64, WHOLE},
    [CLASS_UINT64] = {any_uint64, WHOLE},
    [CLASS_INT128] = {any_int128s, WHOLE},
    [CLASS_FLOAT] = {any_real_float, FLOATING},
    [CLASS_DOUBLE] = {any_real_double, FLOATING},
    [CLASS_LONG_DOUBLE] = {any_real_long_double, FLOATING},
    [CLASS_COMPLEX_FLOAT] = {any_complex_float, ARITHMETIC},
    [CLASS_COMPLEX_DOUBLE] = {any_complex_double, ARITHMETIC},
    [CLASS_COMPLEX_LONG_DOUBLE] = {any_complex_long_double, ARITHMETIC},
    [CLASS_LOGICAL8] = {any_logical8, LOGIC},
    [CLASS_LOGICAL16] = {any_logical16, LOGIC},
    [CLASS_LOGICAL32] = {any_logical32, LOGIC},
    [CLASS_LOGICAL64] = {any_logical64, LOGIC},
    [CLASS_BYTE] = {any_byte, BITWISE},
    [CLASS_PAIR_FLOAT_INT] = {pair_float_int, LOCATION},
    [CLASS_PAIR_DOUBLE_INT] = {pair_double_int, LOCATION},
    [CLASS_PAIR_LONG_INT] = {pair_long_int, LOCATION},
    [CLASS_PAIR_INT_INT] = {pair_int_int, LOCATION},
    [CLASS_PAIR_SHORT_INT] = {pair_short_int, LOCATION},
    [CLASS_PAIR_LONG_DOUBLE_INT] = {pair_long_double_int, LOCATION},
    [CLASS_PAIR_FLOAT_FLOAT] = {pair_float_float, LOCATION},
    [CLASS_PAIR_DOUBLE_DOUBLE] = {pair_double_double, LOCATION},
};

bool chq_op_is_defined(unsigned number, unsigned class) { return classes[class].numbers >> number & 1; }

void chq_op_builtin(unsigned number, unsigned class, const void *in, void *inout, size_t count)
{
    classes[class].apply(number, in, inout, count);
}
