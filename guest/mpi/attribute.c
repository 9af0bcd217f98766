/* Attributes of communicators (MPI 5.0, section 7.7), and the predefined ones. */
#include "mpi/attribute.h"

#include <limits.h>

#include "mpi/comm.h"
#include "mpi/error.h"
#include "mpi/memory.h"
#include "mpi/platform.h"
#include "mpi/process.h"

enum { KEYVAL_FIRST = 1024, KEYVALS_MAX = 1024 };

struct keyval {
    MPI_Comm_copy_attr_function *copy;
    MPI_Comm_delete_attr_function *delete;
    void *extra_state;
    int references; /* The key itself, and attributes that use it. 0: free. */
    int freed;
};

struct attribute {
    struct attribute *next;
    int keyval;
    void *value;
};

static struct keyval *keyvals; /* Made when the first key is. */

static struct keyval *keyval_of(int number)
{
    int index = number - KEYVAL_FIRST;
    if (!keyvals || index < 0 || index >= KEYVALS_MAX || keyvals[index].references == 0)
        return NULL;
    return &keyvals[index];
}

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy_fn, MPI_Comm_delete_attr_function *delete_fn,
                            int *keyval, void *extra_state)
{
    if (!keyvals) {
        keyvals = chq_malloc(KEYVALS_MAX * sizeof *keyvals);
        memset(keyvals, 0, KEYVALS_MAX * sizeof *keyvals);
    }
    for (int i = 0; i < KEYVALS_MAX; i++) {
        if (keyvals[i].references)
            continue;
        keyvals[i] = (struct keyval){copy_fn, delete_fn, extra_state, 1, 0};
        *keyval = KEYVAL_FIRST + i;
        return MPI_SUCCESS;
    }
    return chq_fail(NULL, "MPI_Comm_create_keyval", MPI_ERR_OTHER, "too many attribute keys");
}
MPI_ALIAS(Comm_create_keyval);

int PMPI_Comm_free_keyval(int *keyval)
{
    struct keyval *key = keyval_of(*keyval);
    if (!key || key->freed)
        return chq_fail(NULL, "MPI_Comm_free_keyval", MPI_ERR_KEYVAL, "not an attribute key");
    key->freed = 1;
    key->references--;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_free_keyval);

static struct attribute **find(struct communicator *comm, int keyval)
{
    struct attribute **link = &comm->attributes;
    while (*link && (*link)->keyval != keyval)
        link = &(*link)->next;
    return link;
}

static int delete_at(struct communicator *comm, struct attribute **link)
{
    struct attribute *attribute = *link;
    struct keyval *key = keyval_of(attribute->keyval);
    if (key->delete) {
        int error = key->delete(comm_handle(comm), attribute->keyval, attribute->value, key->extra_state);
        if (error)
            return error;
        /* The function may have changed the attributes. */
        link = find(comm, attribute->keyval);
    }
    if (*link == attribute) {
        *link = attribute->next;
        key->references--;
        free(attribute);
    }
    return MPI_SUCCESS;
}

int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute_val)
{
    struct communicator *c = comm_of(comm);
    struct keyval *key = keyval_of(keyval);
    int error = chq_comm_check(c);
    if (!error && (!key || key->freed))
        error = chq_reason(MPI_ERR_KEYVAL, "not an attribute key of the program");
    if (!error && *find(c, keyval))
        error = delete_at(c, find(c, keyval));
    if (error)
        return chq_fail(c, "MPI_Comm_set_attr", error, NULL);
    struct attribute *attribute = chq_malloc(sizeof *attribute);
    *attribute = (struct attribute){c->attributes, keyval, attribute_val};
    c->attributes = attribute;
    key->references++;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_set_attr);

/* The predefined attributes' values are addresses of integers. Null: no such attribute. */
static int *predefined(int keyval)
{
    static int tag_max = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, global = 1, last, universe;
    switch (keyval) {
    case MPI_TAG_UB:
        return &tag_max;
    case MPI_IO:
        return &io;
    case MPI_HOST:
        return &host;
    case MPI_WTIME_IS_GLOBAL: /* One simulated time for all. */
        return &global;
    case MPI_LASTUSEDCODE:
        last = chq_last_used_code();
        return &last;
    case MPI_UNIVERSE_SIZE:
        universe = (int)chq.size;
        return &universe;
    default: /* MPI_APPNUM is not set: there is one program. */
        return NULL;
    }
}

int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    *flag = 0;
    if (!error && keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE) {
        int *value = predefined(keyval);
        *flag = value != NULL;
        if (value)
            *(void **)attribute_val = value;
        return MPI_SUCCESS;
    }
    if (!error && !keyval_of(keyval))
        error = chq_reason(MPI_ERR_KEYVAL, "not an attribute key");
    if (error)
        return chq_fail(c, "MPI_Comm_get_attr", error, NULL);
    struct attribute *attribute = *find(c, keyval);
    *flag = attribute != NULL;
    if (attribute)
        *(void **)attribute_val = attribute->value;
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_get_attr);

int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error && !keyval_of(keyval))
        error = chq_reason(MPI_ERR_KEYVAL, "not an attribute key of the program");
    if (!error && *find(c, keyval))
        error = delete_at(c, find(c, keyval));
    return error ? chq_fail(c, "MPI_Comm_delete_attr", error, NULL) : MPI_SUCCESS;
}
MPI_ALIAS(Comm_delete_attr);

int chq_attributes_copy(struct communicator *from, struct communicator *to)
{
    struct attribute **end = &to->attributes;
    for (struct attribute *attribute = from->attributes; attribute; attribute = attribute->next) {
        struct keyval *key = keyval_of(attribute->keyval);
        void *value = attribute->value;
        int flag = key->copy == MPI_COMM_DUP_FN;
        if (key->copy != MPI_COMM_NULL_COPY_FN && key->copy != MPI_COMM_DUP_FN) {
            int error = key->copy(comm_handle(from), attribute->keyval, key->extra_state, attribute->value, &value, &flag);
            if (error)
                return error;
        }
        if (!flag)
            continue;
        struct attribute *copy = chq_malloc(sizeof *copy);
        *copy = (struct attribute){NULL, attribute->keyval, value};
        *end = copy;
        end = &copy->next;
        key->references++;
    }
    return MPI_SUCCESS;
}

int chq_attributes_delete(struct communicator *comm)
{
    while (comm->attributes) {
        int error = delete_at(comm, &comm->attributes);
        if (error)
            return error;
    }
    return MPI_SUCCESS;
}

void chq_attributes_finalize(void) { chq_attributes_delete(&chq_self); }

int PMPI_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state)
{
    return PMPI_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}
MPI_ALIAS(Keyval_create);

int PMPI_Keyval_free(int *keyval) { return PMPI_Comm_free_keyval(keyval); }
MPI_ALIAS(Keyval_free);

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val) { return PMPI_Comm_set_attr(comm, keyval, attribute_val); }
MPI_ALIAS(Attr_put);

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return PMPI_Comm_get_attr(comm, keyval, attribute_val, flag);
}
MPI_ALIAS(Attr_get);

int PMPI_Attr_delete(MPI_Comm comm, int keyval) { return PMPI_Comm_delete_attr(comm, keyval); }
MPI_ALIAS(Attr_delete);
