/* Context ids: numbers that keep the traffic of communicators apart. All processes of a communicator
 * must use the same one, so they agree on it (comm_create/agree.c). */
#include "mpi/comm/comm.h"

enum { WORDS = CONTEXT_IDS / 64 };

static uint64_t used[WORDS];

void chq_context_take(uint16_t context) { used[context / CONTEXTS / 64] |= 1ull << (context / CONTEXTS % 64); }
void chq_context_free(uint16_t context) { used[context / CONTEXTS / 64] &= ~(1ull << (context / CONTEXTS % 64)); }

int32_t chq_context_lowest_free(int32_t from)
{
    for (int32_t id = from; id < CONTEXT_IDS; id++) {
        if (used[id / 64] == ~0ull)
            id |= 63;
        else if (!(used[id / 64] >> (id % 64) & 1))
            return id;
    }
    return CONTEXT_IDS;
}
