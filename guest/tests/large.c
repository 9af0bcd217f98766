/* Functions whose counts are MPI_Count: the same as those with int counts, and what fits no int, or no MPI_Count. */
#include <limits.h>
#include <stdint.h>

#include "check.h"

static void messages(void)
{
    int out[4] = {1, 2, 3, 4}, in[4] = {0}, right = (check_rank + 1) % check_size,
        left = (check_rank + check_size - 1) % check_size;
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
    MPI_Type_create_struct_c(2, (MPI_Count[]){1, 2}, (MPI_Count[]){0, far}, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE},
                             &type);
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

static MPI_Count size_of(MPI_Datatype type)
{
    MPI_Count size = -1;
    CHECK_EQUAL(MPI_Type_size_x(type, &size), MPI_SUCCESS);
    return size;
}

static MPI_Count extent_of(MPI_Datatype type)
{
    MPI_Count lb = -1, extent = -1;
    CHECK_EQUAL(MPI_Type_get_extent_x(type, &lb, &extent), MPI_SUCCESS);
    CHECK_EQUAL(lb == MPI_UNDEFINED, extent == MPI_UNDEFINED);
    return extent;
}

static MPI_Count true_extent_of(MPI_Datatype type)
{
    MPI_Count lb = -1, extent = -1;
    CHECK_EQUAL(MPI_Type_get_true_extent_x(type, &lb, &extent), MPI_SUCCESS);
    CHECK_EQUAL(lb == MPI_UNDEFINED, extent == MPI_UNDEFINED);
    return extent;
}

/* What is asked of a type, and whether it may be committed. The type ends here. */
static void expect(MPI_Datatype type, MPI_Count size, MPI_Count extent, MPI_Count true_extent)
{
    MPI_Datatype copy;
    int narrow = -1;
    CHECK_EQUAL(size_of(type), size);
    CHECK_EQUAL(extent_of(type), extent);
    CHECK_EQUAL(true_extent_of(type), true_extent);
    MPI_Type_size(type, &narrow);
    CHECK_EQUAL(narrow, size > INT_MAX ? MPI_UNDEFINED : size);
    MPI_Type_dup(type, &copy);
    CHECK_EQUAL(size_of(copy), size);
    CHECK_EQUAL(extent_of(copy), extent);
    CHECK_EQUAL(true_extent_of(copy), true_extent);
    if (size == MPI_UNDEFINED || extent == MPI_UNDEFINED || true_extent == MPI_UNDEFINED)
        CHECK_EQUAL(MPI_Type_commit(&copy), MPI_ERR_TYPE);
    else
        CHECK_EQUAL(MPI_Type_commit(&copy), MPI_SUCCESS);
    MPI_Type_free(&copy);
    MPI_Type_free(&type);
}

