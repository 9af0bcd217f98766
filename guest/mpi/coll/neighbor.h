/* Neighbourhood collectives (MPI 5.0, section 8.6). */
#ifndef CHASQUI_NEIGHBOR_H
#define CHASQUI_NEIGHBOR_H

#include "mpi/coll/coll.h"
#include "mpi/comm/topology.h"

/* One side: a block for each neighbour, by its number among the sources or the destinations. */
struct neighbor_side {
    char *buffer;
    size_t count;
    struct datatype *type;
    bool same; /* One block of `count` elements for all (the sending side of an allgather). */
    const int *counts, *displacements; /* Null: `count` each, one after another. */
    const MPI_Aint *addresses;         /* In bytes, instead of `displacements`; then with `types`. */
    const MPI_Datatype *types;
};

static inline size_t neighbor_count(const struct neighbor_side *side, int i)
{
    return side->counts ? (size_t)side->counts[i] : side->count;
}

static inline struct datatype *neighbor_type(const struct neighbor_side *side, int i)
{
    return side->types ? type_of(side->types[i]) : side->type;
}

static inline char *neighbor_block(const struct neighbor_side *side, int i)
{
    if (side->addresses)
        return side->buffer + side->addresses[i];
    if (side->displacements)
        return element(side->buffer, (size_t)(MPI_Aint)side->displacements[i], side->type);
    return side->same ? side->buffer : element(side->buffer, (size_t)i * side->count, side->type);
}

typedef int coll_neighbor(const struct neighbor_side *send, const struct neighbor_side *recv,
                          const struct neighbors *neighbors, struct communicator *comm);
coll_neighbor chq_neighbor_linear;

#endif
