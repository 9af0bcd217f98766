/* Functions with counts of MPI_Count (MPI-4.0; MPI 5.0, section 19.2). The work is that of the
 * functions with int counts, so a count that fits no int is refused; lengths, extents and
 * displacements are 64 bits wide everywhere. */
#include "mpi/bindings/large.h"
#include "mpi/datatype/type.h"
#include "mpi/pt2pt/point.h"
#include "mpi/request/request.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

static int fits(const char *call, MPI_Count count) { return large_fits(NULL, call, count); }

/* Does `work` if the count fits. */
#define IF_FITS(call, count, work)     \
    do {                               \
        int error = fits(call, count); \
        return error ? error : (work); \
    } while (0)

#define SEND(name)                                                                                                 \
    int PMPI_##name##_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm) \
    {                                                                                                              \
        IF_FITS("MPI_" #name "_c", count, PMPI_##name(buf, (int)count, datatype, dest, tag, comm));                \
    }                                                                                                              \
    MPI_ALIAS(name##_c)
SEND(Send);
SEND(Bsend);
SEND(Ssend);
SEND(Rsend);

#define ISEND(name)                                                                                                \
    int PMPI_##name##_c(const void *buf, MPI_Count count, MPI_Datatype datatype, int dest, int tag, MPI_Comm comm, \
                        MPI_Request *request)                                                                      \
    {                                                                                                              \
        IF_FITS("MPI_" #name "_c", count, PMPI_##name(buf, (int)count, datatype, dest, tag, comm, request));       \
    }                                                                                                              \
    MPI_ALIAS(name##_c)
ISEND(Isend);
ISEND(Ibsend);
ISEND(Issend);
ISEND(Irsend);
ISEND(Send_init);
ISEND(Bsend_init);
ISEND(Ssend_init);
ISEND(Rsend_init);

int PMPI_Recv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                MPI_Status *status)
{
    IF_FITS("MPI_Recv_c", count, PMPI_Recv(buf, (int)count, datatype, source, tag, comm, status));
}
MPI_ALIAS(Recv_c);

int PMPI_Irecv_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                 MPI_Request *request)
{
    IF_FITS("MPI_Irecv_c", count, PMPI_Irecv(buf, (int)count, datatype, source, tag, comm, request));
}
MPI_ALIAS(Irecv_c);

int PMPI_Recv_init_c(void *buf, MPI_Count count, MPI_Datatype datatype, int source, int tag, MPI_Comm comm,
                     MPI_Request *request)
{
    IF_FITS("MPI_Recv_init_c", count, PMPI_Recv_init(buf, (int)count, datatype, source, tag, comm, request));
}
MPI_ALIAS(Recv_init_c);

int PMPI_Sendrecv_c(const void *sendbuf, MPI_Count sendcount, MPI_Datatype sendtype, int dest, int sendtag,
                    void *recvbuf, MPI_Count recvcount, MPI_Datatype recvtype, int source, int recvtag, MPI_Comm comm,
                    MPI_Status *status)
{
    IF_FITS("MPI_Sendrecv_c", sendcount > recvcount ? sendcount : recvcount,
            PMPI_Sendrecv(sendbuf, (int)sendcount, sendtype, dest, sendtag, recvbuf, (int)recvcount, recvtype, source,
                          recvtag, comm, status));
}
MPI_ALIAS(Sendrecv_c);

int PMPI_Get_count_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    struct datatype *type = type_of(datatype);
    if (!type_is_valid(type))
        return chq_fail(NULL, "MPI_Get_count_c", MPI_ERR_TYPE, "not a datatype");
    size_t bytes = chq_status_bytes(status);
    if (type->size == 0)
        *count = bytes ? MPI_UNDEFINED : 0;
    else
        *count = bytes % type->size ? MPI_UNDEFINED : (MPI_Count)(bytes / type->size);
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_count_c);

int PMPI_Get_elements_c(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    return PMPI_Get_elements_x(status, datatype, count);
}
MPI_ALIAS(Get_elements_c);

int PMPI_Status_set_elements_c(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    return PMPI_Status_set_elements_x(status, datatype, count);
}
MPI_ALIAS(Status_set_elements_c);

int PMPI_Type_size_c(MPI_Datatype datatype, MPI_Count *size) { return PMPI_Type_size_x(datatype, size); }
MPI_ALIAS(Type_size_c);

int PMPI_Type_get_extent_c(MPI_Datatype datatype, MPI_Count *lb, MPI_Count *extent)
{
    return PMPI_Type_get_extent_x(datatype, lb, extent);
}
MPI_ALIAS(Type_get_extent_c);

int PMPI_Type_get_true_extent_c(MPI_Datatype datatype, MPI_Count *true_lb, MPI_Count *true_extent)
{
    return PMPI_Type_get_true_extent_x(datatype, true_lb, true_extent);
}
MPI_ALIAS(Type_get_true_extent_c);

/* More than an int counts: rows of LONG_ROW elements, then the rest. */
static int contiguous_rows(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    enum { LONG_ROW = 1 << 30 };
    MPI_Aint lb, extent;
    MPI_Datatype row;
    int error = fits("MPI_Type_contiguous_c", count / LONG_ROW);
    if (!error)
        error = PMPI_Type_get_extent(oldtype, &lb, &extent);
    if (!error)
        error = PMPI_Type_contiguous(LONG_ROW, oldtype, &row);
    if (error)
        return error;
    const int lengths[2] = {(int)(count / LONG_ROW), (int)(count % LONG_ROW)};
    const MPI_Aint at[2] = {0, type_distance(lengths[0] * (MPI_Aint)LONG_ROW, extent)};
    const MPI_Datatype types[2] = {row, oldtype};
    error = PMPI_Type_create_struct(2, lengths, at, types, newtype);
    PMPI_Type_free(&row);
    return error;
}

