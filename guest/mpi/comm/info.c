/* Info objects (MPI 5.0, chapter 10): lists of keys and values in the order they were set. The
 * library takes no hints itself. */
#include "mpi/comm/info.h"

#include "mpi/comm/raise.h"
#include "mpi/runtime/error.h"
#include "mpi/runtime/memory.h"
#include "mpi/runtime/platform.h"
#include "mpi/runtime/text.h"
#include "mpi/runtime/thread.h"

enum { INFO_VALID = 0x494e464f };

struct pair {
    struct pair *next;
    char *key, *value;
};

struct info {
    uint32_t valid;
    struct pair *first;
};

/* MPI_INFO_ENV: nothing is known about how the job was started. */
static struct info environment = {INFO_VALID, NULL};

static struct info *info_of(MPI_Info handle)
{
    if (handle == MPI_INFO_ENV)
        return &environment;
    struct info *info = (struct info *)handle;
    return (uintptr_t)handle >= 0x1000 && info->valid == INFO_VALID ? info : NULL;
}

static struct pair **find(struct info *info, const char *key)
{
    struct pair **link = &info->first;
    while (*link && !text_equal((*link)->key, key))
        link = &(*link)->next;
    return link;
}

static char *duplicate(const char *text)
{
    size_t room = text_length(text) + 1;
    char *copy = chq_malloc(room);
    memcpy(copy, text, room);
    return copy;
}

static struct info *info_new(void)
{
    struct info *info = chq_malloc(sizeof *info);
    info->valid = INFO_VALID;
    info->first = NULL;
    return info;
}

static void pair_remove(struct pair **link)
{
    struct pair *pair = *link;
    *link = pair->next;
    free(pair->key);
    free(pair->value);
    free(pair);
}

static void info_set(struct info *info, const char *key, const char *value)
{
    struct pair **link = find(info, key);
    if (*link) {
        free((*link)->value);
        (*link)->value = duplicate(value);
        return;
    }
    *link = chq_malloc(sizeof **link);
    **link = (struct pair){NULL, duplicate(key), duplicate(value)};
}

void chq_info_free(struct info *info)
{
    if (!info)
        return;
    while (info->first)
        pair_remove(&info->first);
    info->valid = 0;
    free(info);
}

int chq_info_copy(MPI_Info handle, struct info **copy)
{
    struct info *info = info_of(handle);
    *copy = NULL;
    if (handle == MPI_INFO_NULL)
        return MPI_SUCCESS;
    if (!info)
        return chq_reason(MPI_ERR_INFO, "not an info object");
    *copy = info_new();
    for (struct pair *pair = info->first; pair; pair = pair->next)
        info_set(*copy, pair->key, pair->value);
    return MPI_SUCCESS;
}

int PMPI_Info_create(MPI_Info *info)
{
    LOCAL_CALL_AT_ANY_TIME();
    *info = (MPI_Info)info_new();
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_create);

/* The program is alone in knowing its arguments: nothing to say about its start. */
int PMPI_Info_create_env(int argc, char *argv[], MPI_Info *info)
{
    LOCAL_CALL_AT_ANY_TIME();
    (void)argc, (void)argv;
    return PMPI_Info_create(info);
}
MPI_ALIAS(Info_create_env);

int PMPI_Info_dup(MPI_Info info, MPI_Info *newinfo)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *copy;
    int error = info == MPI_INFO_NULL ? MPI_ERR_INFO : chq_info_copy(info, &copy);
    if (error)
        return chq_fail(NULL, "MPI_Info_dup", error, "not an info object");
    *newinfo = (MPI_Info)copy;
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_dup);

int PMPI_Info_free(MPI_Info *info)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(*info);
    if (!i || i == &environment)
        return chq_fail(NULL, "MPI_Info_free", MPI_ERR_INFO, "not an info object of the program");
    chq_info_free(i);
    *info = MPI_INFO_NULL;
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_free);

int PMPI_Info_set(MPI_Info info, const char *key, const char *value)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    size_t length = key ? text_length(key) : 0;
    if (!i || i == &environment)
        return chq_fail(NULL, "MPI_Info_set", MPI_ERR_INFO, "not an info object of the program");
    if (length == 0 || length >= MPI_MAX_INFO_KEY)
        return chq_fail(NULL, "MPI_Info_set", MPI_ERR_INFO_KEY, "empty or too long");
    if (!value || text_length(value) >= MPI_MAX_INFO_VAL)
        return chq_fail(NULL, "MPI_Info_set", MPI_ERR_INFO_VALUE, "null or too long");
    info_set(i, key, value);
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_set);

int PMPI_Info_delete(MPI_Info info, const char *key)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_delete", MPI_ERR_INFO, "not an info object");
    struct pair **link = find(i, key);
    if (!*link)
        return chq_fail(NULL, "MPI_Info_delete", MPI_ERR_INFO_NOKEY, "no such key");
    pair_remove(link);
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_delete);

int PMPI_Info_get(MPI_Info info, const char *key, int valuelen, char *value, int *flag)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_get", MPI_ERR_INFO, "not an info object");
    struct pair *pair = *find(i, key);
    *flag = pair != NULL;
    /* `valuelen` doesn't count the end. */
    if (pair)
        text_copy(value, pair->value, (size_t)valuelen + 1);
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_get);

int PMPI_Info_get_string(MPI_Info info, const char *key, int *buflen, char *value, int *flag)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_get_string", MPI_ERR_INFO, "not an info object");
    struct pair *pair = *find(i, key);
    *flag = pair != NULL;
    if (pair) {
        if (*buflen > 0)
            text_copy(value, pair->value, (size_t)*buflen);
        *buflen = (int)text_length(pair->value) + 1;
    }
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_get_string);

int PMPI_Info_get_valuelen(MPI_Info info, const char *key, int *valuelen, int *flag)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_get_valuelen", MPI_ERR_INFO, "not an info object");
    struct pair *pair = *find(i, key);
    *flag = pair != NULL;
    if (pair)
        *valuelen = (int)text_length(pair->value);
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_get_valuelen);

int PMPI_Info_get_nkeys(MPI_Info info, int *nkeys)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_get_nkeys", MPI_ERR_INFO, "not an info object");
    *nkeys = 0;
    for (struct pair *pair = i->first; pair; pair = pair->next)
        ++*nkeys;
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_get_nkeys);

int PMPI_Info_get_nthkey(MPI_Info info, int n, char *key)
{
    LOCAL_CALL_AT_ANY_TIME();
    struct info *i = info_of(info);
    if (!i)
        return chq_fail(NULL, "MPI_Info_get_nthkey", MPI_ERR_INFO, "not an info object");
    struct pair *pair = i->first;
    while (pair && n-- > 0)
        pair = pair->next;
    if (!pair)
        return chq_fail(NULL, "MPI_Info_get_nthkey", MPI_ERR_ARG, "fewer keys than that");
    text_copy(key, pair->key, MPI_MAX_INFO_KEY);
    return MPI_SUCCESS;
}
MPI_ALIAS(Info_get_nthkey);
