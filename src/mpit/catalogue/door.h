/*
 * The connection to the MPI library's own tool interface, and the common form of all our entry points.
 *
 * The library's MPI_T is initialized once, at the tool's first MPI_T_init_thread. It is never finalized, since some
 * libraries crash if that happens early. A lock serializes the calls into it. Calls on own variables never take that
 * lock.
 */
#ifndef MPIT_MPIT_DOOR_H
#define MPIT_MPIT_DOOR_H

#define MPIT_MPI_T_LINKAGE /* they are defined here */
#include "mpit/mpi_t.h"

#include "gate.h"

#include <pthread.h>
#include <stdbool.h>

#define DOOR_CALLS(X)                                                                                                  \
    X(init_thread)                                                                                                     \
    X(enum_get_info)                                                                                                   \
    X(enum_get_item)                                                                                                   \
    X(cvar_get_num)                                                                                                    \
    X(cvar_get_index)                                                                                                  \
    X(cvar_get_info)                                                                                                   \
    X(cvar_handle_alloc)                                                                                               \
    X(cvar_handle_free)                                                                                                \
    X(cvar_read)                                                                                                       \
    X(cvar_write)                                                                                                      \
    X(pvar_get_num)                                                                                                    \
    X(pvar_get_index)                                                                                                  \
    X(pvar_get_info)                                                                                                   \
    X(pvar_session_create)                                                                                             \
    X(pvar_session_free)                                                                                               \
    X(pvar_handle_alloc)                                                                                               \
    X(pvar_handle_free)                                                                                                \
    X(pvar_start)                                                                                                      \
    X(pvar_stop)                                                                                                       \
    X(pvar_read)                                                                                                       \
    X(pvar_write)                                                                                                      \
    X(pvar_reset)                                                                                                      \
    X(pvar_readreset)                                                                                                  \
    X(category_get_num)                                                                                                \
    X(category_get_info)                                                                                               \
    X(category_get_index)                                                                                              \
    X(category_get_cvars)                                                                                              \
    X(category_get_pvars)                                                                                              \
    X(category_get_categories)                                                                                         \
    X(category_changed)                                                                                                \
    X(category_get_num_events)                                                                                         \
    X(category_get_events)                                                                                             \
    X(event_get_num)                                                                                                   \
    X(event_get_info)                                                                                                  \
    X(event_get_index)                                                                                                 \
    X(event_handle_alloc)                                                                                              \
    X(event_handle_set_info)                                                                                           \
    X(event_handle_get_info)                                                                                           \
    X(event_handle_free)                                                                                               \
    X(event_register_callback)                                                                                         \
    X(event_callback_set_info)                                                                                         \
    X(event_callback_get_info)                                                                                         \
    X(event_set_dropped_handler)                                                                                       \
    X(event_read)                                                                                                      \
    X(event_copy)                                                                                                      \
    X(event_get_timestamp)                                                                                             \
    X(event_get_source)                                                                                                \
    X(source_get_num)                                                                                                  \
    X(source_get_info)                                                                                                 \
    X(source_get_timestamp)

struct door {
    bool open; /* the library's MPI_T is initialized */
#define DOOR_FIELD(name) __typeof__(&MPI_T_##name) name;
    DOOR_CALLS(DOOR_FIELD)
#undef DOOR_FIELD
};

extern struct door door;

/* The error of a call that native_enter refuses. */
#define DOOR_BUSY MPI_T_ERR_NOT_ACCESSIBLE

/* Initializes the library's MPI_T if that is possible now. Cheap if it was done before. */
void door_open(void);
/* True after MPI_Finalize was called. Open MPI 4.1 has freed tables then that it needs to free sessions and handles
 * of performance variables. So these stay. */
static inline bool door_is_over(void)
{
    int finalized = 0;
    return native.Finalized(&finalized) == MPI_SUCCESS && finalized;
}

/* Calls of MPI_T_init_thread by tools, minus calls of MPI_T_finalize. */
extern int door_users;

static inline bool door_initialized(void)
{
    return __atomic_load_n(&door_users, __ATOMIC_RELAXED) > 0;
}

/* An entry point that tells how many of something there are. */
static inline int door_count(int *count, int (*refresh)(void))
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!count)
        return MPI_T_ERR_INVALID;
    *count = refresh();
    return MPI_SUCCESS;
}

/* MPI_T_name is ours, and so is PMPI_T_name: tools call either. */
#define SURFACE(name)                                                                                                  \
    GATE(MPI_T_##name);                                                                                                \
    GATE_BODY(PMPI_T_##name, MPI_T_##name)

/* Calls into the library under the lock. The result is `otherwise` if the library has no such function. */
#define DOOR(name, otherwise, ...)                                                                                     \
    ({                                                                                                                 \
        int door_result = DOOR_BUSY;                                                                                   \
        if (native_enter()) {                                                                                          \
            door_result = door.open && door.name ? door.name(__VA_ARGS__) : (otherwise);                               \
            native_leave();                                                                                            \
        }                                                                                                              \
        door_result;                                                                                                   \
    })

/*
 * Returns a string the standard's way (section "Convention for Returning Strings"). `length` NULL: nothing. A NULL
 * buffer or length 0: the needed length. Else as much as fits, terminated. The length counts the NUL.
 */
void string_return(const char *text, char *buffer, int *length);

#endif
