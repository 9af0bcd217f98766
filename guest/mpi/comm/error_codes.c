/* Error classes and codes as texts, and those that the program adds (MPI 5.0, sections 9.4, 9.5). */
#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/text.h"
#include "mpi/runtime/thread.h"

static const char *const texts[] = {
    [MPI_SUCCESS] = "MPI_SUCCESS: no error",
    [MPI_ERR_BUFFER] = "MPI_ERR_BUFFER: invalid buffer",
    [MPI_ERR_COUNT] = "MPI_ERR_COUNT: invalid count",
    [MPI_ERR_TYPE] = "MPI_ERR_TYPE: invalid datatype",
    [MPI_ERR_TAG] = "MPI_ERR_TAG: invalid tag",
    [MPI_ERR_COMM] = "MPI_ERR_COMM: invalid communicator",
    [MPI_ERR_RANK] = "MPI_ERR_RANK: invalid rank",
    [MPI_ERR_REQUEST] = "MPI_ERR_REQUEST: invalid request",
    [MPI_ERR_ROOT] = "MPI_ERR_ROOT: invalid root",
    [MPI_ERR_GROUP] = "MPI_ERR_GROUP: invalid group",
    [MPI_ERR_OP] = "MPI_ERR_OP: invalid operation",
    [MPI_ERR_TOPOLOGY] = "MPI_ERR_TOPOLOGY: invalid topology",
    [MPI_ERR_DIMS] = "MPI_ERR_DIMS: invalid dimensions",
    [MPI_ERR_ARG] = "MPI_ERR_ARG: invalid argument",
    [MPI_ERR_UNKNOWN] = "MPI_ERR_UNKNOWN: unknown error",
    [MPI_ERR_TRUNCATE] = "MPI_ERR_TRUNCATE: message truncated on receive",
    [MPI_ERR_OTHER] = "MPI_ERR_OTHER: other error",
    [MPI_ERR_INTERN] = "MPI_ERR_INTERN: internal error",
    [MPI_ERR_PENDING] = "MPI_ERR_PENDING: operation not complete",
    [MPI_ERR_IN_STATUS] = "MPI_ERR_IN_STATUS: error code is in the status",
    [MPI_ERR_ACCESS] = "MPI_ERR_ACCESS: permission denied",
    [MPI_ERR_AMODE] = "MPI_ERR_AMODE: invalid access mode",
    [MPI_ERR_ASSERT] = "MPI_ERR_ASSERT: invalid assertion",
    [MPI_ERR_BAD_FILE] = "MPI_ERR_BAD_FILE: invalid file name",
    [MPI_ERR_BASE] = "MPI_ERR_BASE: invalid base of memory",
    [MPI_ERR_CONVERSION] = "MPI_ERR_CONVERSION: error in a data conversion function",
    [MPI_ERR_DISP] = "MPI_ERR_DISP: invalid displacement",
    [MPI_ERR_DUP_DATAREP] = "MPI_ERR_DUP_DATAREP: data representation defined twice",
    [MPI_ERR_FILE_EXISTS] = "MPI_ERR_FILE_EXISTS: file exists",
    [MPI_ERR_FILE_IN_USE] = "MPI_ERR_FILE_IN_USE: file is in use",
    [MPI_ERR_FILE] = "MPI_ERR_FILE: invalid file",
    [MPI_ERR_INFO_KEY] = "MPI_ERR_INFO_KEY: invalid info key",
    [MPI_ERR_INFO_NOKEY] = "MPI_ERR_INFO_NOKEY: no such info key",
    [MPI_ERR_INFO_VALUE] = "MPI_ERR_INFO_VALUE: invalid info value",
    [MPI_ERR_INFO] = "MPI_ERR_INFO: invalid info object",
    [MPI_ERR_IO] = "MPI_ERR_IO: error of input or output",
    [MPI_ERR_KEYVAL] = "MPI_ERR_KEYVAL: invalid attribute key",
    [MPI_ERR_LOCKTYPE] = "MPI_ERR_LOCKTYPE: invalid type of lock",
    [MPI_ERR_NAME] = "MPI_ERR_NAME: invalid name",
    [MPI_ERR_NO_MEM] = "MPI_ERR_NO_MEM: out of memory",
    [MPI_ERR_NOT_SAME] = "MPI_ERR_NOT_SAME: arguments differ between processes",
    [MPI_ERR_NO_SPACE] = "MPI_ERR_NO_SPACE: not enough space",
    [MPI_ERR_NO_SUCH_FILE] = "MPI_ERR_NO_SUCH_FILE: no such file",
    [MPI_ERR_PORT] = "MPI_ERR_PORT: invalid port",
    [MPI_ERR_QUOTA] = "MPI_ERR_QUOTA: quota exceeded",
    [MPI_ERR_READ_ONLY] = "MPI_ERR_READ_ONLY: file or file system is read-only",
    [MPI_ERR_RMA_ATTACH] = "MPI_ERR_RMA_ATTACH: memory can't be attached",
    [MPI_ERR_RMA_CONFLICT] = "MPI_ERR_RMA_CONFLICT: conflicting accesses to a window",
    [MPI_ERR_RMA_RANGE] = "MPI_ERR_RMA_RANGE: memory is not part of the window",
    [MPI_ERR_RMA_SHARED] = "MPI_ERR_RMA_SHARED: memory can't be shared",
    [MPI_ERR_RMA_SYNC] = "MPI_ERR_RMA_SYNC: wrong synchronization of a window",
    [MPI_ERR_SERVICE] = "MPI_ERR_SERVICE: service can't be unpublished",
    [MPI_ERR_SIZE] = "MPI_ERR_SIZE: invalid size",
    [MPI_ERR_SPAWN] = "MPI_ERR_SPAWN: processes can't be started",
    [MPI_ERR_UNSUPPORTED_DATAREP] = "MPI_ERR_UNSUPPORTED_DATAREP: unsupported data representation",
    [MPI_ERR_UNSUPPORTED_OPERATION] = "MPI_ERR_UNSUPPORTED_OPERATION: unsupported operation",
    [MPI_ERR_WIN] = "MPI_ERR_WIN: invalid window",
    [MPI_ERR_RMA_FLAVOR] = "MPI_ERR_RMA_FLAVOR: wrong flavor of window",
    [MPI_ERR_PROC_ABORTED] = "MPI_ERR_PROC_ABORTED: a process has aborted",
    [MPI_ERR_VALUE_TOO_LARGE] = "MPI_ERR_VALUE_TOO_LARGE: value too large",
    [MPI_ERR_SESSION] = "MPI_ERR_SESSION: invalid session",
    [MPI_ERR_ERRHANDLER] = "MPI_ERR_ERRHANDLER: invalid error handler",
    [MPI_ERR_ABI] = "MPI_ERR_ABI: ABI error",
};

