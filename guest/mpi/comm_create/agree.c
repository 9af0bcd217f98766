/* The agreement of processes on the context id of a new communicator. */
#include "mpi/coll/bridge.h"
#include "mpi/coll/coll.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"

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

/* An agreement under way in this process. There may be several (MPI_Comm_idup). */
struct agreement {
    struct agreement *next;
    uint64_t order;  /* All processes that share two agreements put them in the same order. */
    bool contending; /* A round has failed, so all processes take part: nothing but others can hold it up. */
};
static struct agreement *under_way;

/* What two agreements propose at one process, in different orders at another, could rise for ever.
 * So an agreement proposes nothing while one of a lower number contends. */
static bool gives_way(const struct agreement *own)
{
    for (const struct agreement *other = under_way; other; other = other->next)
        if (other->contending && other->order < own->order)
            return true;
    return false;
}

static void end(struct agreement *own)
{
    struct agreement **link = &under_way;
    while (*link != own)
        link = &(*link)->next;
    *link = own->next;
}

/* One round: proposes the lowest id from *id on that is free, which it takes while it is under
 * discussion. *id is then the highest proposal; *agreed: all have proposed it. */
static int propose(struct communicator *comm, const struct bridge *bridge, bool abstains, int32_t *id, bool *agreed)
{
    int32_t own = abstains ? CONTEXT_IDS : chq_context_lowest_free(*id);
    int32_t extremes[2] = {abstains ? *id : own, abstains ? 1 : -own};
    if (own < CONTEXT_IDS)
        chq_context_take((uint16_t)(own * CONTEXTS));
    int error = highest(comm, bridge, extremes);
    if (own < CONTEXT_IDS)
        chq_context_free((uint16_t)(own * CONTEXTS));
    *id = extremes[0];
    *agreed = extremes[0] == -extremes[1];
    return error;
}

/* Each process proposes the lowest id that is free to it; they are done when all propose the same,
 * and otherwise go on from the highest proposal. Usually one round of 8 bytes. */
int chq_context_agree(struct communicator *comm, const struct bridge *bridge, uint16_t *context)
{
    /* The two groups of an intercommunicator to be have no id in common: they come first. */
    bool first = bridge && bridge->peer != comm;
    struct agreement own = {under_way, first ? 0 : (uint64_t)comm->context << 32 | comm->collective_tag, false};
    int32_t id = 0;
    bool agreed = false;
    int error = MPI_SUCCESS;
    under_way = &own;
    while (!error && !agreed) {
        error = propose(comm, bridge, gives_way(&own), &id, &agreed);
        if (!error && id >= CONTEXT_IDS)
            error = chq_reason(MPI_ERR_OTHER, "too many communicators");
        own.contending = true;
    }
    end(&own);
    *context = (uint16_t)(id * CONTEXTS);
    return error;
}
