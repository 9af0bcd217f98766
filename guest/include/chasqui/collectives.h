/* Choosing collective algorithms by hand, instead of by the library's table (mpi/coll/select.h). */
#ifndef CHASQUI_COLLECTIVES_H
#define CHASQUI_COLLECTIVES_H

#ifdef __cplusplus
extern "C" {
#endif

/* Makes `collective` ("allreduce") use `algorithm` ("ring"), or the table's again (null). All
 * processes must force the same. A case that the algorithm can't do is then an error of class
 * MPI_ERR_UNSUPPORTED_OPERATION. Returns 0: no such collective or algorithm. */
int chasqui_collective_force(const char *collective, const char *algorithm);

/* Name of the index-th algorithm of a collective; null: there are fewer. */
const char *chasqui_collective_algorithm(const char *collective, int index);

#ifdef __cplusplus
}
#endif

#endif
