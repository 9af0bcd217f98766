/* Attributes of communicators and datatypes: what the functions are called with, in which order,
 * what their errors do, and the predefined ones. */
#include "check.h"

static int class_of(int error)
{
    int class = -1;
    MPI_Error_class(error, &class);
    return class;
}

#define FAILS(call, wanted) CHECK_EQUAL(class_of(call), wanted)

/* What the functions below were called for: the digits of the attributes' values, in order. */
static long log_of_deletions;
static int copies, refuse_copy, refuse_deletion, extra;
static char base[10];

static int copy(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval;
    CHECK(extra_state == &extra);
    copies++;
    *(void **)out = (char *)in + 1;
    *flag = 1;
    return refuse_copy ? MPI_ERR_OTHER : MPI_SUCCESS;
}
static int no_copy(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    (void)comm, (void)keyval, (void)extra_state, (void)in, (void)out;
    *flag = 0;
    return MPI_SUCCESS;
}
static int deletion(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    CHECK(extra_state == &extra);
    CHECK(keyval != MPI_KEYVAL_INVALID);
    if (refuse_deletion)
        return MPI_ERR_OTHER;
    int size;
    CHECK_EQUAL(MPI_Comm_size(comm, &size), MPI_SUCCESS);
    log_of_deletions = 10 * log_of_deletions + ((char *)value - base);
    return MPI_SUCCESS;
}
static int copy_type(MPI_Datatype type, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    int size;
    CHECK_EQUAL(MPI_Type_size(type, &size), MPI_SUCCESS);
    return copy(MPI_COMM_SELF, keyval, extra_state, in, out, flag);
}
static int delete_type(MPI_Datatype type, int keyval, void *value, void *extra_state)
{
    int size;
    CHECK_EQUAL(MPI_Type_size(type, &size), MPI_SUCCESS);
    return deletion(MPI_COMM_SELF, keyval, value, extra_state);
}

static int predefined(int keyval, int *flag)
{
    int *value = NULL;
    MPI_Comm_get_attr(MPI_COMM_WORLD, keyval, &value, flag);
    return *flag ? *value : 0;
}

static void predefined_ones(void)
{
    int flag, class, *value;
    CHECK(predefined(MPI_TAG_UB, &flag) >= 32767 && flag);
    CHECK(predefined(MPI_HOST, &flag) == MPI_PROC_NULL && flag);
    predefined(MPI_IO, &flag);
    CHECK(flag);
    CHECK(predefined(MPI_WTIME_IS_GLOBAL, &flag) == 1 && flag);
    CHECK(predefined(MPI_UNIVERSE_SIZE, &flag) == check_size && flag);
    predefined(MPI_APPNUM, &flag);
    CHECK(!flag);
    CHECK(predefined(MPI_LASTUSEDCODE, &flag) >= MPI_ERR_LASTCODE && flag);
    MPI_Add_error_class(&class);
    CHECK(predefined(MPI_LASTUSEDCODE, &flag) >= class);
    MPI_Attr_get(MPI_COMM_WORLD, MPI_TAG_UB, &value, &flag);
    CHECK(flag && *value >= 32767);
    int key = MPI_TAG_UB;
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_TAG_UB, &flag), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_delete_attr(MPI_COMM_WORLD, MPI_TAG_UB), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
}

