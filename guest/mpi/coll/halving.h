/* Recursive halving and doubling over vectors, for Rabenseifner's algorithms.
 * Rabenseifner: Optimization of Collective Reduction Operations. ICCS 2004, LNCS 3036. */
#ifndef CHASQUI_HALVING_H
#define CHASQUI_HALVING_H

#include "mpi/coll/coll.h"

/* A vector cut into 2^bits blocks, one for each of as many participants. */
struct halving {
    char *vector; /* `count` elements: own contribution, later the result's block. */
    size_t count;
    struct datatype *type;
    const struct op *op;
    struct communicator *comm;
    int tag;
    int bits;
    int number; /* Of this participant; -1: none. */
    int extra;  /* Ranks that were folded in before (n - 2^bits). */
    int root;   /* Rank from which relative ranks count. */
};

/* Folds n ranks to a power of two: among the first 2 * extra relative ranks the odd ones give
 * their vector to the even ones and drop out. `incoming` has room for a vector. */
int chq_halving_fold(struct halving *h, void *incoming);
/* Afterwards `vector` holds the combined block `number`. */
int chq_halving_reduce_scatter(struct halving *h, void *incoming);

int chq_halving_rank(const struct halving *h, int number);
/* First element of a block. */
size_t chq_halving_start(const struct halving *h, int block);

#endif
