/* Standard sends that wait for their receive (--mpi eager). */
#ifndef CHASQUI_EAGER_H
#define CHASQUI_EAGER_H

/* A rare setting of --mpi: `eager`, after which a point-to-point send of more than so many bytes completes only once its
 * receive has met it, like MPI_Ssend; of 0 bytes each, also an empty one; or an algorithm of a collective. Called by MPI_Init,
 * with `eager` last: the transport is then what it will be. 0: there is no such setting. */
int chq_eager_set(const char *name, const char *value);

#endif
