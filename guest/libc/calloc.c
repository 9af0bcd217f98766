#include "words.h"

void *malloc(size_t bytes);
void *memset(void *place, int byte, size_t bytes);

/* zig's clears byte by byte: four instructions each. */
void *calloc(size_t count, size_t bytes)
{
    size_t all;
    if (__builtin_mul_overflow(count, bytes, &all))
        return malloc((size_t)-1); /* Which fails, and says so in errno. */
    void *place = malloc(all);
    return place ? memset(place, 0, all) : place;
}
