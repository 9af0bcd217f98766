/* Standard sends that wait for their receive (--mpi eager). */
#ifndef CHASQUI_EAGER_H
#define CHASQUI_EAGER_H

#include <stddef.h>

/* From now on a point-to-point send of more than `longest` bytes completes only once its receive has met it, like MPI_Ssend;
 * where `longest` is 0 that is each, also an empty one. Called by MPI_Init, when the transport is what it will be. */
void chq_eager_up_to(size_t longest);

#endif
