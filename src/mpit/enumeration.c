#include "enumeration.h"

#include "door.h"

struct enumeration {
    enum variable_names names;
    const char *name;
};

static struct enumeration enumerations[] = {
    {NAMES_CALL, "mpit_call"},
    {NAMES_COLL, "mpit_coll"},
    {NAMES_LOSS, "mpit_loss"},
};

enum { ENUMERATIONS = sizeof enumerations / sizeof enumerations[0] };

MPI_T_enum enumeration_of(enum variable_names names)
{
    for (int i = 0; i < ENUMERATIONS; i++)
        if (enumerations[i].names == names)
            return (MPI_T_enum)(void *)&enumerations[i];
    return MPI_T_ENUM_NULL;
}

static const struct enumeration *own(MPI_T_enum type)
{
    for (int i = 0; i < ENUMERATIONS; i++)
        if ((const void *)type == &enumerations[i])
            return &enumerations[i];
    return NULL;
}

static int items(const struct enumeration *enumeration)
{
    int count = 0;
    while (variable_slot_name(enumeration->names, (size_t)count))
        count++;
    return count;
}

SURFACE(enum_get_info);
int MPI_T_enum_get_info(MPI_T_enum enumtype, int *num, char *name, int *name_len)
{
    CHECK_INITIALIZED();
    const struct enumeration *enumeration = own(enumtype);
    if (enumtype == MPI_T_ENUM_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!enumeration)
        return DOOR(enum_get_info, MPI_T_ERR_INVALID_HANDLE, enumtype, num, name, name_len);
    if (num)
        *num = items(enumeration);
    string_return(enumeration->name, name, name_len);
    return MPI_SUCCESS;
}

SURFACE(enum_get_item);
int MPI_T_enum_get_item(MPI_T_enum enumtype, int indx, int *value, char *name, int *name_len)
{
    CHECK_INITIALIZED();
    const struct enumeration *enumeration = own(enumtype);
    if (enumtype == MPI_T_ENUM_NULL)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!enumeration)
        return DOOR(enum_get_item, MPI_T_ERR_INVALID_HANDLE, enumtype, indx, value, name, name_len);
    if (indx < 0 || indx >= items(enumeration))
        return MPI_T_ERR_INVALID_ITEM;
    if (value)
        *value = indx;
    string_return(variable_slot_name(enumeration->names, (size_t)indx), name, name_len);
    return MPI_SUCCESS;
}