static void of_communicators(void)
{
    int keys[4], flag;
    void *value;
    MPI_Comm comm, other;
    MPI_Comm_create_keyval(copy, deletion, &keys[0], &extra);
    MPI_Keyval_create(MPI_NULL_COPY_FN, deletion, &keys[1], &extra);
    MPI_Comm_create_keyval(MPI_COMM_DUP_FN, MPI_COMM_NULL_DELETE_FN, &keys[2], NULL);
    MPI_Comm_create_keyval(no_copy, deletion, &keys[3], &extra);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 4; i++) {
        MPI_Comm_get_attr(comm, keys[i], &value, &flag);
        CHECK(!flag);
        MPI_Comm_set_attr(comm, keys[i], base + i + 1);
    }
    MPI_Comm_dup(comm, &other);
    CHECK_EQUAL(copies, 1);
    for (int i = 0; i < 4; i++) {
        MPI_Attr_get(other, keys[i], &value, &flag);
        CHECK_EQUAL(flag, i == 0 || i == 2);
        if (flag)
            CHECK(value == (i == 0 ? base + 2 : base + 3));
    }
    log_of_deletions = 0;
    MPI_Comm_free(&other);
    CHECK_EQUAL(log_of_deletions, 2);
    /* Setting anew deletes the old value; a split copies nothing. */
    MPI_Attr_put(comm, keys[1], base + 9);
    CHECK_EQUAL(log_of_deletions, 22);
    MPI_Comm_split(comm, 0, 0, &other);
    MPI_Comm_get_attr(other, keys[2], &value, &flag);
    CHECK(!flag);
    MPI_Comm_free(&other);
    MPI_Attr_delete(comm, keys[3]);
    CHECK_EQUAL(log_of_deletions, 224);
    MPI_Comm_get_attr(comm, keys[3], &value, &flag);
    CHECK(!flag);
    /* A freed key lives on in the attributes. */
    int copy_of_key = keys[0];
    for (int i = 0; i < 4; i++) {
        MPI_Comm_free_keyval(&keys[i]);
        CHECK_EQUAL(keys[i], MPI_KEYVAL_INVALID);
    }
    MPI_Comm_get_attr(comm, copy_of_key, &value, &flag);
    CHECK(flag && value == base + 1);
    MPI_Comm_free(&comm);
    CHECK_EQUAL(log_of_deletions, 22491); /* Latest first. */
    FAILS(MPI_Comm_get_attr(MPI_COMM_WORLD, copy_of_key, &value, &flag), MPI_ERR_KEYVAL);
}

static void refusals(void)
{
    int key, flag;
    void *value;
    MPI_Comm comm, other = MPI_COMM_WORLD;
    MPI_Comm_dup(MPI_COMM_SELF, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Comm_create_keyval(copy, deletion, &key, &extra);
    MPI_Comm_set_attr(comm, key, base + 1);
    refuse_copy = refuse_deletion = 1;
    CHECK(MPI_Comm_dup(comm, &other) != MPI_SUCCESS);
    CHECK(other == MPI_COMM_NULL);
    CHECK(MPI_Comm_set_attr(comm, key, base + 2) != MPI_SUCCESS);
    CHECK(MPI_Comm_delete_attr(comm, key) != MPI_SUCCESS);
    CHECK(MPI_Comm_free(&comm) != MPI_SUCCESS);
    CHECK(comm != MPI_COMM_NULL);
    MPI_Comm_get_attr(comm, key, &value, &flag);
    CHECK(flag && value == base + 1);
    refuse_copy = refuse_deletion = 0;
    MPI_Comm_free(&comm);
    MPI_Comm_free_keyval(&key);
    FAILS(MPI_Comm_free_keyval(&key), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, MPI_KEYVAL_INVALID, NULL), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_get_attr(MPI_COMM_NULL, MPI_TAG_UB, &value, &flag), MPI_ERR_COMM);
}

