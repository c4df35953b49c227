#include "catalogue/door.h"

#include "catalogue/category.h"
#include "variables/cvar.h"
#include "events/registration.h"
#include "variables/session.h"
#include "settings/settings.h"
#include "site/setting.h"

#include <string.h>

struct door door;
int door_users;

/* A level for the library's MPI_T that does not change the program's level. Open MPI takes it as the level of MPI
 * itself, from then on in MPI_Query_thread too. The lock makes up for a level that is too low. */
static int native_level(void)
{
    int level = MPI_THREAD_SINGLE;
    if (!native.open_mpi)
        return MPI_THREAD_MULTIPLE;
    if (native_between())
        native.Query_thread(&level);
    return level;
}

/* MPICH has deleted its tables in MPI_Finalize, unless its MPI_T was initialized before, and does not notice. */
static bool native_may_open(void)
{
    int finalized = 0;
    return native.open_mpi || (native.Finalized(&finalized) == MPI_SUCCESS && !finalized);
}

void door_open(void)
{
    if (__atomic_load_n(&door.open, __ATOMIC_ACQUIRE) || !native_may_open() || !native_enter())
        return;
    if (door.open) {
        native_leave();
        return;
    }
#define DOOR_FIND(name) door.name = (__typeof__(door.name))native_symbol("MPI_T_" #name);
    DOOR_CALLS(DOOR_FIND)
#undef DOOR_FIND
    int provided;
    bool open = door.init_thread && door.init_thread(native_level(), &provided) == MPI_SUCCESS;
    __atomic_store_n(&door.open, open, __ATOMIC_RELEASE);
    native_leave();
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

/* ---- init and finalize ------------------------------------------------------------------------------------------- */

static pthread_mutex_t life_lock = PTHREAD_MUTEX_INITIALIZER; /* users and level change together */
static int level = MPI_THREAD_SINGLE;                         /* the highest level asked for */

/*
 * Lets all calls pass if the MPI has another ABI, or mpit is disabled. The tool then gets the library's own interface.
 */
static void gates_pass(void)
{
#define SURFACE_PASS(name)                                                                                             \
    GATE_PASS(MPI_T_##name);                                                                                           \
    GATE_PASS(PMPI_T_##name);
    DOOR_CALLS(SURFACE_PASS)
    SURFACE_PASS(finalize)
#undef SURFACE_PASS
}

SURFACE(init_thread);
int MPI_T_init_thread(int required, int *provided)
{
    if (!native_find() || setting_disabled()) {
        __typeof__(&MPI_T_init_thread) next = (__typeof__(next))native_symbol("MPI_T_init_thread");
        gates_pass();
        return next && (native.mismatch || native.present) ? next(required, provided) : MPI_T_ERR_CANNOT_INIT;
    }
    pthread_mutex_lock(&life_lock);
    settings_read();      /* control variables have the environment's values before MPI_Init, too */
    category_refresh();   /* and thereby everything that can be a member */
    if (required > level) /* own calls need no lock, and calls into the library have one */
        level = required < MPI_THREAD_MULTIPLE ? required : MPI_THREAD_MULTIPLE;
    if (provided)
        *provided = level;
    __atomic_add_fetch(&door_users, 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&life_lock);
    return MPI_SUCCESS;
}

SURFACE(finalize);
int MPI_T_finalize(void)
{
    int result = MPI_T_ERR_NOT_INITIALIZED;
    pthread_mutex_lock(&life_lock);
    if (door_initialized()) {
        result = MPI_SUCCESS;
        if (__atomic_sub_fetch(&door_users, 1, __ATOMIC_RELEASE) == 0) {
            /* All handles of the interface become stale. The library's own MPI_T stays open. */
            session_free_all();
            cvar_handle_free_all();
            registrations_free_all();
            level = MPI_THREAD_SINGLE;
        }
    }
    pthread_mutex_unlock(&life_lock);
    return result;
}
