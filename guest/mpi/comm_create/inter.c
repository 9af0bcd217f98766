/* Intercommunicators: made from two groups, and merged into one (MPI 5.0, section 7.6). What else
 * communicators can do is in comm_new.c for both kinds. */
#include "mpi/coll/bridge.h"
#include "mpi/coll/coll.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/comm_create/comm_create.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/thread.h"

static int check_disjoint(struct group *group, const struct group *remote)
{
    for (int i = 0; i < remote->size; i++)
        if (chq_group_rank_of_world(group, group_world_rank(remote, i)) != MPI_UNDEFINED)
            return chq_reason(MPI_ERR_COMM, "a process is in both groups");
    return MPI_SUCCESS;
}

static int intercomm_create(const struct bridge *bridge, struct communicator **made)
{
    struct group *group = bridge->home->group, *remote = NULL;
    uint16_t context;
    int error = chq_bridge_groups(bridge, group, &remote);
    if (error)
        return error;
    error = check_disjoint(group, remote);
    if (!error)
        error = chq_context_agree(bridge->home, bridge, &context);
    if (error) {
        chq_group_release(remote);
        return error;
    }
    group->references++;
    *made = chq_comm_new_inter(bridge->home, group, remote, context);
    return MPI_SUCCESS;
}

/* `peer_comm` and `remote_leader` mean nothing but to the leader. */
static int check_create(const struct communicator *local, int local_leader, const struct communicator *peer,
                        int remote_leader, int tag)
{
    int error = chq_comm_check_intra(local);
    if (!error && (local_leader < 0 || local_leader >= local->size))
        error = chq_reason(MPI_ERR_RANK, "the local leader is not a rank of the communicator");
    if (!error && tag < 0)
        error = chq_reason(MPI_ERR_TAG, "negative tag");
    if (error || local->rank != local_leader)
        return error;
    error = chq_comm_check(peer);
    if (!error && (remote_leader < 0 || remote_leader >= peer->size))
        error = chq_reason(MPI_ERR_RANK, "the remote leader is not a rank of the peer communicator");
    if (!error && comm_world_rank(peer, remote_leader) == chq.rank)
        error = chq_reason(MPI_ERR_RANK, "a process can't be the leader of both groups");
    return error;
}

int PMPI_Intercomm_create(MPI_Comm local_comm, int local_leader, MPI_Comm peer_comm, int remote_leader, int tag,
                          MPI_Comm *newintercomm)
{
    CALL_ENTER(CALL_INTERCOMM_CREATE);
    struct communicator *c = comm_of(local_comm), *peer = comm_of(peer_comm), *made = NULL;
    int error = check_create(c, local_leader, peer, remote_leader, tag);
    if (!error) {
        struct bridge bridge = {.home = c,
                                .leader = local_leader,
                                .peer = peer,
                                .remote_leader = remote_leader,
                                .tag = tag,
                                .context = CONTEXT_CREATION};
        error = intercomm_create(&bridge, &made);
    }
    *newintercomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Intercomm_create", error, NULL);
    CALL_LEAVE(CALL_INTERCOMM_CREATE);
    return error;
}
MPI_ALIAS(Intercomm_create);

/* The members of `first`, then those of `second`. */
static struct group *joined(const struct group *first, const struct group *second)
{
    struct group *group = chq_group_new(first->size + second->size);
    for (int i = 0; i < group->size; i++)
        group->world[i] =
            (uint16_t)(i < first->size ? group_world_rank(first, i) : group_world_rank(second, i - first->size));
    chq_group_seal(group);
    return group;
}

/* When both sides say the same, the one whose rank 0 is lower in the world comes first. */
static int merge(struct communicator *comm, bool high, struct communicator **made)
{
    struct bridge across;
    const struct bridge *bridge = chq_bridge_of(comm, &across);
    int32_t own = high, theirs = 0;
    uint16_t context;
    int error = chq_bridge_exchange(bridge, &own, sizeof own, &theirs, sizeof theirs);
    if (!error)
        error = chq_context_agree(comm, bridge, &context);
    if (error)
        return error;
    bool first = own != theirs ? !high : group_world_rank(comm->group, 0) < group_world_rank(comm->remote, 0);
    struct group *group = first ? joined(comm->group, comm->remote) : joined(comm->remote, comm->group);
    *made = chq_comm_new(comm, group, context);
    return MPI_SUCCESS;
}

int PMPI_Intercomm_merge(MPI_Comm intercomm, int high, MPI_Comm *newintracomm)
{
    CALL_ENTER(CALL_INTERCOMM_MERGE);
    struct communicator *c = comm_of(intercomm), *made = NULL;
    int error = chq_comm_check_inter(c);
    if (!error)
        error = merge(c, high != 0, &made);
    *newintracomm = made ? (MPI_Comm)made : MPI_COMM_NULL;
    if (error)
        error = chq_fail(c, "MPI_Intercomm_merge", error, NULL);
    CALL_LEAVE(CALL_INTERCOMM_MERGE);
    return error;
}
MPI_ALIAS(Intercomm_merge);
