/* Context ids: numbers that keep the traffic of communicators apart. All processes of a
 * communicator must use the same one, so they agree on it. */
#include "mpi/bridge.h"
#include "mpi/coll/coll.h"
#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/process.h"

enum { IDS = 0x10000 / CONTEXTS, WORDS = IDS / 64 };

static uint64_t used[WORDS];

void chq_context_take(uint16_t context) { used[context / CONTEXTS / 64] |= 1ull << (context / CONTEXTS % 64); }
void chq_context_free(uint16_t context) { used[context / CONTEXTS / 64] &= ~(1ull << (context / CONTEXTS % 64)); }

/* The lowest id from `from` on that is free in this process; IDS: none. */
static int32_t lowest_free(int32_t from)
{
    for (int32_t id = from; id < IDS; id++) {
        if (used[id / 64] == ~0ull)
            id |= 63;
        else if (!(used[id / 64] >> (id % 64) & 1))
            return id;
    }
    return IDS;
}

/* The highest of each over all processes concerned. */
static int highest(struct communicator *comm, const struct bridge *bridge, int32_t values[2])
{
    int error = chq_coll_allreduce_max(bridge_home(bridge, comm), values, 2);
    if (error || !bridge)
        return error;
    int32_t theirs[2];
    error = chq_bridge_exchange(bridge, values, sizeof theirs, theirs, sizeof theirs);
    for (int i = 0; i < 2 && !error; i++)
        values[i] = values[i] > theirs[i] ? values[i] : theirs[i];
    return error;
}

/* Each process proposes the lowest id that is free to it; they are done when all propose the same,
 * and otherwise go on from the highest proposal. Usually one round of 8 bytes. A proposal is taken
 * while it is under discussion: another agreement may be under way (MPI_Comm_idup), and if each ends
 * with what its processes had taken for it, they end differently. Proposals only rise, so all end. */
int chq_context_agree(struct communicator *comm, const struct bridge *bridge, uint16_t *context)
{
    int32_t proposal = 0;
    for (;;) {
        proposal = lowest_free(proposal);
        int32_t extremes[2] = {proposal, -proposal};
        if (proposal < IDS)
            chq_context_take((uint16_t)(proposal * CONTEXTS));
        int error = highest(comm, bridge, extremes);
        if (proposal < IDS)
            chq_context_free((uint16_t)(proposal * CONTEXTS));
        if (error)
            return error;
        if (extremes[0] >= IDS)
            return chq_reason(MPI_ERR_OTHER, "too many communicators");
        if (extremes[0] == -extremes[1])
            break;
        proposal = extremes[0];
    }
    *context = (uint16_t)(proposal * CONTEXTS);
    return MPI_SUCCESS;
}
