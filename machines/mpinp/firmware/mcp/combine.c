/* What a collective makes of two contributions (MPI 5.0, section 6.9.2): integers by the processor, floating point by real.c. */
#include "mcp.h"
#include "real.h"

static bool integers(uint8_t operator, bool is_signed, uint64_t a, uint64_t b, uint64_t *result)
{
    bool is_less = is_signed ? (int64_t)a < (int64_t)b : a < b;
    switch (operator) {
    case CHASQUI_MPINP_SUM: *result = a + b; return true;
    case CHASQUI_MPINP_PRODUCT: *result = a * b; return true;
    case CHASQUI_MPINP_MINIMUM: *result = is_less ? a : b; return true;
    case CHASQUI_MPINP_MAXIMUM: *result = is_less ? b : a; return true;
    case CHASQUI_MPINP_AND: *result = a & b; return true;
    case CHASQUI_MPINP_OR: *result = a | b; return true;
    case CHASQUI_MPINP_XOR: *result = a ^ b; return true;
    case CHASQUI_MPINP_LOGICAL_AND: *result = a && b; return true;
    case CHASQUI_MPINP_LOGICAL_OR: *result = a || b; return true;
    case CHASQUI_MPINP_LOGICAL_XOR: *result = !a != !b; return true;
    default: return false;
    }
}

static bool reals(uint8_t operator, struct real_format format, uint64_t a, uint64_t b, uint64_t *result)
{
    switch (operator) {
    case CHASQUI_MPINP_SUM: *result = real_add(a, b, format); return true;
    case CHASQUI_MPINP_MINIMUM: *result = real_is_less(a, b, format) ? a : b; return true;
    case CHASQUI_MPINP_MAXIMUM: *result = real_is_less(b, a, format) ? a : b; return true;
    default: return false;
    }
}

static bool one(uint8_t operator, uint8_t type, uint64_t a, uint64_t b, uint64_t *result)
{
    switch (type) {
    case CHASQUI_MPINP_FLOAT: return reals(operator, REAL_FLOAT, a, b, result);
    case CHASQUI_MPINP_DOUBLE: return reals(operator, REAL_DOUBLE, a, b, result);
    case CHASQUI_MPINP_INT32: return integers(operator, true, (uint64_t)(int32_t)a, (uint64_t)(int32_t)b, result);
    case CHASQUI_MPINP_INT64: return integers(operator, true, a, b, result);
    case CHASQUI_MPINP_UINT32:
    case CHASQUI_MPINP_UINT64: return integers(operator, false, a, b, result);
    default: return false;
    }
}

static uint32_t length_of(uint8_t type)
{
    return type == CHASQUI_MPINP_INT32 || type == CHASQUI_MPINP_UINT32 || type == CHASQUI_MPINP_FLOAT ? 4 : 8;
}

bool combines(uint8_t operator, uint8_t type, uint32_t bytes)
{
    uint64_t result;
    return one(operator, type, 0, 0, &result) && bytes % length_of(type) == 0;
}

void combine(uint8_t operator, uint8_t type, uint64_t *lower, const uint64_t *higher, uint32_t bytes)
{
    uint64_t result;
    if (length_of(type) == 8) {
        for (uint32_t i = 0; i < bytes / 8; i++) {
            one(operator, type, lower[i], higher[i], &result);
            lower[i] = result;
        }
        return;
    }
    uint32_t *to = (uint32_t *)(void *)lower;
    const uint32_t *from = (const uint32_t *)(const void *)higher;
    for (uint32_t i = 0; i < bytes / 4; i++) {
        one(operator, type, to[i], from[i], &result);
        to[i] = (uint32_t)result;
    }
}
