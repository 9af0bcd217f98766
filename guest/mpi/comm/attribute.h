/* Attributes of communicators and datatypes: see attribute.c. An object's handle goes through here
 * as a plain pointer; the kind of the key says what it is. */
#ifndef CHASQUI_ATTRIBUTE_H
#define CHASQUI_ATTRIBUTE_H

#include <stdbool.h>

#include "mpi/runtime/public.h"

enum attribute_kind { ATTRIBUTE_COMM, ATTRIBUTE_TYPE };

/* What a key was made with. The functions' special values are the same for both kinds. */
struct keyval {
    enum attribute_kind kind;
    union {
        MPI_Comm_copy_attr_function *comm;
        MPI_Type_copy_attr_function *type;
    } copy;
    union {
        MPI_Comm_delete_attr_function *comm;
        MPI_Type_delete_attr_function *type;
    } delete;
    void *extra_state;
    int references; /* The key itself, and attributes that use it. 0: the place is free. */
    bool freed;
};

struct attribute {
    struct attribute *next; /* Set before this one. */
    int keyval;
    void *value;
};

/* The number of a new key; `references` and `freed` need not be set. */
int chq_keyval_new(struct keyval key);

/* All below return error classes, or what the program's functions returned. */
int chq_keyval_free(enum attribute_kind kind, int *keyval);
int chq_attribute_set(enum attribute_kind kind, struct attribute **list, void *object, int keyval, void *value);
int chq_attribute_get(enum attribute_kind kind, struct attribute *list, int keyval, void *value, int *flag);
int chq_attribute_delete(enum attribute_kind kind, struct attribute **list, void *object, int keyval);

/* Copies what the copy functions want copied (MPI_Comm_dup); the first error ends it. */
int chq_attributes_copy(const struct attribute *list, void *object, struct attribute **to);
/* Deletes all, latest first; the first error ends it. */
int chq_attributes_delete(struct attribute **list, void *object);

/* Those of MPI_COMM_SELF, first thing in MPI_Finalize (MPI 5.0, section 11.2.4). */
void chq_attributes_finalize(void);

int chq_last_used_code(void);

#endif
