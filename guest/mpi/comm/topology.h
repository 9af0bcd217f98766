/* Virtual topologies of communicators (MPI 5.0, chapter 8). One never changes once it is made, so
 * duplicates of a communicator share it. */
#ifndef CHASQUI_TOPOLOGY_H
#define CHASQUI_TOPOLOGY_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi/runtime/public.h"

struct communicator;

/* What the arrays hold lies in the same block, except where said. */
struct topology {
    int kind; /* MPI_CART, MPI_GRAPH or MPI_DIST_GRAPH. */
    int references;
    union {
        struct {
            int dimensions;
            int *extents, *periods, *coordinates; /* Each of `dimensions` numbers. */
            int *neighbors; /* By direction: two a dimension, down and up. Its own block, made when first needed. */
        } cart;
        struct {
            int nodes;
            int *index; /* Where each node's edges end. */
            int *edges; /* All nodes' neighbours. */
        } graph;
        struct {
            int indegree, outdegree;
            bool weighted;
            int *sources, *destinations;
            int *source_weights, *destination_weights; /* Only if `weighted`. */
        } dist;
    };
};

/* With room for so many numbers after the header. */
struct topology *chq_topology_new(int kind, size_t numbers);
static inline int *topology_numbers(struct topology *topology) { return (int *)(topology + 1); }
struct topology *chq_topology_retain(struct topology *topology); /* Null gives null. */
void chq_topology_release(struct topology *topology);

/* The communicator's topology of that kind; null: none, with the error of `call` raised in *error. */
struct topology *chq_topology_of(const char *call, MPI_Comm comm, int kind, int *error);

/* The neighbours of a process in a neighbourhood collective (section 8.6). MPI_PROC_NULL: none. */
struct neighbors {
    int in, out;
    const int *sources, *destinations;
    /* Cartesian: what is sent down a dimension comes in from above, so that with one or two
     * processes along it, when both directions lead to one process, blocks go crosswise. */
    bool crosswise;
};
int chq_topology_neighbors(const struct communicator *comm, struct neighbors *neighbors); /* Error class. */

/* Of a Cartesian topology: the rank at these coordinates, MPI_PROC_NULL if there is none; the rank `steps` further
 * along a dimension. */
int chq_cart_rank_of(const struct topology *cart, const int *coordinates);
int chq_cart_rank_along(const struct topology *cart, int dimension, int steps);

/* The number that comes `place`-th in the order in which a neighbourhood collective sends: messages
 * between the same two processes are matched in the order of the receives, 0, 1, 2, ... */
static inline int neighbors_sent(const struct neighbors *neighbors, int place)
{
    return neighbors->crosswise ? place ^ 1 : place;
}

#endif
