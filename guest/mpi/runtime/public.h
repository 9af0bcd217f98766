/* Both names of a public function: PMPI_X is the function, MPI_X a weak alias that a tool may
 * define instead (MPI 5.0, section 15.2). Used after the definition. */
#ifndef CHASQUI_PUBLIC_H
#define CHASQUI_PUBLIC_H

#include "mpi.h"

#define MPI_ALIAS(name) __typeof__(PMPI_##name) MPI_##name __attribute__((weak, alias("PMPI_" #name)))

/* Says what a public function leaves out, to `chasqui check` and the manual, which read the text. */
#define MPI_PARTIAL(name, left_out) _Static_assert(sizeof(left_out) > 1, left_out)

#define likely(condition) __builtin_expect(!!(condition), 1)
#define unlikely(condition) __builtin_expect(!!(condition), 0)

#endif
