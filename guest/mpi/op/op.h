/* Reduction operators. */
#ifndef CHASQUI_OP_H
#define CHASQUI_OP_H

#include <stdbool.h>

#include "mpi/datatype/type.h"

enum { OP_VALID = 0x4f505f5f };

struct op {
    uint32_t valid;
    int32_t references;
    bool commutes;
    uint8_t number;              /* Predefined: the handle less OP_HANDLE_FIRST. */
    bool fortran;                /* The function is Fortran's: the datatype is an INTEGER. */
    MPI_User_function *function; /* Null: predefined. */
};

enum { OP_HANDLE_FIRST = 0x20, OP_HANDLES = 32 };
extern struct op chq_ops[OP_HANDLES];

/* Whatever the handle is, the result may be read; its `valid` says so. */
static inline struct op *op_of(MPI_Op handle)
{
    uintptr_t value = (uintptr_t)handle;
    if (likely(value - OP_HANDLE_FIRST < OP_HANDLES))
        return &chq_ops[value - OP_HANDLE_FIRST];
    return value < 0x1000 ? &chq_ops[0] : (struct op *)value;
}

/* A collective under way keeps the operators of the program. */
static inline void op_retain(struct op *op)
{
    if (op->function)
        op->references++;
}
void chq_op_release(struct op *op);

/* Valid, and defined for the type: else MPI_ERR_OP with its reason. */
int chq_op_check(const struct op *op, const struct datatype *type);

/* inout = in op inout, element by element: `in` is the contribution of the lower ranks. */
void chq_op_apply(const struct op *op, const void *in, void *inout, size_t count, struct datatype *type);

/* op_builtin.c. Predefined operators, by number and enum type_class. */
bool chq_op_is_defined(unsigned number, unsigned class);
void chq_op_builtin(unsigned number, unsigned class, const void *in, void *inout, size_t count);

#endif
