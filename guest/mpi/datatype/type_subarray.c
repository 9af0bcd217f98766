/* MPI_Type_create_subarray and MPI_Type_create_darray (MPI 5.0, sections 5.1.3 and 5.1.4). Both are
 * made dimension by dimension, from the one whose elements are next to each other outwards: blocks of
 * the type so far, resized to the whole of the dimension. */
#include "mpi/comm/raise.h"
#include "mpi/datatype/type.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

/* `blocks` blocks of a dimension of `size` elements. */
static void add_dimension(MPI_Datatype *part, int size, int blocks, const int lengths[], const MPI_Aint starts[])
{
    MPI_Aint extent = type_of(*part)->extent;
    MPI_Datatype cut, whole;
    PMPI_Type_create_hindexed(blocks, lengths, starts, *part, &cut);
    MPI_Aint width = type_distance(size, extent);
    bool is_far = type_of(*part)->far || width == TYPE_FAR;
    PMPI_Type_create_resized(cut, 0, is_far ? 0 : width, &whole);
    type_of(whole)->far = is_far;
    PMPI_Type_free(&cut);
    PMPI_Type_free(part);
    *part = whole;
}

static int check_array(int ndims, int order, MPI_Datatype oldtype)
{
    if (ndims < 1)
        return chq_reason(MPI_ERR_DIMS, "no dimension");
    if (order != MPI_ORDER_C && order != MPI_ORDER_FORTRAN)
        return chq_reason(MPI_ERR_ARG, "unknown order");
    return type_is_valid(type_of(oldtype)) ? MPI_SUCCESS : chq_reason(MPI_ERR_TYPE, "not a datatype");
}

static int check_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[], int order,
                          MPI_Datatype oldtype)
{
    int error = check_array(ndims, order, oldtype);
    for (int i = 0; i < ndims && !error; i++)
        if (sizes[i] < 1 || subsizes[i] < 1 || starts[i] < 0 || starts[i] > sizes[i] - subsizes[i])
            error = chq_reason(MPI_ERR_ARG, "the part is not inside the array");
    return error;
}

int PMPI_Type_create_subarray(int ndims, const int sizes[], const int subsizes[], const int starts[], int order,
                              MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check_subarray(ndims, sizes, subsizes, starts, order, oldtype);
    if (error)
        return chq_fail(NULL, "MPI_Type_create_subarray", error, NULL);
    MPI_Datatype part;
    PMPI_Type_dup(oldtype, &part);
    for (int i = 0; i < ndims; i++) {
        int d = order == MPI_ORDER_C ? ndims - 1 - i : i;
        MPI_Aint start = type_distance(starts[d], type_of(part)->extent);
        add_dimension(&part, sizes[d], 1, &subsizes[d], &start);
    }
    const int *const integers[] = {&ndims, sizes, subsizes, starts, &order};
    const int lengths[] = {1, ndims, ndims, ndims, 1};
    *newtype = chq_type_wrap(MPI_COMBINER_SUBARRAY, 5, integers, lengths, oldtype, part);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_subarray);

/* Elements in a block of one dimension; 0: the arguments make no sense. */
static int block_elements(int size, int distribution, int argument, int processes)
{
    if (distribution == MPI_DISTRIBUTE_NONE)
        return processes == 1 ? size : 0;
    if (argument != MPI_DISTRIBUTE_DFLT_DARG && argument < 1)
        return 0;
    if (distribution == MPI_DISTRIBUTE_CYCLIC)
        return argument == MPI_DISTRIBUTE_DFLT_DARG ? 1 : argument;
    if (distribution != MPI_DISTRIBUTE_BLOCK)
        return 0;
    if (argument == MPI_DISTRIBUTE_DFLT_DARG)
        return (size - 1) / processes + 1;
    return (long)argument * processes >= size ? argument : 0;
}

static int check_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[], const int dargs[],
                        const int psizes[], int order, MPI_Datatype oldtype)
{
    int error = check_array(ndims, order, oldtype);
    long processes = 1;
    for (int i = 0; i < ndims && !error; i++) {
        if (gsizes[i] < 1 || psizes[i] < 1 || block_elements(gsizes[i], distribs[i], dargs[i], psizes[i]) == 0)
            error = chq_reason(MPI_ERR_ARG, "the array can't be distributed like that");
        processes *= psizes[i];
    }
    if (!error && (processes != size || rank < 0 || rank >= size))
        error = chq_reason(MPI_ERR_ARG, "not a rank of the grid of processes");
    return error;
}

/* Every block-th share of a dimension, from that of process `coordinate` on. */
static void distribute(MPI_Datatype *part, int size, int block, int processes, int coordinate)
{
    MPI_Aint extent = type_of(*part)->extent;
    long first = (long)coordinate * block, step = (long)processes * block;
    int blocks = first < size ? (int)((size - 1 - first) / step) + 1 : 0;
    int *lengths = chq_malloc((size_t)blocks * sizeof *lengths);
    MPI_Aint *starts = chq_malloc((size_t)blocks * sizeof *starts);
    for (int i = 0; i < blocks; i++) {
        long at = first + i * step;
        lengths[i] = at + block > size ? (int)(size - at) : block;
        starts[i] = type_distance(at, extent);
    }
    add_dimension(part, size, blocks, lengths, starts);
    free(lengths);
    free(starts);
}

int PMPI_Type_create_darray(int size, int rank, int ndims, const int gsizes[], const int distribs[], const int dargs[],
                            const int psizes[], int order, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    LOCAL_CALL();
    int error = check_darray(size, rank, ndims, gsizes, distribs, dargs, psizes, order, oldtype);
    if (error)
        return chq_fail(NULL, "MPI_Type_create_darray", error, NULL);
    /* Ranks of the grid are in row-major order, whatever that of the array. */
    int *coordinates = chq_malloc((size_t)ndims * sizeof *coordinates);
    for (int i = ndims - 1, left = rank; i >= 0; left /= psizes[i--])
        coordinates[i] = left % psizes[i];
    MPI_Datatype part;
    PMPI_Type_dup(oldtype, &part);
    for (int i = 0; i < ndims; i++) {
        int d = order == MPI_ORDER_C ? ndims - 1 - i : i;
        int block = block_elements(gsizes[d], distribs[d], dargs[d], psizes[d]);
        distribute(&part, gsizes[d], block, psizes[d], coordinates[d]);
    }
    free(coordinates);
    const int *const integers[] = {&size, &rank, &ndims, gsizes, distribs, dargs, psizes, &order};
    const int lengths[] = {1, 1, 1, ndims, ndims, ndims, ndims, 1};
    *newtype = chq_type_wrap(MPI_COMBINER_DARRAY, 8, integers, lengths, oldtype, part);
    return MPI_SUCCESS;
}
MPI_ALIAS(Type_create_darray);
