/*
 * The calls on performance variables: what is in the catalogue, and the values of handles.
 *
 * On own variables start, stop, read, reset, readreset and write are lock-free and async-signal-safe: they sum cells
 * and touch nothing but the handle.
 */
#include "door.h"
#include "session.h"

#include <string.h>

SURFACE(pvar_get_num);
int MPI_T_pvar_get_num(int *num_pvar)
{
    CHECK_INITIALIZED();
    if (!num_pvar)
        return MPI_T_ERR_INVALID;
    *num_pvar = catalogue_refresh();
    return MPI_SUCCESS;
}

SURFACE(pvar_get_info);
int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                        int *readonly, int *continuous, int *atomic)
{
    CHECK_INITIALIZED();
    const struct catalogue_entry *entry = catalogue_at(pvar_index);
    if (!entry)
        return MPI_T_ERR_INVALID_INDEX;
    string_return(entry->name, name, name_len);
    string_return(entry->description, desc, desc_len);
#define OUT(argument, value)                                                                                           \
    do {                                                                                                               \
        if (argument)                                                                                                  \
            *(argument) = (value);                                                                                     \
    } while (0)
    OUT(verbosity, entry->verbosity);
    OUT(var_class, entry->class);
    OUT(datatype, entry->datatype);
    OUT(enumtype, entry->enumtype);
    OUT(bind, entry->bind);
    OUT(readonly, entry->readonly);
    OUT(continuous, entry->continuous);
    OUT(atomic, entry->atomic);
#undef OUT
    return MPI_SUCCESS;
}

SURFACE(pvar_get_index);
int MPI_T_pvar_get_index(const char *name, int var_class, int *pvar_index)
{
    CHECK_INITIALIZED();
    if (!name || !pvar_index)
        return MPI_T_ERR_INVALID;
    int index = catalogue_find(name, var_class);
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *pvar_index = index;
    return MPI_SUCCESS;
}

/* ---- values of own handles -------------------------------------------------------------------------------------- */

static bool is_span(const struct handle *handle)
{
    return handle->variable->record.combine == COMBINE_SPAN;
}

static bool is_window(const struct handle *handle)
{
    return handle->variable->extreme != EXTREME_NONE;
}

/* Values that are no tallies. */
static void source_values(const struct handle *handle, uint64_t *values)
{
    switch (handle->variable->source) {
    case SOURCE_COMM_SIZE:
        values[0] = (uint64_t)handle->comm->size;
        break;
    case SOURCE_BUCKET_LIMIT:
        for (unsigned i = 0; i < handle->count; i++)
            values[i] = bucket_limit(i);
        break;
    case SOURCE_BUFFER_BYTES:
        values[0] = __atomic_load_n(&book.run.memory_bytes, __ATOMIC_RELAXED);
        break;
    default:
        break;
    }
}

/* The span of an open window, in ticks: from its first begin (not before the window) to the last end. */
static uint64_t span_now(const struct handle *handle)
{
    uint64_t ends[2];
    uint64_t first = window_read(&handle->window);
    book_accumulate(handle->variable, handle->comm, ends, 2);
    if (first == LOW_NEUTRAL)
        return 0;
    if (first < handle->started_ticks)
        first = handle->started_ticks; /* posted before the window: it begins with it */
    return ends[0] > first ? ends[0] - first : 0;
}

/* What a differing variable counted since the handle's base, with what it held. */
static void difference_values(const struct handle *handle, uint64_t *values)
{
    if (!handle->started) {
        memcpy(values, handle->held, handle->count * sizeof *values);
        return;
    }
    book_values(handle->variable, handle->comm, values, handle->count);
    for (unsigned i = 0; i < handle->count; i++)
        values[i] += handle->held[i] - handle->base[i];
}

static void ticks_to_ns(const struct handle *handle, uint64_t *values)
{
    if (handle->variable->record.class != VARIABLE_TIMER)
        return;
    for (unsigned i = 0; i < handle->count; i++)
        values[i] = clock_ns(book.scale, values[i]);
}

/* In the variable's own unit. */
static void raw_values(const struct handle *handle, uint64_t *values)
{
    if (is_span(handle))
        values[0] = handle->held[0] + (handle->started ? span_now(handle) : 0);
    else if (is_window(handle))
        values[0] = window_read(&handle->window);
    else if (handle->variable->record.combine == COMBINE_NONE)
        source_values(handle, values);
    else if (handle->entry->continuous)
        book_values(handle->variable, handle->comm, values, handle->count);
    else
        difference_values(handle, values);
}

static void base_set(struct handle *handle)
{
    handle->started_ticks = clock_now();
    if (is_window(handle))
        window_reset(&handle->window);
    else
        book_values(handle->variable, handle->comm, handle->base, handle->count);
}

static void own_start(struct handle *handle)
{
    if (handle->started)
        return;
    if (!is_window(handle) || is_span(handle) || !handle->ever_started)
        base_set(handle);
    if (is_window(handle))
        window_open(&handle->window);
    handle->started = handle->ever_started = true;
}

static void own_stop(struct handle *handle)
{
    if (!handle->started)
        return;
    if (!is_window(handle) || is_span(handle)) {
        raw_values(handle, handle->now); /* out of held and base, which it reads */
        memcpy(handle->held, handle->now, handle->count * sizeof *handle->held);
    }
    if (is_window(handle))
        window_close(&handle->window);
    handle->started = false;
}

static void own_reset(struct handle *handle)
{
    memset(handle->held, 0, handle->count * sizeof *handle->held);
    base_set(handle);
}