/* What the program adds, above the standard's codes. */
enum { ADDED_FIRST = 1001, ADDED_MAX = 256 };
static struct {
    int class; /* 0: not in use. */
    char *text;
} added[ADDED_MAX];
static int added_count;

static int is_added(int code)
{
    return code >= ADDED_FIRST && code < ADDED_FIRST + added_count && added[code - ADDED_FIRST].class != 0;
}
static int is_standard(int code) { return code >= 0 && code <= MPI_ERR_ABI; }

const char *chq_error_text(int code)
{
    if (is_added(code))
        return added[code - ADDED_FIRST].text ? added[code - ADDED_FIRST].text : "";
    if (is_standard(code))
        return texts[code];
    return "unknown error code";
}

static int add(int class)
{
    if (added_count == ADDED_MAX)
        chq_die("more error codes added than there is room for");
    added[added_count].class = class;
    return ADDED_FIRST + added_count++;
}

int PMPI_Add_error_class(int *errorclass)
{
    LOCAL_CALL_AT_ANY_TIME();
    *errorclass = add(0);
    added[*errorclass - ADDED_FIRST].class = *errorclass;
    return MPI_SUCCESS;
}
MPI_ALIAS(Add_error_class);

int PMPI_Add_error_code(int errorclass, int *errorcode)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_standard(errorclass) && !is_added(errorclass))
        return chq_fail(NULL, "MPI_Add_error_code", MPI_ERR_ARG, "not an error class");
    *errorcode = add(errorclass);
    return MPI_SUCCESS;
}
MPI_ALIAS(Add_error_code);