int PMPI_Type_contiguous_c(MPI_Count count, MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    if (count > INT_MAX)
        return contiguous_rows(count, oldtype, newtype);
    return PMPI_Type_contiguous(count < 0 ? -1 : (int)count, oldtype, newtype);
}
MPI_ALIAS(Type_contiguous_c);

/* A stride in elements may be longer than an int: in bytes it fits. */
int PMPI_Type_vector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                       MPI_Datatype *newtype)
{
    MPI_Aint lb, extent;
    int error = fits("MPI_Type_vector_c", count > blocklength ? count : blocklength);
    if (error)
        return error;
    if (stride >= INT_MIN && stride <= INT_MAX)
        return PMPI_Type_vector((int)count, (int)blocklength, (int)stride, oldtype, newtype);
    error = PMPI_Type_get_extent(oldtype, &lb, &extent);
    return error ? error
                 : PMPI_Type_create_hvector((int)count, (int)blocklength, type_distance(stride, extent), oldtype,
                                            newtype);
}
MPI_ALIAS(Type_vector_c);

int PMPI_Type_create_hvector_c(MPI_Count count, MPI_Count blocklength, MPI_Count stride, MPI_Datatype oldtype,
                               MPI_Datatype *newtype)
{
    IF_FITS("MPI_Type_create_hvector_c", count > blocklength ? count : blocklength,
            PMPI_Type_create_hvector((int)count, (int)blocklength, stride, oldtype, newtype));
}
MPI_ALIAS(Type_create_hvector_c);

int PMPI_Type_create_resized_c(MPI_Datatype oldtype, MPI_Count lb, MPI_Count extent, MPI_Datatype *newtype)
{
    return PMPI_Type_create_resized(oldtype, lb, extent, newtype);
}
MPI_ALIAS(Type_create_resized_c);

int PMPI_Pack_size_c(MPI_Count incount, MPI_Datatype datatype, MPI_Comm comm, MPI_Count *size)
{
    int one = 0;
    int error = PMPI_Pack_size(incount < 0 ? -1 : 1, datatype, comm, &one);
    if (error)
        return error;
    size_t bytes = type_product((size_t)incount, type_of(datatype)->size);
    *size = bytes == TYPE_HUGE ? MPI_UNDEFINED : (MPI_Count)bytes;
    return MPI_SUCCESS;
}
MPI_ALIAS(Pack_size_c);

/* The lengths as ints; null, with the error raised, where one doesn't fit. */
static int *narrow(const char *call, MPI_Count count, const MPI_Count lengths[], int *error)
{
    *error = fits(call, count);
    for (MPI_Count i = 0; i < count && !*error; i++)
        *error = fits(call, lengths[i]);
    if (*error)
        return NULL;
    int *ints = chq_malloc((size_t)count * sizeof *ints);
    for (MPI_Count i = 0; i < count; i++)
        ints[i] = (int)lengths[i];
    return ints;
}

_Static_assert(sizeof(MPI_Count) == sizeof(MPI_Aint), "displacements need no conversion");

int PMPI_Type_create_hindexed_c(MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displacements[],
                                MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    int error, *lengths = narrow("MPI_Type_create_hindexed_c", count, blocklengths, &error);
    if (!error)
        error = PMPI_Type_create_hindexed((int)count, lengths, (const MPI_Aint *)displacements, oldtype, newtype);
    free(lengths);
    return error;
}
MPI_ALIAS(Type_create_hindexed_c);

int PMPI_Type_create_struct_c(MPI_Count count, const MPI_Count blocklengths[], const MPI_Count displacements[],
                              const MPI_Datatype types[], MPI_Datatype *newtype)
{
    int error, *lengths = narrow("MPI_Type_create_struct_c", count, blocklengths, &error);
    if (!error)
        error = PMPI_Type_create_struct((int)count, lengths, (const MPI_Aint *)displacements, types, newtype);
    free(lengths);
    return error;
}
MPI_ALIAS(Type_create_struct_c);

/* Displacements in elements may be longer than an int: in bytes they fit. */
int PMPI_Type_create_indexed_block_c(MPI_Count count, MPI_Count blocklength, const MPI_Count displacements[],
                                     MPI_Datatype oldtype, MPI_Datatype *newtype)
{
    MPI_Aint lb, extent;
    int error = fits("MPI_Type_create_indexed_block_c", count > blocklength ? count : blocklength);
    if (!error)
        error = PMPI_Type_get_extent(oldtype, &lb, &extent);
    if (error)
        return error;
    MPI_Aint *bytes = chq_malloc((size_t)count * sizeof *bytes);
    for (MPI_Count i = 0; i < count; i++)
        bytes[i] = type_distance(displacements[i], extent);
    error = PMPI_Type_create_hindexed_block((int)count, (int)blocklength, bytes, oldtype, newtype);
    free(bytes);
    return error;
}
MPI_ALIAS(Type_create_indexed_block_c);
