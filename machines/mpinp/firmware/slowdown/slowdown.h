/* What this firmware and experiments/slowdown.c share. */
#ifndef MPINP_SLOWDOWN_H
#define MPINP_SLOWDOWN_H

#include <stdint.h>

/* Which engines are to be busy: in the first word of the window. */
enum {
    SLOWDOWN_TO_HOST = 1,
    SLOWDOWN_SENDER = 2,
    SLOWDOWN_RECEIVER = 4,
    SLOWDOWN_FROM_HOST = 8, /* the host's DMA, the other way */
    SLOWDOWN_BLOCKED = 16, /* the sender, of a worm that nobody takes */
};

#define SLOWDOWN_ENGINES 3 /* by their bits of EVENT: the host's DMA, the sender, the receiver */
#define SLOWDOWN_LOADS_MAX 4 /* of four instructions */
#define SLOWDOWN_TIMES 5 /* for which each is measured */
#define SLOWDOWN_PASSES 4
#define SLOWDOWN_PASS_INSTRUCTIONS 256
#define SLOWDOWN_BLOCK_BYTES 131072
#define SLOWDOWN_HOST_BLOCK 4096 /* where the host's side of it begins in the process's memory there */

struct slowdown_results {
    uint32_t clocks[SLOWDOWN_LOADS_MAX + 1][SLOWDOWN_TIMES]; /* that the code took */
    uint32_t ends[SLOWDOWN_ENGINES]; /* clocks for a block, without code */
    uint32_t start; /* most clocks that starting the engines took */
    uint32_t idle; /* engines that were done before the code was, in any round */
    uint32_t is_there;
};

#endif
