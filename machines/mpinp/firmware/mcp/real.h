/* Floating point of a processor without a unit for it (IEEE 754, round to nearest, ties to even). Numbers are as in memory. */
#ifndef REAL_H
#define REAL_H

#include <stdbool.h>
#include <stdint.h>

/* Of numbers: bits of the fraction and of the exponent. */
struct real_format {
    unsigned fraction, exponent;
};

#define REAL_FLOAT ((struct real_format){23, 8})
#define REAL_DOUBLE ((struct real_format){52, 11})

static inline uint64_t real_infinity(struct real_format f) { return (((uint64_t)1 << f.exponent) - 1) << f.fraction; }
static inline uint64_t real_sign(struct real_format f) { return (uint64_t)1 << (f.fraction + f.exponent); }
static inline bool real_is_nan(uint64_t a, struct real_format f) { return (a & (real_sign(f) - 1)) > real_infinity(f); }

uint64_t real_add(uint64_t a, uint64_t b, struct real_format f);
bool real_is_less(uint64_t a, uint64_t b, struct real_format f);

#endif
