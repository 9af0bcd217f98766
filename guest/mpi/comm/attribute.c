/* Attributes (MPI 5.0, section 7.7): keys, and each object's list of values, latest first. The
 * program's functions may themselves make keys and change attributes, so nothing that points into
 * the table or a list is used after a call of one. */
#include "mpi/comm/attribute.h"

#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"

enum { KEYVAL_FIRST = 1024, KEYVALS_INITIAL = 16 };

static struct keyval *keyvals; /* Made when the first key is. */
static int keyvals_room;

static struct keyval *keyval_of(int number)
{
    int index = number - KEYVAL_FIRST;
    if (index < 0 || index >= keyvals_room || keyvals[index].references == 0)
        return NULL;
    return &keyvals[index];
}

/* A key that the program may name. A freed one lives on as long as an attribute uses it (section
 * 7.7.2), and till then the program may name, and even free, it once more. */
static struct keyval *usable(enum attribute_kind kind, int number)
{
    struct keyval *key = keyval_of(number);
    if (key && key->kind == kind)
        return key;
    chq_reason(MPI_ERR_KEYVAL, "not an attribute key of the program for this kind of object");
    return NULL;
}

static void grow(void)
{
    int room = keyvals_room ? 2 * keyvals_room : KEYVALS_INITIAL;
    struct keyval *larger = chq_malloc((size_t)room * sizeof *larger);
    memset(larger, 0, (size_t)room * sizeof *larger);
    if (keyvals_room)
        memcpy(larger, keyvals, (size_t)keyvals_room * sizeof *larger);
    free(keyvals);
    keyvals = larger;
    keyvals_room = room;
}

int chq_keyval_new(struct keyval key)
{
    int place = 0;
    while (place < keyvals_room && keyvals[place].references)
        place++;
    if (place == keyvals_room)
        grow();
    key.references = 1;
    key.freed = false;
    keyvals[place] = key;
    return KEYVAL_FIRST + place;
}

int chq_keyval_free(enum attribute_kind kind, int *keyval)
{
    struct keyval *key = usable(kind, *keyval);
    if (!key)
        return MPI_ERR_KEYVAL;
    if (!key->freed)
        key->references--;
    key->freed = true;
    *keyval = MPI_KEYVAL_INVALID;
    return MPI_SUCCESS;
}

static struct attribute **find(struct attribute **list, int keyval)
{
    while (*list && (*list)->keyval != keyval)
        list = &(*list)->next;
    return list;
}

static int call_delete(const struct keyval *key, void *object, const struct attribute *attribute)
{
    if (key->kind == ATTRIBUTE_COMM)
        return key->delete.comm
                   ? key->delete.comm((MPI_Comm)object, attribute->keyval, attribute->value, key->extra_state)
                   : MPI_SUCCESS;
    return key->delete.type
               ? key->delete.type((MPI_Datatype)object, attribute->keyval, attribute->value, key->extra_state)
               : MPI_SUCCESS;
}

static int delete_one(struct attribute **list, void *object, struct attribute *attribute)
{
    int error = call_delete(keyval_of(attribute->keyval), object, attribute);
    struct attribute **link = find(list, attribute->keyval);
    if (error || *link != attribute)
        return error;
    *link = attribute->next;
    keyval_of(attribute->keyval)->references--;
    free(attribute);
    return MPI_SUCCESS;
}

static void add(struct attribute **place, int keyval, void *value)
{
    struct attribute *attribute = chq_malloc(sizeof *attribute);
    *attribute = (struct attribute){*place, keyval, value};
    *place = attribute;
    keyval_of(keyval)->references++;
}

int chq_attribute_set(enum attribute_kind kind, struct attribute **list, void *object, int keyval, void *value)
{
    if (!usable(kind, keyval))
        return MPI_ERR_KEYVAL;
    struct attribute *old = *find(list, keyval);
    int error = old ? delete_one(list, object, old) : MPI_SUCCESS;
    if (!error)
        add(list, keyval, value);
    return error;
}

int chq_attribute_get(enum attribute_kind kind, struct attribute *list, int keyval, void *value, int *flag)
{
    *flag = 0;
    if (!usable(kind, keyval))
        return MPI_ERR_KEYVAL;
    struct attribute *attribute = *find(&list, keyval);
    *flag = attribute != NULL;
    if (attribute)
        *(void **)value = attribute->value;
    return MPI_SUCCESS;
}

int chq_attribute_delete(enum attribute_kind kind, struct attribute **list, void *object, int keyval)
{
    if (!usable(kind, keyval))
        return MPI_ERR_KEYVAL;
    struct attribute *attribute = *find(list, keyval);
    return attribute ? delete_one(list, object, attribute) : MPI_SUCCESS;
}

static int call_copy(const struct keyval *key, void *object, const struct attribute *attribute, void **value, int *flag)
{
    if (key->copy.comm == MPI_COMM_NULL_COPY_FN)
        return MPI_SUCCESS;
    *flag = 1;
    if (key->copy.comm == MPI_COMM_DUP_FN)
        return MPI_SUCCESS;
    *flag = 0;
    if (key->kind == ATTRIBUTE_COMM)
        return key->copy.comm((MPI_Comm)object, attribute->keyval, key->extra_state, attribute->value, value, flag);
    return key->copy.type((MPI_Datatype)object, attribute->keyval, key->extra_state, attribute->value, value, flag);
}

int chq_attributes_copy(const struct attribute *list, void *object, struct attribute **to)
{
    for (const struct attribute *attribute = list; attribute; attribute = attribute->next) {
        void *value = attribute->value;
        int flag = 0, error = call_copy(keyval_of(attribute->keyval), object, attribute, &value, &flag);
        if (error)
            return error;
        if (!flag)
            continue;
        add(to, attribute->keyval, value);
        to = &(*to)->next;
    }
    return MPI_SUCCESS;
}

int chq_attributes_delete(struct attribute **list, void *object)
{
    int error = MPI_SUCCESS;
    while (*list && !error)
        error = delete_one(list, object, *list);
    return error;
}
