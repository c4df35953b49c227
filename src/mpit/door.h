/*
 * The door to the MPI library's own tool interface, and the shape of every entry point of ours.
 *
 * The library's MPI_T is initialized once, at the tool's first MPI_T_init_thread, and never finalized: doing that early
 * crashes some libraries. Calls into it are serialized by a lock; calls on own variables never take that lock.
 */
#ifndef MPIT_MPIT_DOOR_H
#define MPIT_MPIT_DOOR_H

#include "gate.h"

#include <pthread.h>
#include <stdbool.h>

#define DOOR_CALLS(X)                                                                                                  \
    X(init_thread)                                                                                                     \
    X(enum_get_info)                                                                                                   \
    X(enum_get_item)                                                                                                   \
    X(cvar_get_num)                                                                                                    \
    X(cvar_get_info)                                                                                                   \
    X(cvar_handle_alloc)                                                                                               \
    X(cvar_handle_free)                                                                                                \
    X(cvar_read)                                                                                                       \
    X(cvar_write)                                                                                                      \
    X(pvar_get_num)                                                                                                    \
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
    X(category_changed)

struct door {
    bool open; /* the library's MPI_T is initialized */
#define DOOR_FIELD(name) __typeof__(&MPI_T_##name) name;
    DOOR_CALLS(DOOR_FIELD)
#undef DOOR_FIELD
};

extern struct door door;
extern pthread_mutex_t door_lock; /* around every call into the library */

/* Opens the door; false when there is no MPI library behind us. */
bool door_open(void);

/* How often the tool has called MPI_T_init_thread more than MPI_T_finalize. */
extern int door_users;

static inline bool door_initialized(void)
{
    return __atomic_load_n(&door_users, __ATOMIC_RELAXED) > 0;
}

/* MPI_T_name is ours, and so is PMPI_T_name: tools call either. */
#define SURFACE(name)                                                                                                  \
    GATE(MPI_T_##name);                                                                                                \
    GATE_SYMBOL("PMPI_T_" #name, "gate_MPI_T_" #name)

#define CHECK_INITIALIZED()                                                                                            \
    do {                                                                                                               \
        if (!door_initialized())                                                                                       \
            return MPI_T_ERR_NOT_INITIALIZED;                                                                          \
    } while (0)

/* A call into the library under the lock; MPI_T_ERR_NOT_SUPPORTED-like `otherwise` where it has no such function. */
#define DOOR(name, otherwise, ...)                                                                                     \
    ({                                                                                                                 \
        int door_result = (otherwise);                                                                                 \
        pthread_mutex_lock(&door_lock);                                                                                \
        if (door.open && door.name)                                                                                    \
            door_result = door.name(__VA_ARGS__);                                                                      \
        pthread_mutex_unlock(&door_lock);                                                                              \
        door_result;                                                                                                   \
    })

/*
 * Returns a string the standard's way (section "Convention for Returning Strings"): `length` NULL: nothing; a NULL
 * buffer or length 0: the length that is needed; else as much as fits, terminated. The length counts the NUL.
 */
void string_return(const char *text, char *buffer, int *length);

#endif
