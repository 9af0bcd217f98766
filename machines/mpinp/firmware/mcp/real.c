#include "real.h"

#define EXTRA 3u /* bits below the last: guard, round, sticky */

static uint64_t quiet_nan(struct real_format f) { return real_infinity(f) | (uint64_t)1 << (f.fraction - 1); }

/* Exponent and significand, with bits below it. */
struct parts {
    int exponent;
    uint64_t significand;
};

static struct parts take_apart(uint64_t magnitude, struct real_format f)
{
    uint64_t fraction = magnitude & (((uint64_t)1 << f.fraction) - 1);
    int exponent = (int)(magnitude >> f.fraction);
    if (exponent == 0)
        return (struct parts){1, fraction << EXTRA};
    return (struct parts){exponent, (fraction | (uint64_t)1 << f.fraction) << EXTRA};
}

/* What is shifted out shows in the last bit. */
static uint64_t shift_right(uint64_t significand, unsigned bits)
{
    if (bits > 63)
        return significand != 0;
    uint64_t out = significand & (((uint64_t)1 << bits) - 1);
    return significand >> bits | (out != 0);
}

static uint64_t put_together(struct parts parts, struct real_format f)
{
    uint64_t one = (uint64_t)1 << f.fraction, below = parts.significand & ((1u << EXTRA) - 1);
    uint64_t significand = parts.significand >> EXTRA, half = 1u << (EXTRA - 1);
    if (below > half || (below == half && significand & 1))
        significand++;
    if (significand >> (f.fraction + 1)) {
        significand >>= 1;
        parts.exponent++;
    }
    if (significand < one)
        return significand;
    if ((uint64_t)parts.exponent >= real_infinity(f) >> f.fraction)
        return real_infinity(f);
    return (uint64_t)parts.exponent << f.fraction | (significand & (one - 1));
}

/* Of numbers that are finite; the magnitude of `a` is not less than that of `b`. */
static uint64_t add_finite(uint64_t a, uint64_t b, struct real_format f)
{
    uint64_t sign = real_sign(f);
    struct parts sum = take_apart(a & (sign - 1), f), other = take_apart(b & (sign - 1), f);
    other.significand = shift_right(other.significand, (unsigned)(sum.exponent - other.exponent));
    if (!((a ^ b) & sign)) {
        sum.significand += other.significand;
        if (sum.significand >> (f.fraction + 1 + EXTRA)) {
            sum.significand = shift_right(sum.significand, 1);
            sum.exponent++;
        }
        return (a & sign) | put_together(sum, f);
    }
    sum.significand -= other.significand;
    if (sum.significand == 0)
        return 0;
    for (; sum.exponent > 1 && !(sum.significand >> (f.fraction + EXTRA)); sum.exponent--)
        sum.significand <<= 1;
    return (a & sign) | put_together(sum, f);
}

uint64_t real_add(uint64_t a, uint64_t b, struct real_format f)
{
    uint64_t sign = real_sign(f), infinity = real_infinity(f);
    if (real_is_nan(a, f) || real_is_nan(b, f))
        return quiet_nan(f);
    if ((a & (sign - 1)) < (b & (sign - 1))) {
        uint64_t other = a;
        a = b;
        b = other;
    }
    if ((a & (sign - 1)) == infinity)
        return (b ^ a) == sign ? quiet_nan(f) : a;
    return add_finite(a, b, f);
}

bool real_is_less(uint64_t a, uint64_t b, struct real_format f)
{
    uint64_t sign = real_sign(f), magnitude_a = a & (sign - 1), magnitude_b = b & (sign - 1);
    if (real_is_nan(a, f) || real_is_nan(b, f) || (magnitude_a | magnitude_b) == 0)
        return false;
    if ((a ^ b) & sign)
        return (a & sign) != 0;
    return a & sign ? magnitude_a > magnitude_b : magnitude_a < magnitude_b;
}
