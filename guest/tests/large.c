/* Functions whose counts are MPI_Count: the same as those with int counts, and what fits no int. */
#include "check.h"

static void messages(void)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    MPI_Request requests[2];
    MPI_Status status;
    MPI_Count count = 0;
    MPI_Irecv_c(in, 4, MPI_INT, left, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend_c(out, 3, MPI_INT, right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[0], &status);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Get_count_c(&status, MPI_INT, &count);
    CHECK(count == 3 && in[2] == 3);
    MPI_Get_count_c(&status, MPI_DOUBLE, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Get_elements_c(&status, MPI_INT, &count);
    CHECK_EQUAL(count, 3);
    MPI_Sendrecv_c(out, 4, MPI_INT, right, 2, in, 4, MPI_INT, left, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[3], 4);
    MPI_Recv_init_c(in, 1, MPI_INT, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Start(&requests[0]);
    MPI_Send_c(out + 1, 1, MPI_INT, right, 3, MPI_COMM_WORLD);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    CHECK_EQUAL(in[0], 2);
    MPI_Request_free(&requests[0]);
}

static void types(void)
{
    const MPI_Count far = (MPI_Count)1 << 33;
    MPI_Datatype type;
    MPI_Count size = 0, lb = 1, extent = 0;
    MPI_Type_vector_c(2, 1, far, MPI_INT, &type);
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    CHECK(lb == 0 && extent == 4 * far + 4);
    MPI_Type_size_c(type, &size);
    CHECK_EQUAL(size, 8);
    MPI_Type_free(&type);
    MPI_Type_create_hvector_c(3, 1, far, MPI_INT, &type);
    MPI_Type_get_extent_c(type, &lb, &extent);
    CHECK_EQUAL(extent, 2 * far + 4);
    MPI_Type_free(&type);
    MPI_Type_create_resized_c(MPI_INT, -far, 2 * far, &type);
    MPI_Type_get_extent_c(type, &lb, &extent);
    CHECK(lb == -far && extent == 2 * far);
    MPI_Type_free(&type);
    MPI_Type_contiguous_c(1 << 30, MPI_DOUBLE, &type);
    MPI_Pack_size_c(4, type, MPI_COMM_WORLD, &size);
    CHECK_EQUAL(size, 4 * far);
    MPI_Type_free(&type);
    MPI_Type_contiguous_c(far + 5, MPI_INT, &type);
    MPI_Type_get_extent_c(type, &lb, &extent);
    MPI_Type_size_c(type, &size);
    CHECK(lb == 0 && extent == 4 * (far + 5) && size == extent);
    MPI_Type_free(&type);
    MPI_Type_create_indexed_block_c(2, 3, (MPI_Count[]){far, 0}, MPI_INT, &type);
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    CHECK(lb == 0 && extent == 4 * (far + 3));
    MPI_Type_free(&type);
    MPI_Type_create_hindexed_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){-far, far}, MPI_INT, &type);
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    CHECK(lb == -far && extent == 2 * far + 8);
    MPI_Type_free(&type);
    MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){0, far}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE}, &type);
    MPI_Type_get_true_extent_c(type, &lb, &extent);
    CHECK_EQUAL(extent, far + 16);
    MPI_Type_free(&type);
    CHECK_EQUAL(MPI_Type_create_hindexed_c(1, &far, &far, MPI_INT, &type), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Type_contiguous_c(-far, MPI_INT, &type), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Send_c(&size, far, MPI_BYTE, 0, 0, MPI_COMM_WORLD), MPI_ERR_VALUE_TOO_LARGE);
    CHECK_EQUAL(MPI_Send_c(&size, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
    CHECK_EQUAL(MPI_Pack_size_c(-1, MPI_INT, MPI_COMM_WORLD, &size), MPI_ERR_COUNT);
}

/* Elements of different sizes: a number of them is a number of bytes only by going through the type. */
static void elements(void)
{
    const int lengths[3] = {1, 2, 1};
    const MPI_Aint at[3] = {0, 8, 24};
    const MPI_Datatype of[3] = {MPI_CHAR, MPI_DOUBLE, MPI_SHORT_INT};
    MPI_Datatype type;
    MPI_Status status = {0};
    MPI_Type_create_struct(3, lengths, at, of, &type);
    for (int i = 0; i <= 12; i++) {
        MPI_Count got = -1;
        int whole = -1;
        MPI_Status_set_elements_c(&status, type, i);
        MPI_Get_elements_c(&status, type, &got);
        CHECK_EQUAL(got, i);
        MPI_Get_count(&status, type, &whole);
        CHECK_EQUAL(whole, i % 5 ? MPI_UNDEFINED : i / 5);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    messages();
    types();
    elements();
    return check_end("large");
}
