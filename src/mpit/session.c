#include "session.h"

#include "door.h"

#include <stdlib.h>
#include <string.h>

static struct session sessions[SESSION_MOST];
static struct handle *handle_blocks[HANDLE_BLOCKS];
static uint32_t handle_top;   /* places used so far */
static uint32_t handle_spare; /* index + 1 of a freed place; linked by `next` */
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* A ticket is odd and not -1, so that it is neither NULL nor ALL_HANDLES nor anybody's address. */
static uintptr_t ticket_make(uint32_t index, uint32_t generation)
{
    return ((uintptr_t)(generation & 0x7fffffff) << 32) | ((uintptr_t)index << 4) | 9;
}

static uint32_t ticket_index(uintptr_t ticket)
{
    return (uint32_t)((ticket & 0xffffffff) >> 4);
}

static struct handle *handle_at(uint32_t index)
{
    struct handle *block = index / HANDLE_BLOCK < HANDLE_BLOCKS
                               ? __atomic_load_n(&handle_blocks[index / HANDLE_BLOCK], __ATOMIC_ACQUIRE)
                               : NULL;
    return block ? &block[index % HANDLE_BLOCK] : NULL;
}

struct session *session_find(MPI_T_pvar_session session)
{
    uintptr_t ticket = (uintptr_t)session;
    uint32_t index = ticket_index(ticket);
    if (index >= SESSION_MOST)
        return NULL;
    struct session *found = &sessions[index];
    uint32_t generation = __atomic_load_n(&found->generation, __ATOMIC_ACQUIRE);
    return (generation & 1) && ticket == ticket_make(index, generation) ? found : NULL;
}

struct handle *handle_find(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    uintptr_t ticket = (uintptr_t)handle;
    uint32_t index = ticket_index(ticket);
    struct handle *found = handle_at(index);
    if (!found)
        return NULL;
    uint32_t generation = __atomic_load_n(&found->generation, __ATOMIC_ACQUIRE);
    if (!(generation & 1) || ticket != ticket_make(index, generation))
        return NULL;
    return session_find(session) == &sessions[found->session] ? found : NULL;
}

bool handle_is_all(MPI_T_pvar_handle handle)
{
#if defined(OPEN_MPI)
    return handle == MPI_T_PVAR_ALL_HANDLES;
#else
    static MPI_T_pvar_handle const *all; /* a data symbol of the library */
    if (!all)
        all = native_object("MPI_T_PVAR_ALL_HANDLES");
    return all && handle == *all;
#endif
}

struct handle *session_handle_next(const struct session *session, const struct handle *before)
{
    uint32_t next = before ? before->next : session->first_handle;
    return next ? handle_at(next - 1) : NULL;
}

