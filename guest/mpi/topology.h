/* Virtual topologies of communicators. Further kinds (graphs) join the union. */
#ifndef CHASQUI_TOPOLOGY_H
#define CHASQUI_TOPOLOGY_H

#include "mpi/public.h"

struct topology {
    int kind; /* MPI_CART */
    int dimensions;
    /* Each of `dimensions` numbers, after this header. */
    int *extents, *periods, *coordinates;
};

struct topology *chq_topology_copy(const struct topology *topology); /* Null gives null. */
void chq_topology_free(struct topology *topology);

#endif
