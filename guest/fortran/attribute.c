/* Attributes (MPI 5.0, section 7.7). A Fortran attribute is an integer: the library keeps it in
 * place of C's pointer. It is INTEGER(MPI_ADDRESS_KIND), in the functions of MPI-1 a default
 * INTEGER; as RISC-V is little-endian, the shorter one is the first half of the longer. */
#include "fortran/fortran.h"

#include "mpi/runtime/memory.h"

typedef void fortran_copy(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in, MPI_Aint *out,
                          MPI_Fint *flag, MPI_Fint *ierror);
typedef void fortran_delete(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra_state,
                            MPI_Fint *ierror);

/* C's extra state of a key that Fortran made. It stays when the key is freed, since attributes may
 * still need it.
 *
 * Fortran's is a value, that of the call that made the key, for attributes live longer than a procedure's variables (MPI
 * 5.0, sections 7.7.2 and 19.3.7: a key's functions are called with the integer that it was created with, the shorter
 * one of MPI-1 among them; Fortran passes it by reference, as all its arguments). */
struct keyval_state {
    fortran_copy *copy;
    fortran_delete *delete;
    MPI_Aint extra_state;
};

static MPI_Fint copy_attribute(void *object, int keyval, struct keyval_state *state, void *in, void **out, int *flag)
{
    MPI_Fint handle = fortran_from_c(object), number = keyval, error = MPI_SUCCESS;
    MPI_Aint from = (MPI_Aint)in, to = 0;
    *flag = 0;
    state->copy(&handle, &number, &state->extra_state, &from, &to, flag, &error);
    *out = (void *)to;
    return error;
}

static MPI_Fint delete_attribute(void *object, int keyval, void *value, struct keyval_state *state)
{
    MPI_Fint handle = fortran_from_c(object), number = keyval, error = MPI_SUCCESS;
    MPI_Aint old = (MPI_Aint)value;
    state->delete(&handle, &number, &old, &state->extra_state, &error);
    return error;
}

static int copy_of_comm(MPI_Comm comm, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    return copy_attribute(comm, keyval, extra_state, in, out, flag);
}

static int delete_of_comm(MPI_Comm comm, int keyval, void *value, void *extra_state)
{
    return delete_attribute(comm, keyval, value, extra_state);
}

static int copy_of_type(MPI_Datatype datatype, int keyval, void *extra_state, void *in, void *out, int *flag)
{
    return copy_attribute(datatype, keyval, extra_state, in, out, flag);
}

static int delete_of_type(MPI_Datatype datatype, int keyval, void *value, void *extra_state)
{
    return delete_attribute(datatype, keyval, value, extra_state);
}

static struct keyval_state *keyval_state(fortran_copy *copy, fortran_delete *delete, MPI_Aint extra_state)
{
    struct keyval_state *state = chq_malloc(sizeof *state);
    *state = (struct keyval_state){copy, delete, extra_state};
    return state;
}

void pmpi_comm_create_keyval_(fortran_copy *copy_fn, fortran_delete *delete_fn, MPI_Fint *keyval, MPI_Aint *extra_state,
                              MPI_Fint *ierror)
{
    *ierror =
        PMPI_Comm_create_keyval(copy_of_comm, delete_of_comm, keyval, keyval_state(copy_fn, delete_fn, *extra_state));
}
FORTRAN_ALIAS(comm_create_keyval);

void pmpi_keyval_create_(fortran_copy *copy_fn, fortran_delete *delete_fn, MPI_Fint *keyval, MPI_Fint *extra_state,
                         MPI_Fint *ierror)
{
    *ierror =
        PMPI_Comm_create_keyval(copy_of_comm, delete_of_comm, keyval, keyval_state(copy_fn, delete_fn, *extra_state));
}
FORTRAN_ALIAS(keyval_create);

void pmpi_type_create_keyval_(fortran_copy *copy_fn, fortran_delete *delete_fn, MPI_Fint *keyval, MPI_Aint *extra_state,
                              MPI_Fint *ierror)
{
    *ierror =
        PMPI_Type_create_keyval(copy_of_type, delete_of_type, keyval, keyval_state(copy_fn, delete_fn, *extra_state));
}
FORTRAN_ALIAS(type_create_keyval);

