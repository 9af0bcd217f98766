/* What both sides of batch.c agree on. */
#ifndef BATCH_H
#define BATCH_H

#include <stdint.h>

enum { BYTES = 4096, BATCH_MAX = 16 };

struct plan {
    uint64_t address;
    uint32_t bytes, count, command, tries, unused[2];
};

#endif
