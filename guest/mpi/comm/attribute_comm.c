/* Attributes of communicators (MPI 5.0, section 7.7.2), the predefined ones (section 9.1.2), and
 * the names that MPI-1 had for them. */
#include <limits.h>

#include "mpi/comm/attribute.h"
#include "mpi/comm/comm.h"
#include "mpi/comm/raise.h"
#include "mpi/runtime/process.h"
#include "mpi/runtime/thread.h"

int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *copy_fn, MPI_Comm_delete_attr_function *delete_fn, int *keyval,
                            void *extra_state)
{
    LOCAL_CALL();
    *keyval = chq_keyval_new((struct keyval){
        .kind = ATTRIBUTE_COMM, .copy.comm = copy_fn, .delete.comm = delete_fn, .extra_state = extra_state});
    return MPI_SUCCESS;
}
MPI_ALIAS(Comm_create_keyval);

int PMPI_Comm_free_keyval(int *keyval)
{
    LOCAL_CALL();
    return chq_fail(NULL, "MPI_Comm_free_keyval", chq_keyval_free(ATTRIBUTE_COMM, keyval), NULL);
}
MPI_ALIAS(Comm_free_keyval);

int PMPI_Comm_set_attr(MPI_Comm comm, int keyval, void *attribute_val)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_attribute_set(ATTRIBUTE_COMM, &c->attributes, comm, keyval, attribute_val);
    return chq_fail(c, "MPI_Comm_set_attr", error, NULL);
}
MPI_ALIAS(Comm_set_attr);

/* The predefined attributes' values are addresses of integers. Null: no such attribute. */
static int *predefined(int keyval)
{
    static int tag_max = INT_MAX, io = MPI_ANY_SOURCE, host = MPI_PROC_NULL, global = 1, last, universe;
    switch (keyval) {
    case MPI_TAG_UB: return &tag_max;
    case MPI_IO: return &io;
    case MPI_HOST: return &host;
    case MPI_WTIME_IS_GLOBAL: /* One simulated time for all. */ return &global;
    case MPI_LASTUSEDCODE: last = chq_last_used_code(); return &last;
    case MPI_UNIVERSE_SIZE: universe = (int)chq.size; return &universe;
    default: /* MPI_APPNUM is not set: a rank is not told which of several programs it runs. */ return NULL;
    }
}

int PMPI_Comm_get_attr(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    LOCAL_CALL();
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
    if (!error)
        error = chq_attribute_get(ATTRIBUTE_COMM, c->attributes, keyval, attribute_val, flag);
    return chq_fail(c, "MPI_Comm_get_attr", error, NULL);
}
MPI_ALIAS(Comm_get_attr);

int PMPI_Comm_delete_attr(MPI_Comm comm, int keyval)
{
    LOCAL_CALL();
    struct communicator *c = comm_of(comm);
    int error = chq_comm_check(c);
    if (!error)
        error = chq_attribute_delete(ATTRIBUTE_COMM, &c->attributes, comm, keyval);
    return chq_fail(c, "MPI_Comm_delete_attr", error, NULL);
}
MPI_ALIAS(Comm_delete_attr);

void chq_attributes_finalize(void) { chq_attributes_delete(&chq_self.attributes, MPI_COMM_SELF); }

int PMPI_Keyval_create(MPI_Copy_function *copy_fn, MPI_Delete_function *delete_fn, int *keyval, void *extra_state)
{
    return PMPI_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state);
}
MPI_ALIAS(Keyval_create);

int PMPI_Keyval_free(int *keyval) { return PMPI_Comm_free_keyval(keyval); }
MPI_ALIAS(Keyval_free);

int PMPI_Attr_put(MPI_Comm comm, int keyval, void *attribute_val)
{
    return PMPI_Comm_set_attr(comm, keyval, attribute_val);
}
MPI_ALIAS(Attr_put);

int PMPI_Attr_get(MPI_Comm comm, int keyval, void *attribute_val, int *flag)
{
    return PMPI_Comm_get_attr(comm, keyval, attribute_val, flag);
}
MPI_ALIAS(Attr_get);

int PMPI_Attr_delete(MPI_Comm comm, int keyval) { return PMPI_Comm_delete_attr(comm, keyval); }
MPI_ALIAS(Attr_delete);