/* (2^31 - 1)^2 bytes, and what no MPI_Count holds. */
static void huge_sizes(MPI_Datatype plane, MPI_Count bytes)
{
    MPI_Datatype type, twice;
    MPI_Type_contiguous(2, plane, &type);
    expect(type, 2 * bytes, 2 * bytes, 2 * bytes);
    MPI_Type_contiguous(3, plane, &type);
    expect(type, MPI_UNDEFINED, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_contiguous(INT_MAX, plane, &type);
    MPI_Type_contiguous(2, type, &twice);
    MPI_Type_free(&type);
    expect(twice, MPI_UNDEFINED, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_contiguous_c((MPI_Count)1 << 60, MPI_DOUBLE, &type);
    expect(type, MPI_UNDEFINED, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_hvector(3, 1, 0, plane, &type); /* Over each other. */
    expect(type, MPI_UNDEFINED, bytes, bytes);
    MPI_Type_contiguous(0, plane, &type);
    expect(type, 0, 0, 0);
    const int lengths[2] = {2, 1};
    MPI_Type_create_hindexed(2, lengths, (MPI_Aint[]){0, 0}, plane, &type);
    expect(type, MPI_UNDEFINED, 2 * bytes, 2 * bytes);
}

/* Few data, far from each other. */
static void far_ends(MPI_Datatype plane, MPI_Count bytes)
{
    const int ones[2] = {1, 1}, ends[2] = {INT_MIN, INT_MAX}, all[3] = {INT_MAX, INT_MAX, INT_MAX}, one[3] = {1, 1, 1},
              first[3] = {0};
    const int last[3] = {INT_MAX - 1, INT_MAX - 1, INT_MAX - 1};
    MPI_Datatype type, resized, marked;
    MPI_Aint place = 0;
    MPI_Aint lb = -1, extent = -1;
    MPI_Type_create_resized(MPI_INT, INT64_MAX, 8, &type);
    MPI_Type_dup(type, &resized);
    MPI_Type_get_extent(resized, &lb, &extent);
    CHECK_EQUAL(lb, INT64_MAX);
    CHECK_EQUAL(extent, 8);
    CHECK_EQUAL(MPI_Type_commit(&resized), MPI_SUCCESS);
    MPI_Type_free(&type);
    MPI_Type_free(&resized);
    MPI_Type_vector(2, 1, INT_MAX, plane, &type);
    MPI_Type_create_resized(type, 0, 64, &resized);
    MPI_Type_ub(type, &place);
    CHECK_EQUAL(place, MPI_UNDEFINED);
    expect(type, 2 * bytes, MPI_UNDEFINED, MPI_UNDEFINED);
    expect(resized, 2 * bytes, 64, MPI_UNDEFINED);
    MPI_Type_vector_c(2, 1, (MPI_Count)1 << 62, MPI_INT, &type);
    expect(type, 8, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_hvector(3, 1, INT64_MAX, MPI_CHAR, &type);
    expect(type, 3, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_indexed(2, ones, ends, plane, &type);
    expect(type, 2 * bytes, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_indexed_block(2, 1, ends, plane, &type);
    expect(type, 2 * bytes, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_indexed_block_c(2, 1, (MPI_Count[]){0, (MPI_Count)1 << 62}, MPI_INT, &type);
    expect(type, 8, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_hindexed(2, ones, (MPI_Aint[]){INT64_MIN, 0}, MPI_CHAR, &type);
    expect(type, 2, MPI_UNDEFINED, MPI_UNDEFINED);
    MPI_Type_create_hindexed(2, ones, (MPI_Aint[]){0, INT64_MAX - 1}, MPI_CHAR, &type);
    expect(type, 2, INT64_MAX, INT64_MAX);
    /* Only the padding is too much. */
    MPI_Type_create_struct(2, ones, (MPI_Aint[]){0, INT64_MAX - 1}, (MPI_Datatype[]){MPI_INT, MPI_CHAR}, &type);
    expect(type, 5, MPI_UNDEFINED, INT64_MAX);
    MPI_Type_create_resized(MPI_INT, INT64_MAX - 3, INT64_MAX, &type);
    MPI_Type_ub(type, &place);
    CHECK_EQUAL(place, MPI_UNDEFINED);
    MPI_Type_contiguous(1, type, &marked);
    expect(marked, 4, MPI_UNDEFINED, 4);
    MPI_Type_free(&type);
    MPI_Type_create_subarray(3, all, one, first, MPI_ORDER_C, MPI_INT, &type);
    expect(type, 4, MPI_UNDEFINED, 4);
    MPI_Type_create_subarray(3, all, one, last, MPI_ORDER_C, MPI_INT, &type);
    expect(type, 4, MPI_UNDEFINED, MPI_UNDEFINED);
}

static void huge_counts(MPI_Datatype plane, MPI_Count bytes)
{
    const MPI_Count many = (MPI_Count)1 << 59;
    MPI_Status status = {0};
    MPI_Count count = -1;
    MPI_Aint external = -1;
    int narrow = -1;
    MPI_Pack_size(INT_MAX, plane, MPI_COMM_WORLD, &narrow);
    CHECK_EQUAL(narrow, MPI_UNDEFINED);
    MPI_Pack_size_c(4, plane, MPI_COMM_WORLD, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    MPI_Pack_size_c(many, MPI_INT, MPI_COMM_WORLD, &count);
    CHECK_EQUAL(count, 4 * many);
    MPI_Pack_external_size("external32", 2, plane, &external);
    CHECK_EQUAL(external, 2 * bytes);
    MPI_Pack_external_size("external32", 4, plane, &external);
    CHECK_EQUAL(external, MPI_UNDEFINED);
    CHECK_EQUAL(MPI_Status_set_elements_x(&status, MPI_DOUBLE, many), MPI_SUCCESS);
    MPI_Get_elements_x(&status, MPI_DOUBLE, &count);
    CHECK_EQUAL(count, many);
    MPI_Get_elements(&status, MPI_DOUBLE, &narrow);
    CHECK_EQUAL(narrow, MPI_UNDEFINED);
    MPI_Get_count(&status, MPI_DOUBLE, &narrow);
    CHECK_EQUAL(narrow, MPI_UNDEFINED);
    MPI_Get_count_c(&status, MPI_DOUBLE, &count);
    CHECK_EQUAL(count, many);
    CHECK_EQUAL(MPI_Status_set_elements_x(&status, MPI_DOUBLE, 8 * many), MPI_ERR_VALUE_TOO_LARGE);
    /* Elements of types that are longer than any message. */
    MPI_Datatype type;
    MPI_Type_contiguous(3, plane, &type);
    CHECK_EQUAL(MPI_Status_set_elements_x(&status, type, 2 * bytes), MPI_SUCCESS);
    MPI_Get_elements_x(&status, type, &count);
    CHECK_EQUAL(count, 2 * bytes);
    MPI_Get_count_c(&status, type, &count);
    CHECK_EQUAL(count, MPI_UNDEFINED);
    CHECK_EQUAL(MPI_Status_set_elements_x(&status, type, INT64_MAX), MPI_SUCCESS);
    MPI_Type_free(&type);
}

static void huge(void)
{
    const MPI_Count bytes = (MPI_Count)INT_MAX * INT_MAX;
    MPI_Datatype row, plane;
    MPI_Type_contiguous(INT_MAX, MPI_CHAR, &row);
    MPI_Type_contiguous(INT_MAX, row, &plane);
    MPI_Type_free(&row);
    CHECK_EQUAL(MPI_Type_commit(&plane), MPI_SUCCESS);
    CHECK_EQUAL(size_of(plane), bytes);
    CHECK_EQUAL(extent_of(plane), bytes);
    huge_sizes(plane, bytes);
    far_ends(plane, bytes);
    huge_counts(plane, bytes);
    MPI_Type_free(&plane);
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    messages();
    types();
    elements();
    huge();
    return check_end("large");
}
