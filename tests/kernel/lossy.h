/* What the driver lossy.c and its user share. */
#include <stdint.h>

#define LOSSY_SET 0x7101    /* struct lossy */
#define LOSSY_COUNTS 0x7102 /* struct lossy_counts */

/* Each of four mishaps strikes one packet in `once_in`; 0: none. */
struct lossy {
    uint64_t seed, once_in, latency_ns;
};

struct lossy_counts {
    uint64_t packets, lost, doubled, broken, late;
};
