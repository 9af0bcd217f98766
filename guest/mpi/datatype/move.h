/* Copying between packed bytes and blocks that lie apart: the loops in which packing spends its time. */
#ifndef CHASQUI_MOVE_H
#define CHASQUI_MOVE_H

#include <stdbool.h>
#include <stddef.h>

#include "mpi/runtime/public.h"

enum direction { PACK, UNPACK };

/* `outer` rows of `inner` blocks. */
struct grid {
    size_t bytes; /* Of a block. */
    size_t inner, outer;
    MPI_Aint inner_stride, outer_stride;
};
void chq_move_grid(enum direction direction, char *packed, char *user, const struct grid *grid);

/* Blocks at displacements of their own. */
struct list {
    size_t blocks;
    MPI_Aint low_bits;     /* Of all displacements and lengths, joined by or: their common alignment. */
    size_t bytes;          /* Of every block; 0: `lengths` says. */
    const MPI_Aint *at;
    const size_t *lengths;
};
void chq_move_list(enum direction direction, char *packed, char *user, const struct list *list);

/* One block, of which little is known. */
void chq_move_block(enum direction direction, char *packed, char *user, size_t bytes);

#endif
