/* Numbers drawn from a seed. */
#include <stdint.h>

static uint64_t state;

/* splitmix64 (Steele, Lea, Flood, OOPSLA 2014). */
static uint64_t draw(void)
{
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

static uint64_t below(uint64_t end) { return draw() % end; }
