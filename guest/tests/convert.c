/* Handles between C and Fortran, and as integers: predefined ones keep their values, others get a
 * number once and keep it; statuses. */
#include "check.h"

#define PREDEFINED(kind, handle)                                             \
    do {                                                                     \
        CHECK_EQUAL(MPI_##kind##_c2f(handle), (MPI_Fint)(intptr_t)(handle)); \
        CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle));       \
        CHECK_EQUAL(MPI_##kind##_toint(handle), (int)(intptr_t)(handle));    \
        CHECK(MPI_##kind##_fromint(MPI_##kind##_toint(handle)) == (handle)); \
    } while (0)

#define MADE(kind, handle)                                                   \
    do {                                                                     \
        CHECK(MPI_##kind##_c2f(handle) >= 0x1000);                           \
        CHECK_EQUAL(MPI_##kind##_c2f(handle), MPI_##kind##_c2f(handle));     \
        CHECK(MPI_##kind##_f2c(MPI_##kind##_c2f(handle)) == (handle));       \
        CHECK(MPI_##kind##_fromint(MPI_##kind##_toint(handle)) == (handle)); \
    } while (0)

static void user_operator(void *in, void *inout, int *length, MPI_Datatype *datatype)
{
    (void)in, (void)inout, (void)length, (void)datatype;
}

static void handler(MPI_Comm *comm, int *code, ...) { (void)comm, (void)code; }

static void predefined(void)
{
    PREDEFINED(Comm, MPI_COMM_NULL);
    PREDEFINED(Comm, MPI_COMM_WORLD);
    PREDEFINED(Comm, MPI_COMM_SELF);
    PREDEFINED(Errhandler, MPI_ERRORS_RETURN);
    PREDEFINED(Group, MPI_GROUP_EMPTY);
    PREDEFINED(Info, MPI_INFO_NULL);
    PREDEFINED(Message, MPI_MESSAGE_NO_PROC);
    PREDEFINED(Op, MPI_MAXLOC);
    PREDEFINED(Request, MPI_REQUEST_NULL);
    PREDEFINED(Type, MPI_DATATYPE_NULL);
    PREDEFINED(Type, MPI_DOUBLE);
}

static void made(void)
{
    MPI_Comm comm;
    MPI_Errhandler errhandler;
    MPI_Group group;
    MPI_Info info;
    MPI_Op op;
    MPI_Request request;
    int value = 1;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_create_errhandler(handler, &errhandler);
    MPI_Comm_group(comm, &group);
    MPI_Info_create(&info);
    MPI_Op_create(user_operator, 1, &op);
    MPI_Irecv(&value, 1, MPI_INT, check_rank, 0, comm, &request);
    MADE(Comm, comm);
    MADE(Errhandler, errhandler);
    MADE(Group, group);
    MADE(Info, info);
    MADE(Op, op);
    MADE(Request, request);
    MPI_Send(&value, 1, MPI_INT, check_rank, 0, MPI_Comm_f2c(MPI_Comm_c2f(comm)));
    MPI_Request again = MPI_Request_f2c(MPI_Request_c2f(request));
    CHECK_EQUAL(MPI_Wait(&again, MPI_STATUS_IGNORE), MPI_SUCCESS);
    MPI_Op_free(&op);
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Errhandler_free(&errhandler);
    MPI_Comm_free(&comm);
}

/* More handles than the table has room for at first. */
static void many(void)
{
    enum { TYPES = 500 };
    static MPI_Datatype types[TYPES];
    static MPI_Fint numbers[TYPES];
    for (int i = 0; i < TYPES; i++) {
        MPI_Type_contiguous(i + 1, MPI_INT, &types[i]);
        numbers[i] = MPI_Type_c2f(types[i]);
    }
    for (int i = 0; i < TYPES; i++) {
        int size = 0;
        CHECK_EQUAL(MPI_Type_c2f(types[i]), numbers[i]);
        MPI_Type_size(MPI_Type_f2c(numbers[i]), &size);
        CHECK_EQUAL(size, (i + 1) * (int)sizeof(int));
        MPI_Type_free(&types[i]);
    }
}

static void nothing(void)
{
    int size;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK_EQUAL(MPI_Comm_size(MPI_Comm_f2c(123456789), &size), MPI_ERR_COMM);
    CHECK_EQUAL(MPI_Comm_size(MPI_Comm_f2c(-1), &size), MPI_ERR_COMM);
    CHECK_EQUAL(MPI_Type_size(MPI_Type_f2c(123456789), &size), MPI_ERR_TYPE);
}

static void statuses(void)
{
    MPI_Status status, back;
    MPI_Fint integers[MPI_F_STATUS_SIZE];
    int values[3] = {1, 2, 3}, got[3], count = 0;
    MPI_Sendrecv(values, 3, MPI_INT, check_rank, 77, got, 3, MPI_INT, check_rank, 77, MPI_COMM_WORLD, &status);
    status.MPI_ERROR = MPI_ERR_TAG;
    CHECK_EQUAL(MPI_Status_c2f(&status, integers), MPI_SUCCESS);
    CHECK_EQUAL(integers[MPI_F_SOURCE], check_rank);
    CHECK_EQUAL(integers[MPI_F_TAG], 77);
    CHECK_EQUAL(integers[MPI_F_ERROR], MPI_ERR_TAG);
    CHECK_EQUAL(MPI_Status_f2c(integers, &back), MPI_SUCCESS);
    MPI_Get_count(&back, MPI_INT, &count);
    CHECK_EQUAL(count, 3);
    CHECK_EQUAL(back.MPI_TAG, 77);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    predefined();
    made();
    many();
    nothing();
    statuses();
    return check_end("convert");
}
