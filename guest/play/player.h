/* What the parts of the player share. */
#ifndef CHASQUI_PLAY_PLAYER_H
#define CHASQUI_PLAY_PLAYER_H

#include "trace.h"

#include <mpi.h>
#include <stddef.h>

/* A rank's part of the trace, and its buffers, which all its messages share: their contents are not the trace's. */
struct player {
    int file;
    int rank;
    uint32_t order; /* enum trace_order */
    struct trace_part part;
    unsigned char *send_buffer, *receive_buffer;
};

/* Ends the program with a message. */
_Noreturn void fail(const struct player *player, const char *what);

/* Memory, of which there is enough or the program ends. */
void *room(const struct player *player, uint64_t count, size_t bytes);

/* Reads exactly so much of the trace, from this offset on. */
void read_at(const struct player *player, void *to, size_t bytes, uint64_t offset);

/* Both prepare what they need, and carry a rank's part out between MPI_Init and MPI_Finalize. */
void play_sequence(const struct player *player);
void play_graph(const struct player *player);

static inline int rank_of(int32_t peer)
{
    return peer == PEER_ANY ? MPI_ANY_SOURCE : peer == PEER_NULL ? MPI_PROC_NULL : peer;
}

static inline int tag_of(int32_t tag) { return tag == TAG_ANY ? MPI_ANY_TAG : tag; }

#endif