static void of_datatypes(void)
{
    int key, other_key, comm_key, flag;
    void *value;
    MPI_Datatype type, twin, built;
    MPI_Type_create_keyval(copy_type, delete_type, &key, &extra);
    MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, MPI_TYPE_NULL_DELETE_FN, &other_key, NULL);
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &comm_key, NULL);
    MPI_Type_contiguous(3, MPI_INT, &type);
    MPI_Type_set_attr(type, key, base + 3);
    MPI_Type_set_attr(type, other_key, base + 4);
    MPI_Type_set_attr(MPI_INT, other_key, base + 5);
    copies = 0;
    log_of_deletions = 0;
    MPI_Type_dup(type, &twin);
    CHECK_EQUAL(copies, 1);
    MPI_Type_get_attr(twin, key, &value, &flag);
    CHECK(flag && value == base + 4);
    MPI_Type_get_attr(twin, other_key, &value, &flag);
    CHECK(!flag);
    MPI_Type_get_attr(MPI_INT, other_key, &value, &flag);
    CHECK(flag && value == base + 5);
    MPI_Type_delete_attr(MPI_INT, other_key);
    MPI_Type_free(&twin);
    CHECK_EQUAL(log_of_deletions, 4);
    /* What is built of a type copies no attribute. */
    MPI_Type_contiguous(2, type, &built);
    MPI_Type_get_attr(built, key, &value, &flag);
    CHECK(!flag);
    MPI_Type_free(&built);
    refuse_deletion = 1;
    CHECK(MPI_Type_free(&type) != MPI_SUCCESS);
    CHECK(MPI_Type_delete_attr(type, key) != MPI_SUCCESS);
    refuse_deletion = 0;
    refuse_copy = 1;
    twin = MPI_INT;
    CHECK(MPI_Type_dup(type, &twin) != MPI_SUCCESS);
    CHECK(twin == MPI_DATATYPE_NULL);
    refuse_copy = 0;
    FAILS(MPI_Type_set_attr(type, comm_key, base), MPI_ERR_KEYVAL);
    FAILS(MPI_Comm_set_attr(MPI_COMM_WORLD, key, base), MPI_ERR_KEYVAL);
    FAILS(MPI_Type_free_keyval(&comm_key), MPI_ERR_KEYVAL);
    FAILS(MPI_Type_get_attr(MPI_DATATYPE_NULL, key, &value, &flag), MPI_ERR_TYPE);
    MPI_Type_free_keyval(&key);
    MPI_Type_free_keyval(&other_key);
    MPI_Comm_free_keyval(&comm_key);
    CHECK_EQUAL(key, MPI_KEYVAL_INVALID);
    MPI_Type_free(&type);
    CHECK_EQUAL(log_of_deletions, 43);
}

/* More keys than the table starts with. */
static void many(void)
{
    enum { KEYS = 100 };
    int keys[KEYS], flag;
    void *value;
    for (int i = 0; i < KEYS; i++) {
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, MPI_COMM_NULL_DELETE_FN, &keys[i], NULL);
        MPI_Comm_set_attr(MPI_COMM_WORLD, keys[i], base + i % 10);
    }
    for (int i = 0; i < KEYS; i++) {
        MPI_Comm_get_attr(MPI_COMM_WORLD, keys[i], &value, &flag);
        CHECK(flag && value == base + i % 10);
        MPI_Comm_delete_attr(MPI_COMM_WORLD, keys[i]);
        MPI_Comm_free_keyval(&keys[i]);
    }
}

/* In MPI_Finalize those of MPI_COMM_SELF go first, latest first, while MPI still works. */
static int at_end(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    int finalized, expected = *(int *)extra_state;
    (void)keyval;
    MPI_Finalized(&finalized);
    if (comm != MPI_COMM_SELF || finalized || (char *)value - base != expected)
        MPI_Abort(MPI_COMM_WORLD, 4);
    --*(int *)extra_state;
    return MPI_SUCCESS;
}

static void leave_for_the_end(void)
{
    static int expected = 3;
    for (int i = 1; i <= expected; i++) {
        int key;
        MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, at_end, &key, &expected);
        MPI_Comm_set_attr(MPI_COMM_SELF, key, base + i);
        MPI_Comm_free_keyval(&key);
    }
}

int main(int argc, char **argv)
{
    check_init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    predefined_ones();
    of_communicators();
    refusals();
    of_datatypes();
    many();
    leave_for_the_end();
    return check_end("attributes");
}
