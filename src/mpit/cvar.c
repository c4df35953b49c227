/*
 * Control variables: own ones first (aggregate/knobs.c), then the library's, whose indices follow.
 */
#include "door.h"
#include "knobs.h"

#include <string.h>

/* A handle of an own variable is the address of its place here. */
static char own_handles[KNOB_COUNT];

static int own_of(MPI_T_cvar_handle handle)
{
    uintptr_t at = (uintptr_t)handle, first = (uintptr_t)own_handles;
    return at >= first && at < first + KNOB_COUNT ? (int)(at - first) : -1;
}

SURFACE(cvar_get_num);
int MPI_T_cvar_get_num(int *num_cvar)
{
    CHECK_INITIALIZED();
    int count = 0;
    if (!num_cvar)
        return MPI_T_ERR_INVALID;
    int result = DOOR(cvar_get_num, MPI_SUCCESS, &count);
    *num_cvar = KNOB_COUNT + count;
    return result;
}

SURFACE(cvar_get_info);
int MPI_T_cvar_get_info(int cvar_index, char *name, int *name_len, int *verbosity, MPI_Datatype *datatype,
                        MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind, int *scope)
{
    CHECK_INITIALIZED();
    if (cvar_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (cvar_index >= KNOB_COUNT)
        return DOOR(cvar_get_info, MPI_T_ERR_INVALID_INDEX, cvar_index - KNOB_COUNT, name, name_len, verbosity,
                    datatype, enumtype, desc, desc_len, bind, scope);
    const struct knob_description *knob = &knob_table[cvar_index];
    string_return(knob->name, name, name_len);
    string_return(knob->description, desc, desc_len);
    if (verbosity)
        *verbosity = MPI_T_VERBOSITY_USER_BASIC;
    if (datatype)
        *datatype = knob->type == KNOB_INT ? native.int_ : native.unsigned_long_long;
    if (enumtype)
        *enumtype = MPI_T_ENUM_NULL;
    if (bind)
        *bind = MPI_T_BIND_NO_OBJECT;
    if (scope)
        *scope = knob->run_time ? MPI_T_SCOPE_LOCAL : MPI_T_SCOPE_READONLY;
    return MPI_SUCCESS;
}

SURFACE(cvar_get_index);
int MPI_T_cvar_get_index(const char *name, int *cvar_index)
{
    CHECK_INITIALIZED();
    if (!name || !cvar_index)
        return MPI_T_ERR_INVALID;
    for (int i = 0; i < KNOB_COUNT; i++)
        if (strcmp(knob_table[i].name, name) == 0) {
            *cvar_index = i;
            return MPI_SUCCESS;
        }
    int (*get_index)(const char *, int *) = (int (*)(const char *, int *))native_symbol("MPI_T_cvar_get_index");
    int index = 0;
    pthread_mutex_lock(&door_lock);
    int result = door.open && get_index ? get_index(name, &index) : MPI_T_ERR_INVALID_NAME;
    pthread_mutex_unlock(&door_lock);
    if (result == MPI_SUCCESS)
        *cvar_index = KNOB_COUNT + index;
    return result;
}

SURFACE(cvar_handle_alloc);
int MPI_T_cvar_handle_alloc(int cvar_index, void *obj_handle, MPI_T_cvar_handle *handle, int *count)
{
    CHECK_INITIALIZED();
    int ignored;
    if (cvar_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    if (!count)
        count = &ignored;
    if (cvar_index >= KNOB_COUNT)
        return DOOR(cvar_handle_alloc, MPI_T_ERR_INVALID_INDEX, cvar_index - KNOB_COUNT, obj_handle, handle, count);
    *handle = (MPI_T_cvar_handle)(void *)&own_handles[cvar_index];
    *count = 1;
    return MPI_SUCCESS;
}

SURFACE(cvar_handle_free);
int MPI_T_cvar_handle_free(MPI_T_cvar_handle *handle)
{
    CHECK_INITIALIZED();
    if (!handle || *handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (own_of(*handle) < 0)
        return DOOR(cvar_handle_free, MPI_T_ERR_INVALID_HANDLE, handle);
    *handle = MPI_T_CVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}

SURFACE(cvar_read);
int MPI_T_cvar_read(MPI_T_cvar_handle handle, void *buf)
{
    CHECK_INITIALIZED();
    int own = own_of(handle);
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (own < 0)
        return DOOR(cvar_read, MPI_T_ERR_INVALID_HANDLE, handle, buf);
    uint64_t value = knob_load((enum knob)own);
    if (knob_table[own].type == KNOB_INT)
        *(int *)buf = (int)value;
    else
        *(unsigned long long *)buf = value;
    return MPI_SUCCESS;
}

SURFACE(cvar_write);
int MPI_T_cvar_write(MPI_T_cvar_handle handle, const void *buf)
{
    CHECK_INITIALIZED();
    int own = own_of(handle);
    if (handle == MPI_T_CVAR_HANDLE_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (own < 0)
        return DOOR(cvar_write, MPI_T_ERR_INVALID_HANDLE, handle, buf);
    const struct knob_description *knob = &knob_table[own];
    if (!knob->run_time)
        return MPI_T_ERR_CVAR_SET_NEVER;
    int64_t signed_value = knob->type == KNOB_INT ? *(const int *)buf : 0;
    uint64_t value = knob->type == KNOB_INT ? (uint64_t)signed_value : *(const unsigned long long *)buf;
    if (signed_value < 0 || value < knob->least || value > knob->most)
        return MPI_T_ERR_INVALID; /* a value that cannot be */
    knob_store((enum knob)own, value);
    return MPI_SUCCESS;
}
