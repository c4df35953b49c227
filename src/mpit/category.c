/*
 * Categories: one of our own at index 0, "mpit", then the library's, with their members' indices translated into ours.
 */
#include "catalogue.h"
#include "door.h"
#include "knobs.h"

enum { OWN_CATEGORIES = 1 };

SURFACE(category_get_num);
int MPI_T_category_get_num(int *num_cat)
{
    CHECK_INITIALIZED();
    int count = 0;
    if (!num_cat)
        return MPI_T_ERR_INVALID;
    int result = DOOR(category_get_num, MPI_SUCCESS, &count);
    *num_cat = OWN_CATEGORIES + count;
    return result;
}

SURFACE(category_get_info);
int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
                            int *num_pvars, int *num_categories)
{
    CHECK_INITIALIZED();
    int cvars = KNOB_COUNT, pvars = (int)variable_count, categories = 0;
    if (cat_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (cat_index >= OWN_CATEGORIES) {
        int result = DOOR(category_get_info, MPI_T_ERR_INVALID_INDEX, cat_index - OWN_CATEGORIES, name, name_len, desc,
                          desc_len, &cvars, &pvars, &categories);
        if (result != MPI_SUCCESS)
            return result;
    } else {
        string_return("mpit", name, name_len);
        string_return("What the mpit event recorder knows of this process.", desc, desc_len);
    }
    if (num_cvars)
        *num_cvars = cvars;
    if (num_pvars)
        *num_pvars = pvars;
    if (num_categories)
        *num_categories = categories;
    return MPI_SUCCESS;
}

SURFACE(category_get_index);
int MPI_T_category_get_index(const char *name, int *cat_index)
{
    CHECK_INITIALIZED();
    if (!name || !cat_index)
        return MPI_T_ERR_INVALID;
    if (__builtin_strcmp(name, "mpit") == 0) {
        *cat_index = 0;
        return MPI_SUCCESS;
    }
    int index = 0;
    int result = DOOR(category_get_index, MPI_T_ERR_INVALID_NAME, name, &index);
    if (result == MPI_SUCCESS)
        *cat_index = OWN_CATEGORIES + index;
    return result;
}

static void numbers_return(int count, int len, int indices[])
{
    for (int i = 0; indices && i < len && i < count; i++)
        indices[i] = i;
}

SURFACE(category_get_cvars);
int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    CHECK_INITIALIZED();
    if (cat_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (cat_index < OWN_CATEGORIES) {
        numbers_return(KNOB_COUNT, len, indices);
        return MPI_SUCCESS;
    }
    int count = 0, result = MPI_T_category_get_info(cat_index, NULL, NULL, NULL, NULL, &count, NULL, NULL);
    if (result == MPI_SUCCESS)
        result = DOOR(category_get_cvars, MPI_T_ERR_INVALID_INDEX, cat_index - OWN_CATEGORIES, len, indices);
    for (int i = 0; result == MPI_SUCCESS && i < len && i < count; i++)
        indices[i] += KNOB_COUNT;
    return result;
}

SURFACE(category_get_pvars);
int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    CHECK_INITIALIZED();
    if (cat_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (cat_index < OWN_CATEGORIES) {
        numbers_return((int)variable_count, len, indices);
        return MPI_SUCCESS;
    }
    int count = 0, result = MPI_T_category_get_info(cat_index, NULL, NULL, NULL, NULL, NULL, &count, NULL);
    if (result == MPI_SUCCESS)
        result = DOOR(category_get_pvars, MPI_T_ERR_INVALID_INDEX, cat_index - OWN_CATEGORIES, len, indices);
    catalogue_refresh();
    for (int i = 0; result == MPI_SUCCESS && i < len && i < count; i++)
        indices[i] = catalogue_of_native(indices[i]);
    return result;
}

SURFACE(category_get_categories);
int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    CHECK_INITIALIZED();
    if (cat_index < 0)
        return MPI_T_ERR_INVALID_INDEX;
    if (cat_index < OWN_CATEGORIES)
        return MPI_SUCCESS;
    int count = 0, result = MPI_T_category_get_info(cat_index, NULL, NULL, NULL, NULL, NULL, NULL, &count);
    if (result == MPI_SUCCESS)
        result = DOOR(category_get_categories, MPI_T_ERR_INVALID_INDEX, cat_index - OWN_CATEGORIES, len, indices);
    for (int i = 0; result == MPI_SUCCESS && i < len && i < count; i++)
        indices[i] += OWN_CATEGORIES;
    return result;
}

SURFACE(category_changed);
int MPI_T_category_changed(int *stamp)
{
    CHECK_INITIALIZED();
    if (!stamp)
        return MPI_T_ERR_INVALID;
    *stamp = 0;
    return DOOR(category_changed, MPI_SUCCESS, stamp);
}
