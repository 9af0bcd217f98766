/* The state of this MPI process. */
#include "mpi/runtime/process.h"

struct chq_process chq = {.requests = {NULL, 0, 16}, .threaded = true};
