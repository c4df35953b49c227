#include "eventcalls.h"

#include <dlfcn.h>
#include <string.h>

struct event_calls T;

void event_calls_find(void)
{
#define FIND(name)                                                                                                     \
    do {                                                                                                               \
        *(void **)&T.name = dlsym(RTLD_DEFAULT, "MPI_T_" #name);                                                       \
        if (!T.name)                                                                                                   \
            skip("absent: there is no MPI_T_" #name);                                                                  \
    } while (0)
    FIND(event_get_num);
    FIND(event_get_info);
    FIND(event_get_index);
    FIND(event_handle_alloc);
    FIND(event_handle_free);
    FIND(event_handle_set_info);
    FIND(event_handle_get_info);
    FIND(event_register_callback);
    FIND(event_callback_set_info);
    FIND(event_callback_get_info);
    FIND(event_set_dropped_handler);
    FIND(event_read);
    FIND(event_copy);
    FIND(event_get_timestamp);
    FIND(event_get_source);
    FIND(source_get_num);
    FIND(source_get_info);
    FIND(source_get_timestamp);
    FIND(category_get_num_events);
    FIND(category_get_events);
#undef FIND
}

int events(void)
{
    int count = 0;
    event_calls_find();
    NEED(T.event_get_num(&count));
    some(count, "event types");
    return count;
}

bool event_at(int index, struct event *event)
{
    int length = sizeof event->name;
    memset(event, 0, sizeof *event);
    event->index = index;
    event->elements = ELEMENTS_MOST;
    return T.event_get_info(index, event->name, &length, &event->verbosity, event->types, event->places,
                            &event->elements, &event->enumtype, NULL, NULL, NULL, &event->bind) == MPI_SUCCESS;
}

bool event_registration(const struct event *event, registration *registration)
{
    static MPI_Comm comm;
    comm = MPI_COMM_WORLD;
    if (event->bind != MPI_T_BIND_NO_OBJECT && event->bind != MPI_T_BIND_MPI_COMM)
        return false;
    return T.event_handle_alloc(event->index, event->bind == MPI_T_BIND_MPI_COMM ? (void *)&comm : NULL, MPI_INFO_NULL,
                                registration) == MPI_SUCCESS;
}

size_t element_bytes(MPI_Datatype type)
{
    int bytes = 0;
    return type_bytes(type) ? type_bytes(type) : MPI_Type_size(type, &bytes) == MPI_SUCCESS ? (size_t)bytes : 0;
}
