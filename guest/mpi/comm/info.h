/* Info objects: see info.c. */
#ifndef CHASQUI_INFO_H
#define CHASQUI_INFO_H

#include "mpi/runtime/public.h"

struct info;

/* A copy; MPI_INFO_NULL gives null. Error class. */
int chq_info_copy(MPI_Info handle, struct info **copy);
void chq_info_free(struct info *info);

#endif
