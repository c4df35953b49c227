#define _GNU_SOURCE
#include "door.h"

#include "catalogue.h"

#include <string.h>

struct door door;
pthread_mutex_t door_lock = PTHREAD_MUTEX_INITIALIZER;
int door_users;

bool door_open(void)
{
    pthread_mutex_lock(&door_lock);
    if (!door.open && native_find()) {
#define DOOR_FIND(name) door.name = (__typeof__(door.name))native_symbol("MPI_T_" #name);
        DOOR_CALLS(DOOR_FIND)
#undef DOOR_FIND
        int provided;
        door.open = door.init_thread && door.init_thread(MPI_THREAD_MULTIPLE, &provided) == MPI_SUCCESS;
    }
    pthread_mutex_unlock(&door_lock);
    return door.open;
}

void string_return(const char *text, char *buffer, int *length)
{
    int needed = (int)strlen(text) + 1;
    if (!length)
        return;
    if (buffer && *length > 0) {
        int fits = needed <= *length ? needed : *length;
        memcpy(buffer, text, (size_t)fits - 1);
        buffer[fits - 1] = '\0';
    }
    *length = needed;
}

/* Steps aside where the MPI is of another ABI: the tool gets the library's own interface. */
static void gates_pass(void)
{
#define SURFACE_PASS(name) GATE_PASS(MPI_T_##name);
    DOOR_CALLS(SURFACE_PASS)
    SURFACE_PASS(finalize)
    SURFACE_PASS(cvar_get_index)
    SURFACE_PASS(pvar_get_index)
#undef SURFACE_PASS
}

SURFACE(init_thread);
int MPI_T_init_thread(int required, int *provided)
{
    if (!door_open()) {
        __typeof__(&MPI_T_init_thread) next = (__typeof__(next))native_symbol("MPI_T_init_thread");
        gates_pass();
        return native.mismatch && next ? next(required, provided) : MPI_T_ERR_CANNOT_INIT;
    }
    catalogue_refresh();
    __atomic_add_fetch(&door_users, 1, __ATOMIC_RELAXED);
    if (provided) /* own calls need no lock, and those into the library have one */
        *provided = required > MPI_THREAD_MULTIPLE || required < MPI_THREAD_SINGLE ? MPI_THREAD_MULTIPLE : required;
    return MPI_SUCCESS;
}

SURFACE(finalize);
int MPI_T_finalize(void)
{
    CHECK_INITIALIZED();
    __atomic_sub_fetch(&door_users, 1, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}