void pmpi_comm_set_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *ierror)
{
    *ierror = PMPI_Comm_set_attr(fortran_to_c(*comm), *keyval, (void *)*attribute_val);
}
FORTRAN_ALIAS(comm_set_attr);

void pmpi_type_set_attr_(MPI_Fint *datatype, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *ierror)
{
    *ierror = PMPI_Type_set_attr(fortran_to_c(*datatype), *keyval, (void *)*attribute_val);
}
FORTRAN_ALIAS(type_set_attr);

void pmpi_attr_put_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *ierror)
{
    *ierror = PMPI_Comm_set_attr(fortran_to_c(*comm), *keyval, (void *)(MPI_Aint)*attribute_val);
}
FORTRAN_ALIAS(attr_put);

/* The predefined attributes are addresses of integers in C, the integers in Fortran. */
static MPI_Aint integer_of(MPI_Fint keyval, const void *value)
{
    return keyval >= MPI_TAG_UB && keyval <= MPI_UNIVERSE_SIZE ? *(const int *)value : (MPI_Aint)value;
}

void pmpi_comm_get_attr_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *flag, MPI_Fint *ierror)
{
    void *value = NULL;
    *ierror = PMPI_Comm_get_attr(fortran_to_c(*comm), *keyval, &value, flag);
    if (!*ierror && *flag)
        *attribute_val = integer_of(*keyval, value);
}
FORTRAN_ALIAS(comm_get_attr);

void pmpi_type_get_attr_(MPI_Fint *datatype, MPI_Fint *keyval, MPI_Aint *attribute_val, MPI_Fint *flag,
                         MPI_Fint *ierror)
{
    void *value = NULL;
    *ierror = PMPI_Type_get_attr(fortran_to_c(*datatype), *keyval, &value, flag);
    if (!*ierror && *flag)
        *attribute_val = (MPI_Aint)value;
}
FORTRAN_ALIAS(type_get_attr);

void pmpi_attr_get_(MPI_Fint *comm, MPI_Fint *keyval, MPI_Fint *attribute_val, MPI_Fint *flag, MPI_Fint *ierror)
{
    MPI_Aint value;
    pmpi_comm_get_attr_(comm, keyval, &value, flag, ierror);
    if (!*ierror && *flag)
        *attribute_val = (MPI_Fint)value;
}
FORTRAN_ALIAS(attr_get);

/* The predefined copy and delete functions are procedures in Fortran. */
void mpi_null_copy_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in, MPI_Aint *out,
                       MPI_Fint *flag, MPI_Fint *ierror)
{
    (void)object, (void)keyval, (void)extra_state, (void)in, (void)out;
    *flag = 0;
    *ierror = MPI_SUCCESS;
}

void mpi_comm_dup_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *extra_state, MPI_Aint *in, MPI_Aint *out,
                      MPI_Fint *flag, MPI_Fint *ierror)
{
    (void)object, (void)keyval, (void)extra_state;
    *out = *in;
    *flag = 1;
    *ierror = MPI_SUCCESS;
}

/* In and out are default INTEGERs where a program calls it itself. */
void mpi_dup_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Fint *extra_state, MPI_Fint *in, MPI_Fint *out, MPI_Fint *flag,
                 MPI_Fint *ierror)
{
    (void)object, (void)keyval, (void)extra_state;
    *out = *in;
    *flag = 1;
    *ierror = MPI_SUCCESS;
}

void mpi_null_delete_fn_(MPI_Fint *object, MPI_Fint *keyval, MPI_Aint *value, MPI_Aint *extra_state, MPI_Fint *ierror)
{
    (void)object, (void)keyval, (void)value, (void)extra_state;
    *ierror = MPI_SUCCESS;
}

#define SAME_AS(name, other) __typeof__(other) name __attribute__((alias(#other)))
SAME_AS(mpi_comm_null_copy_fn_, mpi_null_copy_fn_);
SAME_AS(mpi_comm_null_delete_fn_, mpi_null_delete_fn_);
SAME_AS(mpi_type_null_copy_fn_, mpi_null_copy_fn_);
SAME_AS(mpi_type_dup_fn_, mpi_comm_dup_fn_);
SAME_AS(mpi_type_null_delete_fn_, mpi_null_delete_fn_);