static int own_read(const struct handle *handle, void *buf)
{
    if (handle->comm && __atomic_load_n(&handle->comm->freed, __ATOMIC_ACQUIRE))
        return MPI_T_ERR_INVALID_HANDLE;
    if (handle->variable->source == SOURCE_CURRENT_CALL) {
        const struct thread_state *state = book_thread_state;
        *(int *)buf = state ? (int)__atomic_load_n(&state->call, __ATOMIC_RELAXED) : 0;
        return MPI_SUCCESS;
    }
    raw_values(handle, buf);
    ticks_to_ns(handle, buf);
    return MPI_SUCCESS;
}

/* Reads and begins anew from the same sample, so that nothing is lost or counted twice in between. */
static int own_readreset(struct handle *handle, void *buf)
{
    uint64_t *values = buf;
    int result = own_read(handle, buf);
    if (result != MPI_SUCCESS)
        return result;
    if (is_span(handle)) {
        own_reset(handle);
        return MPI_SUCCESS;
    }
    if (handle->started) {
        book_values(handle->variable, handle->comm, values, handle->count);
        for (unsigned i = 0; i < handle->count; i++) {
            uint64_t now = values[i];
            values[i] = now + handle->held[i] - handle->base[i];
            handle->base[i] = now;
        }
    } else {
        memcpy(values, handle->held, handle->count * sizeof *values);
    }
    memset(handle->held, 0, handle->count * sizeof *handle->held);
    ticks_to_ns(handle, values);
    return MPI_SUCCESS;
}

static int own_write(struct handle *handle, const void *buf)
{
    const uint64_t *values = buf;
    if (is_window(handle) && !is_span(handle))
        return MPI_T_ERR_PVAR_NO_WRITE; /* an extreme can be reset and not made up */
    for (unsigned i = 0; i < handle->count; i++)
        handle->held[i] =
            handle->variable->record.class == VARIABLE_TIMER ? clock_ticks(book.scale, values[i]) : values[i];
    base_set(handle);
    return MPI_SUCCESS;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

#define FIND_HANDLE()                                                                                                  \
    struct session *of = session_find(session);                                                                        \
    if (!of)                                                                                                           \
        return MPI_T_ERR_INVALID_SESSION;                                                                              \
    struct handle *found = handle_find(session, handle);                                                               \
    if (!found)                                                                                                        \
    return MPI_T_ERR_INVALID_HANDLE

/* Every handle of the session that the call applies to. */
#define ALL_HANDLES(refused, error, own, name)                                                                         \
    do {                                                                                                               \
        struct session *all = session_find(session);                                                                   \
        int result = MPI_SUCCESS;                                                                                      \
        if (!handle_is_all(handle))                                                                                    \
            break;                                                                                                     \
        if (!all)                                                                                                      \
            return MPI_T_ERR_INVALID_SESSION;                                                                          \
        for (struct handle *h = session_handle_next(all, NULL); h; h = session_handle_next(all, h)) {                  \
            if (h->entry->refused)                                                                                     \
                continue;                                                                                              \
            if (h->variable)                                                                                           \
                own(h);                                                                                                \
            else if (DOOR(name, MPI_T_ERR_INVALID_HANDLE, all->native, h->native) != MPI_SUCCESS)                      \
                result = error;                                                                                        \
        }                                                                                                              \
        return result;                                                                                                 \
    } while (0)

SURFACE(pvar_start);
int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    CHECK_INITIALIZED();
    ALL_HANDLES(continuous, MPI_T_ERR_PVAR_NO_STARTSTOP, own_start, pvar_start);
    FIND_HANDLE();
    if (found->entry->continuous && found->variable)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    if (!found->variable)
        return DOOR(pvar_start, MPI_T_ERR_INVALID_HANDLE, of->native, found->native);
    own_start(found);
    return MPI_SUCCESS;
}

SURFACE(pvar_stop);
int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    CHECK_INITIALIZED();
    ALL_HANDLES(continuous, MPI_T_ERR_PVAR_NO_STARTSTOP, own_stop, pvar_stop);
    FIND_HANDLE();
    if (found->entry->continuous && found->variable)
        return MPI_T_ERR_PVAR_NO_STARTSTOP;
    if (!found->variable)
        return DOOR(pvar_stop, MPI_T_ERR_INVALID_HANDLE, of->native, found->native);
    own_stop(found);
    return MPI_SUCCESS;
}

SURFACE(pvar_read);
int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    CHECK_INITIALIZED();
    FIND_HANDLE();
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (!found->variable)
        return DOOR(pvar_read, MPI_T_ERR_INVALID_HANDLE, of->native, found->native, buf);
    return own_read(found, buf);
}

SURFACE(pvar_write);
int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    CHECK_INITIALIZED();
    FIND_HANDLE();
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (found->entry->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!found->variable)
        return DOOR(pvar_write, MPI_T_ERR_INVALID_HANDLE, of->native, found->native, buf);
    return own_write(found, buf);
}

SURFACE(pvar_reset);
int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    CHECK_INITIALIZED();
    ALL_HANDLES(readonly, MPI_T_ERR_PVAR_NO_WRITE, own_reset, pvar_reset);
    FIND_HANDLE();
    if (found->entry->readonly)
        return MPI_T_ERR_PVAR_NO_WRITE;
    if (!found->variable)
        return DOOR(pvar_reset, MPI_T_ERR_INVALID_HANDLE, of->native, found->native);
    own_reset(found);
    return MPI_SUCCESS;
}

SURFACE(pvar_readreset);
int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    CHECK_INITIALIZED();
    FIND_HANDLE();
    if (!buf)
        return MPI_T_ERR_INVALID;
    if (!found->entry->atomic)
        return MPI_T_ERR_PVAR_NO_ATOMIC;
    if (!found->variable)
        return DOOR(pvar_readreset, MPI_T_ERR_INVALID_HANDLE, of->native, found->native, buf);
    return own_readreset(found, buf);
}
