/*
 * The callbacks of an event handle, their hints, and the handler of dropped events.
 */
#include "events/registration.h"

#include "catalogue/hint.h"

static const MPI_T_cb_safety safeties[SAFETY_LEVELS] = {
    MPI_T_CB_REQUIRE_NONE,
    MPI_T_CB_REQUIRE_MPI_RESTRICTED,
    MPI_T_CB_REQUIRE_THREAD_SAFE,
    MPI_T_CB_REQUIRE_ASYNC_SIGNAL_SAFE,
};

int safety_index(MPI_T_cb_safety safety)
{
    for (int i = 0; i < SAFETY_LEVELS; i++)
        if (safeties[i] == safety)
            return i;
    return -1;
}

MPI_T_cb_safety safety_of_index(int index)
{
    return safeties[index];
}

static int callback_set(struct registration *registration, int level, void *user_data, event_function *function)
{
    registration->callbacks[level].function = function;
    registration->callbacks[level].user_data = user_data;
    if (!registration->type)
        return MPI_SUCCESS;
    if (registration->type->threshold && !registration->hears) /* the level was not watched for it so far */
        registration->over = registration_level(registration) > registration->threshold;
    registration_heed(registration);
    return MPI_SUCCESS;
}

SURFACE(event_register_callback);
int MPI_T_event_register_callback(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info,
                                  void *user_data, MPI_T_event_cb_function event_cb_function)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    int level = safety_index(cb_safety);
    pthread_mutex_lock(&registrations_lock);
    struct registration *found = registration_find(event_registration);
    int result = !found ? MPI_T_ERR_INVALID_HANDLE : level < 0 ? MPI_T_ERR_INVALID : MPI_SUCCESS;
    if (result == MPI_SUCCESS)
        result = callback_set(found, level, user_data, event_cb_function);
    MPI_T_event_registration of_library = result == MPI_SUCCESS ? found->native : NULL;
    pthread_mutex_unlock(&registrations_lock);
    if (of_library)
        return door.event_register_callback
                   ? door.event_register_callback(of_library, cb_safety, info, &found->callbacks[level],
                                                  event_cb_function ? native_callback : NULL)
                   : MPI_T_ERR_NOT_SUPPORTED;
    return result;
}

/* Checks handle and level. *of_library gets the library's handle. */
static int callback_find(MPI_T_event_registration ticket, MPI_T_cb_safety safety, MPI_T_event_registration *of_library)
{
    int level = safety_index(safety);
    pthread_mutex_lock(&registrations_lock);
    const struct registration *found = registration_find(ticket);
    int result = !found                                           ? MPI_T_ERR_INVALID_HANDLE
                 : level < 0 || !found->callbacks[level].function ? MPI_T_ERR_INVALID
                                                                  : MPI_SUCCESS;
    *of_library = found ? found->native : NULL;
    pthread_mutex_unlock(&registrations_lock);
    return result;
}

SURFACE(event_callback_set_info);
int MPI_T_event_callback_set_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety, MPI_Info info)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    MPI_T_event_registration of_library;
    int result = callback_find(event_registration, cb_safety, &of_library);
    if (result == MPI_SUCCESS && of_library && door.event_callback_set_info)
        return door.event_callback_set_info(of_library, cb_safety, info);
    return result; /* own callbacks have no hints, so they are ignored */
}

SURFACE(event_callback_get_info);
int MPI_T_event_callback_get_info(MPI_T_event_registration event_registration, MPI_T_cb_safety cb_safety,
                                  MPI_Info *info_used)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    MPI_T_event_registration of_library;
    int result = callback_find(event_registration, cb_safety, &of_library);
    if (result != MPI_SUCCESS)
        return result;
    if (!info_used)
        return MPI_T_ERR_INVALID;
    if (of_library && door.event_callback_get_info)
        return door.event_callback_get_info(of_library, cb_safety, info_used);
    *info_used = hint_none_info();
    return MPI_SUCCESS;
}

SURFACE(event_set_dropped_handler);
int MPI_T_event_set_dropped_handler(MPI_T_event_registration event_registration,
                                    MPI_T_event_dropped_cb_function dropped_cb_function)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    pthread_mutex_lock(&registrations_lock);
    struct registration *found = registration_find(event_registration);
    MPI_T_event_registration of_library = found ? found->native : NULL;
    if (found) {
        found->dropped_handler = dropped_cb_function;
        found->dropped = 0; /* counted from here on */
    }
    pthread_mutex_unlock(&registrations_lock);
    if (!found)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!of_library)
        return MPI_SUCCESS;
    return door.event_set_dropped_handler
               ? door.event_set_dropped_handler(of_library, dropped_cb_function ? native_dropped : NULL)
               : MPI_T_ERR_NOT_SUPPORTED;
}
