/*
 * The event types of categories.
 */
#include "catalogue/category.h"
#include "catalogue/door.h"

SURFACE(category_get_num_events);
int MPI_T_category_get_num_events(int cat_index, int *num_events)
{
    int count = 0, result = category_members(cat_index, MEMBER_EVENT, 0, NULL, &count);
    if (result != MPI_SUCCESS)
        return result;
    if (!num_events)
        return MPI_T_ERR_INVALID;
    *num_events = count;
    return MPI_SUCCESS;
}

SURFACE(category_get_events);
int MPI_T_category_get_events(int cat_index, int len, int indices[])
{
    return category_members(cat_index, MEMBER_EVENT, len, indices, NULL);
}
