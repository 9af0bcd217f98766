/* MPI_Status. Of the ABI's internal words, 0 and 1 hold the length of the data, 2 whether the
 * operation was cancelled. */
#include "mpi/comm/raise.h"
#include "mpi/request/request.h"
#include "mpi/runtime/platform.h"

void chq_status_set(MPI_Status *status, int source, int tag, size_t bytes, bool cancelled)
{
    status->MPI_SOURCE = source;
    status->MPI_TAG = tag;
    status->MPI_internal[0] = (int)(uint32_t)bytes;
    status->MPI_internal[1] = (int)(uint32_t)((uint64_t)bytes >> 32);
    status->MPI_internal[2] = cancelled;
}

size_t chq_status_bytes(const MPI_Status *status)
{
    return (size_t)((uint64_t)(uint32_t)status->MPI_internal[1] << 32 | (uint32_t)status->MPI_internal[0]);
}

void chq_status_empty(MPI_Status *status) { chq_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, false); }

void chq_status_of(const struct request *request, MPI_Status *status)
{
    if (request->kind != REQUEST_RECEIVE) {
        chq_status_set(status, MPI_ANY_SOURCE, MPI_ANY_TAG, 0, request->cancelled);
        return;
    }
    /* MPI_PROC_NULL or cancelled: no world rank (section 3.10). */
    int source = likely(request->source != MATCH_ANY_SOURCE) ? comm_rank_of_world(request->comm, request->source)
                 : request->cancelled                        ? MPI_ANY_SOURCE
                                                             : MPI_PROC_NULL;
    chq_status_set(status, source, request->tag, request->got, request->cancelled);
}

int PMPI_Get_count(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    struct datatype *type = type_of(datatype);
    if (!type_is_valid(type))
        return chq_fail(NULL, "MPI_Get_count", MPI_ERR_TYPE, "not a datatype");
    size_t bytes = chq_status_bytes(status);
    size_t whole = type->size ? bytes / type->size : 0;
    if (type->size == 0 ? bytes != 0 : whole * type->size != bytes || whole > INT32_MAX)
        *count = MPI_UNDEFINED;
    else
        *count = (int)whole;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_count);

int PMPI_Get_elements_x(const MPI_Status *status, MPI_Datatype datatype, MPI_Count *count)
{
    struct datatype *type = type_of(datatype);
    if (!type_is_valid(type))
        return chq_fail(NULL, "MPI_Get_elements_x", MPI_ERR_TYPE, "not a datatype");
    int64_t elements = chq_elements(type, chq_status_bytes(status));
    *count = elements < 0 ? MPI_UNDEFINED : elements;
    return MPI_SUCCESS;
}
MPI_ALIAS(Get_elements_x);

int PMPI_Get_elements(const MPI_Status *status, MPI_Datatype datatype, int *count)
{
    MPI_Count elements = 0;
    int error = PMPI_Get_elements_x(status, datatype, &elements);
    *count = elements > INT32_MAX ? MPI_UNDEFINED : (int)elements;
    return error;
}
MPI_ALIAS(Get_elements);

#define STATUS_FIELD(name, field)                                   \
    int PMPI_Status_get_##name(const MPI_Status *status, int *name) \
    {                                                               \
        *name = status->field;                                      \
        return MPI_SUCCESS;                                         \
    }                                                               \
    MPI_ALIAS(Status_get_##name);                                   \
    int PMPI_Status_set_##name(MPI_Status *status, int name)        \
    {                                                               \
        status->field = name;                                       \
        return MPI_SUCCESS;                                         \
    }                                                               \
    MPI_ALIAS(Status_set_##name)

STATUS_FIELD(source, MPI_SOURCE);
STATUS_FIELD(tag, MPI_TAG);
STATUS_FIELD(error, MPI_ERROR);

int PMPI_Test_cancelled(const MPI_Status *status, int *flag)
{
    *flag = status->MPI_internal[2] != 0;
    return MPI_SUCCESS;
}
MPI_ALIAS(Test_cancelled);

int PMPI_Status_set_cancelled(MPI_Status *status, int flag)
{
    status->MPI_internal[2] = flag != 0;
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_set_cancelled);

int PMPI_Status_set_elements_x(MPI_Status *status, MPI_Datatype datatype, MPI_Count count)
{
    struct datatype *type = type_of(datatype);
    if (!type_is_valid(type))
        return chq_fail(NULL, "MPI_Status_set_elements_x", MPI_ERR_TYPE, "not a datatype");
    if (count < 0)
        return chq_fail(NULL, "MPI_Status_set_elements_x", MPI_ERR_COUNT, "negative count");
    size_t bytes = chq_element_bytes(type, (size_t)count);
    if (bytes == TYPE_HUGE)
        return chq_fail(NULL, "MPI_Status_set_elements_x", MPI_ERR_VALUE_TOO_LARGE, "more bytes than MPI_Count counts");
    chq_status_set(status, status->MPI_SOURCE, status->MPI_TAG, bytes, status->MPI_internal[2]);
    return MPI_SUCCESS;
}
MPI_ALIAS(Status_set_elements_x);

int PMPI_Status_set_elements(MPI_Status *status, MPI_Datatype datatype, int count)
{
    return PMPI_Status_set_elements_x(status, datatype, count);
}
MPI_ALIAS(Status_set_elements);
