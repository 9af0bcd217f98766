/* What both sides of dma.c agree on. */
#ifndef DMA_H
#define DMA_H

#include <stdint.h>

enum { BYTES = 16384 };
enum { GET = 0, PUT = 1 };
/* By mailbox to the SPE. */
enum { END = 0, CLOCK = 1, AGAIN = 2, WHERE = 3, WATCH = 4 };

struct plan {
    uint64_t address; /* the other side: main memory, or another local store */
    uint32_t bytes, direction, watches, unused[3];
};

#endif
