/* Plans: how to pack a type whose data is not one run, worked out when it is committed. */
#ifndef CHASQUI_PLAN_H
#define CHASQUI_PLAN_H

#include "mpi/datatype/move.h"
#include "mpi/datatype/type.h"

enum { PLAN_LOOPS = 5 }; /* One of them for the elements of a call. */

/* One element's data, in the order of the type map: either loops around a block, or a list. */
struct plan {
    MPI_Aint at;    /* Of the first block. */
    size_t bytes;   /* Of a block; 0: a list. */
    unsigned loops; /* Innermost first. */
    struct {
        size_t count;
        MPI_Aint stride;
    } loop[PLAN_LOOPS];
    struct list list;
};

/* Gives the type, which is not one run, its plan, and those it is made of theirs where it gets none:
 * a list must not become much longer than the arguments that the type was made of. */
void chq_plan_make(const struct datatype *type);

void chq_plan_free(struct plan *plan);

/* Moves whole elements. */
void chq_plan_move(const struct plan *plan, enum direction direction, char *packed, char *user, size_t count,
                   const struct datatype *type);

#endif
