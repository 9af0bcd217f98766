/* New communicators. */
#ifndef CHASQUI_COMM_CREATE_H
#define CHASQUI_COMM_CREATE_H

#include "mpi/comm/comm.h"

struct bridge;

/* agree.c. Agrees on a free context id with all processes of `comm` and, unless `bridge` is null, with both
 * of its sides; collective. Error class. */
int chq_context_agree(struct communicator *comm, const struct bridge *bridge, uint16_t *context);

/* The core of MPI_Comm_split: processes of equal `color` (not MPI_UNDEFINED), in the order of
 * `key`. *made is null for the others. */
int chq_comm_split(struct communicator *comm, int color, int key, struct communicator **made);

/* A communicator of the first `size` processes of `comm`, in the same order. *made is null for the others. */
int chq_comm_first(struct communicator *comm, int size, struct communicator **made);

#endif