int PMPI_Add_error_string(int errorcode, const char *string)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_added(errorcode))
        return chq_fail(NULL, "MPI_Add_error_string", MPI_ERR_ARG, "not a code that the program added");
    char **text = &added[errorcode - ADDED_FIRST].text;
    free(*text);
    *text = chq_malloc(MPI_MAX_ERROR_STRING);
    text_copy(*text, string, MPI_MAX_ERROR_STRING);
    return MPI_SUCCESS;
}
MPI_ALIAS(Add_error_string);

/* A place in the middle stays empty: codes that are still in use must keep their numbers. */
static void remove_code(int code)
{
    free(added[code - ADDED_FIRST].text);
    added[code - ADDED_FIRST].text = NULL;
    added[code - ADDED_FIRST].class = 0;
    while (added_count > 0 && added[added_count - 1].class == 0)
        added_count--;
}

int PMPI_Remove_error_class(int errorclass)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_added(errorclass) || added[errorclass - ADDED_FIRST].class != errorclass)
        return chq_fail(NULL, "MPI_Remove_error_class", MPI_ERR_ARG, "not a class that the program added");
    for (int i = 0; i < added_count; i++)
        if (added[i].class == errorclass && ADDED_FIRST + i != errorclass)
            return chq_fail(NULL, "MPI_Remove_error_class", MPI_ERR_ARG, "there are still codes of the class");
    remove_code(errorclass);
    return MPI_SUCCESS;
}
MPI_ALIAS(Remove_error_class);

int PMPI_Remove_error_code(int errorcode)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_added(errorcode) || added[errorcode - ADDED_FIRST].class == errorcode)
        return chq_fail(NULL, "MPI_Remove_error_code", MPI_ERR_ARG, "not a code that the program added");
    remove_code(errorcode);
    return MPI_SUCCESS;
}
MPI_ALIAS(Remove_error_code);

int PMPI_Remove_error_string(int errorcode)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_added(errorcode) || !added[errorcode - ADDED_FIRST].text)
        return chq_fail(NULL, "MPI_Remove_error_string", MPI_ERR_ARG, "not a code with a text that the program added");
    free(added[errorcode - ADDED_FIRST].text);
    added[errorcode - ADDED_FIRST].text = NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Remove_error_string);

int PMPI_Error_class(int errorcode, int *errorclass)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_standard(errorcode) && !is_added(errorcode))
        return chq_fail(NULL, "MPI_Error_class", MPI_ERR_ARG, "not an error code");
    *errorclass = is_added(errorcode) ? added[errorcode - ADDED_FIRST].class : errorcode;
    return MPI_SUCCESS;
}
MPI_ALIAS(Error_class);

int PMPI_Error_string(int errorcode, char *string, int *resultlen)
{
    LOCAL_CALL_AT_ANY_TIME();
    if (!is_standard(errorcode) && !is_added(errorcode))
        return chq_fail(NULL, "MPI_Error_string", MPI_ERR_ARG, "not an error code");
    *resultlen = (int)text_copy(string, chq_error_text(errorcode), MPI_MAX_ERROR_STRING);
    return MPI_SUCCESS;
}
MPI_ALIAS(Error_string);

/* For the attribute MPI_LASTUSEDCODE. */
int chq_last_used_code(void) { return added_count ? ADDED_FIRST + added_count - 1 : MPI_ERR_LASTCODE; }
