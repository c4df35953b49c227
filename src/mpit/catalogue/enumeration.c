#include "catalogue/enumeration.h"

#include "catalogue/door.h"

#include <stdlib.h>
#include <string.h>

struct enumeration {
    const char *name;
    enum variable_names own; /* NAMES_NONE: the items are in values and names */
    int count;
    int *values;
    char **names;
    struct enumeration *next;
};

static struct enumeration own[] = {
    {.name = "mpit_call", .own = NAMES_CALL},        {.name = "mpit_coll", .own = NAMES_COLL},
    {.name = "mpit_loss", .own = NAMES_LOSS},        {.name = "mpit_state", .own = NAMES_STATE},
    {.name = "mpit_fabric_op", .own = NAMES_FABRIC}, {.name = "mpit_fabric_function", .own = NAMES_FABRIC_FUNCTION},
    {.name = "mpit_papi_place", .own = NAMES_PLACE}, {.name = "mpit_os_switch", .own = NAMES_SWITCH},
    {.name = "mpit_os_fault", .own = NAMES_FAULT},
};
enum { OWN = sizeof own / sizeof own[0] };

static struct enumeration *added; /* pushed at the front with a release store, never removed */
static pthread_mutex_t added_lock = PTHREAD_MUTEX_INITIALIZER;

MPI_T_enum enumeration_of(enum variable_names names)
{
    for (int i = 0; names != NAMES_NONE && i < OWN; i++)
        if (own[i].own == names)
            return (MPI_T_enum)(void *)&own[i];
    return MPI_T_ENUM_NULL;
}

/* NULL: not one of ours. */
static const struct enumeration *enumeration_of_handle(MPI_T_enum type)
{
    for (int i = 0; i < OWN; i++)
        if ((const void *)type == &own[i])
            return &own[i];
    const struct enumeration *e = __atomic_load_n(&added, __ATOMIC_ACQUIRE);
    while (e && (const void *)type != e)
        e = e->next;
    return e;
}

static int items(const struct enumeration *e)
{
    int count = 0;
    if (e->own == NAMES_NONE)
        return e->count;
    while (variable_slot_name(e->own, (size_t)count))
        count++;
    return count;
}

static void enumeration_release(struct enumeration *e)
{
    for (int i = 0; e && e->names && i < e->count; i++)
        free(e->names[i]);
    if (e) {
        free((char *)(uintptr_t)e->name);
        free(e->names);
        free(e->values);
    }
    free(e);
}

static struct enumeration *enumeration_create(const char *name, int count, const int *values, const char *const *names)
{
    struct enumeration *e = calloc(1, sizeof *e);
    if (!e)
        return NULL;
    e->name = strdup(name);
    e->values = calloc((size_t)count + 1, sizeof *e->values);
    e->names = calloc((size_t)count + 1, sizeof *e->names);
    bool whole = e->name && e->values && e->names;
    for (; whole && e->count < count; e->count++) {
        e->values[e->count] = values[e->count];
        e->names[e->count] = strdup(names[e->count]);
        whole = e->names[e->count] != NULL;
    }
    if (whole)
        return e;
    enumeration_release(e);
    return NULL;
}

static bool enumeration_is_same(const struct enumeration *e, const char *name, int count, const int *values,
                                const char *const *names)
{
    if (e->count != count || strcmp(e->name, name) != 0)
        return false;
    for (int i = 0; i < count; i++)
        if (e->values[i] != values[i] || strcmp(e->names[i], names[i]) != 0)
            return false;
    return true;
}

MPI_T_enum enumeration_add(const char *name, int count, const int *values, const char *const *names)
{
    pthread_mutex_lock(&added_lock);
    struct enumeration *e = added;
    while (e && !enumeration_is_same(e, name, count, values, names))
        e = e->next;
    if (!e && (e = enumeration_create(name, count, values, names))) {
        e->next = added;
        __atomic_store_n(&added, e, __ATOMIC_RELEASE); /* partner: find */
    }
    pthread_mutex_unlock(&added_lock);
    return e ? (MPI_T_enum)(void *)e : MPI_T_ENUM_NULL;
}

/* The text that a native call returns, after asking for its length. NULL: the call fails. */
static char *native_item(MPI_T_enum type, int item, int *value)
{
    int length = 0;
    char *text = NULL;
    if (DOOR(enum_get_item, MPI_T_ERR_INVALID, type, item, value, NULL, &length) == MPI_SUCCESS)
        text = calloc(1, (size_t)(length > 0 ? length : 1));
    if (text && DOOR(enum_get_item, MPI_T_ERR_INVALID, type, item, value, text, &length) != MPI_SUCCESS)
        text[0] = '\0';
    return text;
}

MPI_T_enum enumeration_copy(MPI_T_enum type)
{
    char name[256] = "";
    int count = 0, length = sizeof name, known = 0;
    if (type == MPI_T_ENUM_NULL || DOOR(enum_get_info, MPI_T_ERR_INVALID, type, &count, name, &length) != MPI_SUCCESS ||
        count < 0)
        return MPI_T_ENUM_NULL;
    MPI_T_enum copy = MPI_T_ENUM_NULL;
    int *values = calloc((size_t)count + 1, sizeof *values);
    char **names = calloc((size_t)count + 1, sizeof *names);
    while (values && names && known < count && (names[known] = native_item(type, known, &values[known])))
        known++;
    if (values && names && known == count)
        copy = enumeration_add(name, count, values, (const char *const *)names);
    while (names && known > 0)
        free(names[--known]);
    free(names);
    free(values);
    return copy;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

SURFACE(enum_get_info);
int MPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct enumeration *e = enumeration_of_handle(enumtype);
    if (!e)
        return MPI_T_ERR_INVALID_HANDLE;
    if (num)
        *num = items(e);
    string_return(e->name, name, name_len);
    return MPI_SUCCESS;
}

/* In MPI 4.0 MPI_T_ERR_INVALID_INDEX replaces MPI_T_ERR_INVALID_ITEM. */
SURFACE(enum_get_item);
int MPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct enumeration *e = enumeration_of_handle(enumtype);
    if (!e)
        return MPI_T_ERR_INVALID_HANDLE;
    if (indx < 0 || indx >= items(e))
        return MPI_T_ERR_INVALID_INDEX;
    if (value)
        *value = e->own == NAMES_NONE ? e->values[indx] : indx;
    string_return(e->own == NAMES_NONE ? e->names[indx] : variable_slot_name(e->own, (size_t)indx), name, name_len);
    return MPI_SUCCESS;
}
