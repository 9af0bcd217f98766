/* The two sides of an intercommunicator: see bridge.h. */
#include "mpi/coll/bridge.h"

#include "mpi/coll/coll.h"
#include "mpi/transport/progress.h"

/* Both leaders are rank 0. The tag is any of the operation's: what the two say to each other is in
 * the same order on both sides. */
const struct bridge *chq_bridge_of(struct communicator *comm, struct bridge *bridge)
{
    if (!comm->inter)
        return NULL;
    bridge->room = *comm;
    bridge->room.inter = false;
    bridge->room.size = comm->local_size;
    bridge->room.world = comm->group->world;
    bridge->room.remote = comm->group;
    bridge->home = &bridge->room;
    bridge->leader = bridge->remote_leader = 0;
    bridge->peer = comm;
    bridge->tag = (int)comm->collective_tag + COLL_BARRIER;
    bridge->context = CONTEXT_COLLECTIVE;
    return bridge;
}

static int leaders_exchange(const struct bridge *bridge, const void *own, size_t bytes, void *theirs,
                            size_t their_bytes)
{
    struct request send, receive;
    request_start(&receive, REQUEST_RECEIVE);
    chq_receive_start(&receive, theirs, their_bytes, type_byte(), bridge->remote_leader, bridge->tag, bridge->peer,
                      bridge->context);
    request_start(&send, REQUEST_SEND);
    chq_send_start(&send, SEND_HOW(MODE_STANDARD, bridge->context), own, bytes, type_byte(), bridge->remote_leader,
                   bridge->tag, bridge->peer);
    int error = chq_coll_received(&receive);
    request_wait(&send);
    return error;
}

int chq_bridge_exchange(const struct bridge *bridge, const void *own, size_t bytes, void *theirs, size_t their_bytes)
{
    int error = MPI_SUCCESS;
    if (bridge->home->rank == bridge->leader)
        error = leaders_exchange(bridge, own, bytes, theirs, their_bytes);
    return error ? error : chq_bcast_binomial(theirs, their_bytes, type_byte(), bridge->leader, bridge->home);
}

int chq_bridge_groups(const struct bridge *bridge, struct group *own, struct group **theirs)
{
    int32_t size = own->size, their_size = 0;
    int error = chq_bridge_exchange(bridge, &size, sizeof size, &their_size, sizeof their_size);
    if (error)
        return error;
    struct scratch scratch;
    uint16_t *world = chq_scratch(&scratch, (size_t)size * sizeof *world);
    for (int i = 0; i < size; i++)
        world[i] = (uint16_t)group_world_rank(own, i);
    struct group *group = chq_group_new(their_size);
    error = chq_bridge_exchange(bridge, world, (size_t)size * sizeof *world, group->world,
                                (size_t)their_size * sizeof *world);
    scratch_free(&scratch);
    if (error) {
        chq_group_release(group);
        return error;
    }
    chq_group_seal(group);
    *theirs = group;
    return MPI_SUCCESS;
}
