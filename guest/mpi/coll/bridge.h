/* How the two sides of an intercommunicator, or of one to be, talk: through their leaders. */
#ifndef CHASQUI_BRIDGE_H
#define CHASQUI_BRIDGE_H

#include <stddef.h>

#include "mpi/comm/comm.h"

struct bridge {
    struct communicator *home; /* This side. */
    int leader;                /* Its rank in `home`. */
    /* The other side's leader; of use to this side's only. */
    struct communicator *peer;
    int remote_leader; /* Its rank in `peer`. */
    int tag, context;  /* `context`: CONTEXT_*, of `peer`. */
    struct communicator room; /* `home` of an intercommunicator: over its local group, with the same
                                 context ids, which the disjoint groups keep apart. */
};

/* The bridge of an intercommunicator, in *bridge; null for other communicators. */
const struct bridge *chq_bridge_of(struct communicator *comm, struct bridge *bridge);

static inline struct communicator *bridge_home(const struct bridge *bridge, struct communicator *comm)
{
    return bridge ? bridge->home : comm;
}

/* Every process of either side gets the other leader's data. Collective over both. Error class. */
int chq_bridge_exchange(const struct bridge *bridge, const void *own, size_t bytes, void *theirs, size_t their_bytes);

/* Sends the other side a group, the same on all processes of this one, and makes the one it gets. */
int chq_bridge_groups(const struct bridge *bridge, struct group *own, struct group **theirs);

#endif
