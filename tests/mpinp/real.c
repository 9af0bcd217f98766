/* The firmware's floating point against that of the processor that executes this, bit for bit.
 *
 *   real SEED COUNT */
#include "real.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static uint64_t next(void)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    uint64_t a = state;
    a = (a ^ a >> 30) * 0xbf58476d1ce4e5b9u;
    a = (a ^ a >> 27) * 0x94d049bb133111ebu;
    return a ^ a >> 31;
}

/* Of all bits; of an exponent near that of `other`; of few bits. */
static uint64_t number(uint64_t other, struct real_format f)
{
    uint64_t all = 2 * real_sign(f) - 1, bits = next() & all, kind = next() % 8;
    if (kind < 4) {
        uint64_t near = (other >> f.fraction) + next() % 8 - 4;
        return (bits & (real_sign(f) | (((uint64_t)1 << f.fraction) - 1))) | (near << f.fraction & real_infinity(f));
    }
    if (kind == 4)
        return bits & (all << (next() % (f.fraction + f.exponent)));
    if (kind == 5)
        return (bits & real_sign(f)) | (real_infinity(f) & (0 - (next() & 1)));
    return bits;
}

static uint64_t canonical(uint64_t a, struct real_format f)
{
    return real_is_nan(a, f) ? real_infinity(f) | (uint64_t)1 << (f.fraction - 1) : a;
}

static uint64_t sum_of(uint64_t a, uint64_t b, struct real_format f, int *is_less)
{
    if (f.fraction == 52) {
        double x, y, sum;
        memcpy(&x, &a, sizeof x);
        memcpy(&y, &b, sizeof y);
        sum = x + y;
        *is_less = x < y;
        memcpy(&a, &sum, sizeof a);
        return a;
    }
    float x, y, sum;
    uint32_t bits_a = (uint32_t)a, bits_b = (uint32_t)b;
    memcpy(&x, &bits_a, sizeof x);
    memcpy(&y, &bits_b, sizeof y);
    sum = x + y;
    *is_less = x < y;
    memcpy(&bits_a, &sum, sizeof bits_a);
    return bits_a;
}

int main(int argc, char **argv)
{
    uint64_t a = 0;
    state = argc > 1 ? (uint64_t)atoll(argv[1]) : 0;
    long count = argc > 2 ? atol(argv[2]) : 1000;
    for (long i = 0; i < count; i++) {
        struct real_format f = i % 2 ? REAL_DOUBLE : REAL_FLOAT;
        uint64_t b = number(a, f);
        a = number(b, f);
        int is_less;
        uint64_t expected = canonical(sum_of(a, b, f, &is_less), f), found = real_add(a, b, f);
        if (found != expected || real_is_less(a, b, f) != is_less) {
            printf("%llx and %llx: %llx, and not %llx\n", (unsigned long long)a, (unsigned long long)b,
                   (unsigned long long)found, (unsigned long long)expected);
            return 1;
        }
    }
    return 0;
}