SURFACE(pvar_session_create);
int MPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    CHECK_INITIALIZED();
    if (!session)
        return MPI_T_ERR_INVALID;
    catalogue_refresh();
    handle_is_all(MPI_T_PVAR_HANDLE_NULL); /* looks the constant up now, so that no signal handler has to */
    int result = MPI_T_ERR_OUT_OF_SESSIONS;
    pthread_mutex_lock(&table_lock);
    for (uint32_t i = 0; i < SESSION_MOST; i++) {
        struct session *fresh = &sessions[i];
        if (fresh->generation & 1)
            continue;
        fresh->native = MPI_T_PVAR_SESSION_NULL;
        fresh->first_handle = 0;
        DOOR(pvar_session_create, MPI_SUCCESS, &fresh->native);
        __atomic_store_n(&fresh->generation, fresh->generation + 1, __ATOMIC_RELEASE);
        *session = (MPI_T_pvar_session)ticket_make(i, fresh->generation);
        result = MPI_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

/* Under the table's lock. */
static void handle_release(struct session *session, struct handle *handle)
{
    if (handle->native != MPI_T_PVAR_HANDLE_NULL)
        DOOR(pvar_handle_free, MPI_SUCCESS, session->native, &handle->native);
    if (handle->window.open)
        window_close(&handle->window);
    __atomic_store_n(&handle->generation, handle->generation + 1, __ATOMIC_RELEASE);
    free(handle->held);
    handle->held = handle->base = handle->now = NULL;
    handle->next = handle_spare;
    handle_spare = handle->index + 1;
}

SURFACE(pvar_session_free);
int MPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    CHECK_INITIALIZED();
    struct session *found = session ? session_find(*session) : NULL;
    if (!found)
        return MPI_T_ERR_INVALID_SESSION;
    pthread_mutex_lock(&table_lock);
    for (struct handle *handle = session_handle_next(found, NULL), *next; handle; handle = next) {
        next = session_handle_next(found, handle);
        handle_release(found, handle);
    }
    if (found->native != MPI_T_PVAR_SESSION_NULL)
        DOOR(pvar_session_free, MPI_SUCCESS, &found->native);
    __atomic_store_n(&found->generation, found->generation + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&table_lock);
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

/* A free place; under the table's lock. */
static struct handle *handle_place(void)
{
    if (handle_spare) {
        struct handle *handle = handle_at(handle_spare - 1);
        handle_spare = handle->next;
        return handle;
    }
    uint32_t index = handle_top, block = index / HANDLE_BLOCK;
    if (block >= HANDLE_BLOCKS)
        return NULL;
    if (!handle_blocks[block]) {
        struct handle *fresh = calloc(HANDLE_BLOCK, sizeof *fresh);
        if (!fresh)
            return NULL;
        __atomic_store_n(&handle_blocks[block], fresh, __ATOMIC_RELEASE);
    }
    handle_top++;
    struct handle *handle = handle_at(index);
    handle->index = index;
    return handle;
}

/* Binds the handle to its object; under the table's lock. */
static int handle_bind(struct session *session, struct handle *handle, const struct catalogue_entry *entry,
                       void *obj_handle, int *count)
{
    handle->entry = entry;
    handle->variable = entry->own;
    handle->native = MPI_T_PVAR_HANDLE_NULL;
    handle->comm = NULL;
    handle->started = handle->ever_started = false;
    if (!entry->own) {
        if (session->native == MPI_T_PVAR_SESSION_NULL)
            return MPI_T_ERR_INVALID_HANDLE;
        return DOOR(pvar_handle_alloc, MPI_T_ERR_INVALID_INDEX, session->native, entry->native_index, obj_handle,
                    &handle->native, count);
    }
    if (entry->own->record.bound) {
        if (!obj_handle)
            return MPI_T_ERR_INVALID;
        handle->comm = book_comm_find(abi_handle_of_comm(*(MPI_Comm *)obj_handle));
        if (!handle->comm)
            return MPI_T_ERR_INVALID_HANDLE; /* not a communicator that is alive in this process */
    }
    handle->count = (uint32_t)book_value_count(entry->own, handle->comm);
    size_t places = handle->count > 2 ? handle->count : 2;
    handle->held = calloc(3 * places, sizeof *handle->held);
    if (!handle->held)
        return MPI_T_ERR_OUT_OF_HANDLES;
    handle->base = handle->held + places;
    handle->now = handle->base + places;
    if (entry->own->extreme != EXTREME_NONE)
        window_tie(&handle->window, handle->comm, entry->own->extreme);
    *count = (int)handle->count;
    return MPI_SUCCESS;
}

SURFACE(pvar_handle_alloc);
int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                            int *count)
{
    CHECK_INITIALIZED();
    struct session *of = session_find(session);
    const struct catalogue_entry *entry = catalogue_at(pvar_index);
    int ignored;
    if (!of)
        return MPI_T_ERR_INVALID_SESSION;
    if (!entry)
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    pthread_mutex_lock(&table_lock);
    struct handle *fresh = handle_place();
    int result = fresh ? handle_bind(of, fresh, entry, obj_handle, count ? count : &ignored) : MPI_T_ERR_OUT_OF_HANDLES;
    if (result == MPI_SUCCESS) {
        fresh->session = (uint32_t)(of - sessions);
        fresh->next = of->first_handle;
        of->first_handle = fresh->index + 1;
        __atomic_store_n(&fresh->generation, fresh->generation + 1, __ATOMIC_RELEASE);
        *handle = (MPI_T_pvar_handle)ticket_make(fresh->index, fresh->generation);
    } else if (fresh) {
        fresh->next = handle_spare;
        handle_spare = fresh->index + 1;
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

SURFACE(pvar_handle_free);
int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    CHECK_INITIALIZED();
    struct session *of = session_find(session);
    if (!of)
        return MPI_T_ERR_INVALID_SESSION;
    struct handle *found = handle ? handle_find(session, *handle) : NULL;
    if (!found)
        return MPI_T_ERR_INVALID_HANDLE;
    pthread_mutex_lock(&table_lock);
    uint32_t *link = &of->first_handle;
    while (*link && *link != found->index + 1)
        link = &handle_at(*link - 1)->next;
    if (*link)
        *link = found->next;
    handle_release(of, found);
    pthread_mutex_unlock(&table_lock);
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}
