/* Operators as objects (MPI 5.0, section 6.9). */
#include "mpi/op/op.h"

#include <limits.h>

#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/fortran_handle.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/thread.h"

#define PREDEFINED(value) [(value) - OP_HANDLE_FIRST] = {OP_VALID, 1, true, (value) - OP_HANDLE_FIRST, false, NULL}

struct op chq_ops[OP_HANDLES] = {
    PREDEFINED(0x21), PREDEFINED(0x22), PREDEFINED(0x23), PREDEFINED(0x24), PREDEFINED(0x28), PREDEFINED(0x29),
    PREDEFINED(0x2a), PREDEFINED(0x30), PREDEFINED(0x31), PREDEFINED(0x32), PREDEFINED(0x38), PREDEFINED(0x39),
};

int chq_op_check(const struct op *op, const struct datatype *type)
{
    if (op->valid != OP_VALID)
        return chq_reason(MPI_ERR_OP, "not an operator for reductions");
    if (!op->function && !chq_op_is_defined(op->number, type->class))
        return chq_reason(MPI_ERR_OP, "the operator is not defined for the datatype");
    return MPI_SUCCESS;
}

void chq_op_apply(const struct op *op, const void *in, void *inout, size_t count, struct datatype *type)
{
    if (!op->function) {
        chq_op_builtin(op->number, type->class, in, inout, count);
        return;
    }
    MPI_Datatype handle = type_handle(type);
    if (op->fortran)
        handle = fortran_in_place(handle);
    while (count > 0) {
        int part = count > INT_MAX ? INT_MAX : (int)count;
        op->function((void *)(uintptr_t)in, inout, &part, &handle);
        in = (const char *)in + part * type->extent;
        inout = (char *)inout + part * type->extent;
        count -= (size_t)part;
    }
}

void chq_op_release(struct op *op)
{
    if (!op->function || --op->references > 0)
        return;
    op->valid = 0;
    free(op); // NOLINT(clang-analyzer-unix.Malloc): predefined ones have no function
}

int PMPI_Op_create(MPI_User_function *user_fn, int commute, MPI_Op *op)
{
    LOCAL_CALL();
    if (!user_fn)
        return chq_fail(NULL, "MPI_Op_create", MPI_ERR_ARG, "null function");
    struct op *made = chq_malloc(sizeof *made);
    *made = (struct op){OP_VALID, 1, commute != 0, 0, false, user_fn};
    *op = (MPI_Op)made;
    return MPI_SUCCESS;
}
MPI_ALIAS(Op_create);

int PMPI_Op_free(MPI_Op *op)
{
    LOCAL_CALL();
    struct op *o = op_of(*op);
    if (o->valid != OP_VALID || !o->function)
        return chq_fail(NULL, "MPI_Op_free", MPI_ERR_OP, "not an operator of the program");
    chq_op_release(o);
    *op = MPI_OP_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Op_free);

int PMPI_Op_commutative(MPI_Op op, int *commute)
{
    const struct op *o = op_of(op);
    if (o->valid != OP_VALID)
        return chq_fail(NULL, "MPI_Op_commutative", MPI_ERR_OP, "not an operator");
    *commute = o->commutes;
    return MPI_SUCCESS;
}
MPI_ALIAS(Op_commutative);

int PMPI_Reduce_local(const void *inbuf, void *inoutbuf, int count, MPI_Datatype datatype, MPI_Op op)
{
    struct datatype *type = type_of(datatype);
    const struct op *o = op_of(op);
    int error = count < 0 ? chq_reason(MPI_ERR_COUNT, "negative count") : chq_type_check(type);
    if (!error)
        error = chq_op_check(o, type);
    if (error)
        return chq_fail(NULL, "MPI_Reduce_local", error, NULL);
    chq_op_apply(o, inbuf, inoutbuf, (size_t)count, type);
    return MPI_SUCCESS;
}
MPI_ALIAS(Reduce_local);
