/*
 * The calls on performance variables: the content of the catalogue, and the values of handles.
 *
 * On own variables start, stop, read, reset, readreset and write are lock-free and async-signal-safe, on the same
 * handle too. They copy the handle's fields, and then touch only its meter or window (session.h).
 */
#include "catalogue/door.h"
#include "handles/livevariables.h"
#include "variables/session.h"

#include <limits.h>

SURFACE(pvar_get_num);
int MPI_T_pvar_get_num(int *num_pvar)
{
    return door_count(num_pvar, catalogue_refresh);
}

SURFACE(pvar_get_info);
int MPI_T_pvar_get_info(int pvar_index, char *name, int *name_len, int *verbosity, int *var_class,
                        MPI_Datatype *datatype, MPI_T_enum *enumtype, char *desc, int *desc_len, int *bind,
                        int *readonly, int *continuous, int *atomic)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
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
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!name || !pvar_index)
        return MPI_T_ERR_INVALID;
    int index = catalogue_find(name, var_class);
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *pvar_index = index;
    return MPI_SUCCESS;
}

/* ---- values of own handles --------------------------------------------------------------------------------------- */

static int window_code(enum window_result result)
{
    return result == WINDOW_DONE ? MPI_SUCCESS : result == WINDOW_STALE ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_MEMORY;
}

static int meter_code(bool good)
{
    return good ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* True if its object is gone, or the recorder. */
static bool own_is_dead(const struct own *own)
{
    if (book.run.detached) /* in the child of a fork: its windows would change the parent's */
        return true;
    if (own->meter.object)
        return !object_cells_live(own->meter.object);
    return own->meter.comm && __atomic_load_n(&own->meter.comm->freed, __ATOMIC_ACQUIRE);
}

/* The standard's example reads an int, which keeps its value while it is stopped. */
static int unexpected_named(struct unexpected *unexpected)
{
    uint64_t state = GET(unexpected->state);
    uint64_t length = state & UNEXPECTED_STARTED ? umq_length(unexpected->umq) : state >> UNEXPECTED_SHIFT;
    return length < INT_MAX ? (int)length : INT_MAX;
}

static void unexpected_start(struct unexpected *unexpected, bool watched)
{
    uint64_t before = __atomic_fetch_or(&unexpected->state, UNEXPECTED_STARTED | UNEXPECTED_BEFORE, __ATOMIC_ACQ_REL);
    if (watched && !(before & (UNEXPECTED_BEFORE | UNEXPECTED_STARTED)))
        umq_watch_reset(&unexpected->watch);
    if (watched && !(before & UNEXPECTED_STARTED))
        umq_watch_open(&unexpected->watch);
}

static void unexpected_stop(struct unexpected *unexpected, bool watched)
{
    uint64_t state = GET(unexpected->state), stopped;
    do {
        if (!(state & UNEXPECTED_STARTED))
            return;
        stopped = umq_length(unexpected->umq) << UNEXPECTED_SHIFT | UNEXPECTED_BEFORE;
    } while (
        !__atomic_compare_exchange_n(&unexpected->state, &state, stopped, true, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE));
    if (watched)
        umq_watch_close(&unexpected->watch);
}

/* True if it is started, stopped and reset like unexpected messages. */
static bool is_unexpected(const struct own *own)
{
    return own->meter.variable->source == SOURCE_UMQ_NAMED || own->meter.variable->source == SOURCE_UMQ_HIGHEST;
}

static bool is_watched(const struct own *own)
{
    return own->meter.variable->source == SOURCE_UMQ_HIGHEST;
}

static unsigned unsigned_of(uint64_t value)
{
    return value < UINT_MAX ? (unsigned)value : UINT_MAX;
}

/* Values that are not made of counters. */
static void source_read(const struct own *own, void *buf)
{
    const struct thread_state *state = book_thread_state;
    uint64_t *values = buf;
    switch (own->meter.variable->source) {
    case SOURCE_CURRENT_CALL:
        *(int *)buf = state ? (int)__atomic_load_n(&state->call, __ATOMIC_RELAXED) : 0;
        break;
    case SOURCE_STATE:
        *(int *)buf = (int)moment_state();
        break;
    case SOURCE_STALL_FRACTION:
        *(double *)buf = moment_stall_fraction(own->begun);
        break;
    case SOURCE_STALL_KNOWN:
        values[0] = book.run.header ? RELAXED_LOAD(&book.run.header->stall_known) : 0;
        break;
    case SOURCE_COMM_SIZE:
        values[0] = (uint64_t)own->meter.comm->size;
        break;
    case SOURCE_BUCKET_LIMIT:
        for (unsigned i = 0; i < own->meter.count; i++)
            values[i] = bucket_limit(i);
        break;
    case SOURCE_BUFFER_BYTES:
        values[0] = __atomic_load_n(&book.run.memory_bytes, __ATOMIC_RELAXED) +
                    __atomic_load_n(&book.run.passing_bytes, __ATOMIC_RELAXED);
        break;
    case SOURCE_UMQ:
        values[0] = umq_length(own->unexpected->umq);
        break;
    case SOURCE_UMQ_NAMED:
        *(int *)buf = unexpected_named(own->unexpected);
        break;
    case SOURCE_UMQ_HIGHEST:
        values[0] = umq_watch_read(&own->unexpected->watch);
        break;
    case SOURCE_UMQ_PEERS:
        values[0] = umq_peers(own->unexpected->umq);
        break;
    case SOURCE_UMQ_TOTAL:
        values[0] = umq_length_of_every();
        break;
    case SOURCE_RECVQ_UNEXPECTED:
        *(unsigned *)buf = unsigned_of(umq_length_of_every());
        break;
    case SOURCE_RECVQ_POSTED:
        *(unsigned *)buf = unsigned_of(live_receives_pending());
        break;
    case SOURCE_BUFFER_FILL:
        *(double *)buf = moment_buffer_fill();
        break;
    case SOURCE_MPI_FRACTION:
        *(double *)buf = moment_fraction(own->begun);
        break;
    case SOURCE_THREAD_STATE:
        moment_states(buf, own->meter.count);
        break;
    case SOURCE_THREAD_CALL:
        moment_calls(buf, own->meter.count);
        break;
    case SOURCE_THREAD_TIME:
        moment_call_times(values, own->meter.count);
        break;
    case SOURCE_THREAD_ID:
        moment_thread_ids(values, own->meter.count);
        break;
    case SOURCE_LAST_RETURN:
        values[0] = moment_last_return();
        break;
    default:
        break;
    }
}

static int own_begin(const struct own *own)
{
    if (own->component)
        return component_start(own->component);
    if (is_unexpected(own)) {
        unexpected_start(own->unexpected, is_watched(own));
        return MPI_SUCCESS;
    }
    return own->window ? window_code(window_start(own->window, own->meter.owner))
                       : meter_code(meter_start(&own->meter));
}

static int own_variable_end(const struct own *own)
{
    if (own->component)
        return component_stop(own->component);
    if (is_unexpected(own)) {
        unexpected_stop(own->unexpected, is_watched(own));
        return MPI_SUCCESS;
    }
    return own->window ? window_code(window_stop(own->window, own->meter.owner)) : meter_code(meter_stop(&own->meter));
}

/* Requests the measurement before the start, and drops the request after the stop. */
static int own_start(const struct own *own)
{
    session_ask(own, true);
    int result = own_begin(own);
    if (result != MPI_SUCCESS)
        session_ask(own, false);
    return result;
}

static int own_stop(const struct own *own)
{
    int result = own_variable_end(own);
    session_ask(own, false);
    return result;
}

static int own_reset(const struct own *own)
{
    if (own->component)
        return component_reset(own->component);
    if (is_watched(own)) {
        __atomic_fetch_and(&own->unexpected->state, ~(uint64_t)UNEXPECTED_BEFORE, __ATOMIC_ACQ_REL);
        umq_watch_reset(&own->unexpected->watch);
        return MPI_SUCCESS;
    }
    return own->window ? window_code(window_reset(own->window, own->meter.owner))
                       : meter_code(meter_reset(&own->meter));
}

static int own_read(const struct own *own, void *buf)
{
    uint64_t *values = buf;
    if (own->component)
        return component_read(own->component, buf);
    if (own->meter.pairs)
        return meter_code(meter_read(&own->meter, values));
    if (own->window)
        return window_code(window_read(own->window, own->meter.owner, values));
    if (own->meter.variable->record.combine == COMBINE_NONE)
        source_read(own, buf);
    else
        for (unsigned i = 0; i < own->meter.count; i++)
            values[i] = book_sample(own->meter.variable, own->meter.comm, i);
    return MPI_SUCCESS;
}

/* Reads, and starts again from the same sample. So nothing is lost or counted twice in between. */
static int own_readreset(const struct own *own, void *buf)
{
    if (own->component)
        return component_readreset(own->component, buf);
    return own->window ? window_code(window_readreset(own->window, own->meter.owner, buf))
                       : meter_code(meter_readreset(&own->meter, buf));
}

static int own_write(const struct own *own, const void *buf)
{
    if (own->component)
        return component_write(own->component, buf);
    if ((own->window && own->meter.variable->record.combine != COMBINE_SPAN) || is_watched(own))
        return MPI_T_ERR_PVAR_NO_WRITE; /* an extreme can be reset, but not written */
    return own->window ? window_code(window_write(own->window, own->meter.owner, *(const uint64_t *)buf))
                       : meter_code(meter_write(&own->meter, buf));
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

static int own_do(const struct own *own, enum handle_call call, void *buf)
{
    switch (call) {
    case HANDLE_START:
        return own_start(own);
    case HANDLE_STOP:
        return own_stop(own);
    case HANDLE_READ:
        return own_read(own, buf);
    case HANDLE_WRITE:
        return own_write(own, buf);
    case HANDLE_RESET:
        return own_reset(own);
    default:
        return own_readreset(own, buf);
    }
}

/* Returns why the variable of a handle does not allow the call, or MPI_SUCCESS. */
static int call_refused(const struct handle *handle, enum handle_call call)
{
    const struct catalogue_entry *entry = GET(handle->entry);
    switch (call) {
    case HANDLE_START:
    case HANDLE_STOP:
        return entry->continuous ? MPI_T_ERR_PVAR_NO_STARTSTOP : MPI_SUCCESS;
    case HANDLE_WRITE:
    case HANDLE_RESET:
        return entry->readonly ? MPI_T_ERR_PVAR_NO_WRITE : MPI_SUCCESS;
    case HANDLE_READRESET:
        return entry->atomic ? MPI_SUCCESS : MPI_T_ERR_PVAR_NO_ATOMIC;
    default:
        return MPI_SUCCESS;
    }
}

/* Starts and stops of a native variable are refused by the library itself. */
static bool library_refuses(const struct handle *handle, enum handle_call call)
{
    return !handle->variable && (call == HANDLE_START || call == HANDLE_STOP);
}

/* That the object of a handle is gone is said before that its variable refuses the call. */
static int handle_do(MPI_T_pvar_session session, MPI_T_pvar_handle handle, enum handle_call call, void *buf)
{
    struct own own;
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    struct session *of = session_find(session);
    if (!of)
        return MPI_T_ERR_INVALID_SESSION;
    struct handle *found = handle_find(of, handle);
    if (!found)
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buf && (call == HANDLE_READ || call == HANDLE_WRITE || call == HANDLE_READRESET))
        return MPI_T_ERR_INVALID;
    bool native = !found->variable;
    if (!native && (!handle_copy(found, ticket_generation((uintptr_t)handle), &own) || own_is_dead(&own)))
        return MPI_T_ERR_INVALID_HANDLE;
    int refused = library_refuses(found, call) ? MPI_SUCCESS : call_refused(found, call);
    if (refused != MPI_SUCCESS)
        return refused;
    return native ? foreign_call(&found->native, call, buf) : own_do(&own, call, buf);
}

/* Applies the call to every handle of the session that allows it. Skips handles of communicators that are gone. Fails with
 * `error`. */
static int all_do(MPI_T_pvar_session session, enum handle_call call, int error)
{
    int result = MPI_SUCCESS;
    uint32_t generation;
    struct own own;
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    struct session *all = session_find(session);
    if (!all)
        return MPI_T_ERR_INVALID_SESSION;
    for (struct handle *handle = NULL; (handle = session_handle_next(all, handle, &generation));) {
        if (call_refused(handle, call) != MPI_SUCCESS)
            continue;
        if (handle->variable) {
            if (handle_copy(handle, generation, &own) && !own_is_dead(&own) &&
                own_do(&own, call, NULL) == MPI_T_ERR_MEMORY)
                result = error;
        } else {
            int code = foreign_call(&handle->native, call, NULL);
            if (code != MPI_SUCCESS && code != MPI_T_ERR_INVALID_HANDLE)
                result = error;
        }
    }
    return result;
}

static int handles_do(MPI_T_pvar_session session, MPI_T_pvar_handle handle, enum handle_call call, int error)
{
    return handle_is_all(handle) ? all_do(session, call, error) : handle_do(session, handle, call, NULL);
}

SURFACE(pvar_start);
int MPI_T_pvar_start(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return handles_do(session, handle, HANDLE_START, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

SURFACE(pvar_stop);
int MPI_T_pvar_stop(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return handles_do(session, handle, HANDLE_STOP, MPI_T_ERR_PVAR_NO_STARTSTOP);
}

SURFACE(pvar_read);
int MPI_T_pvar_read(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    return handle_do(session, handle, HANDLE_READ, buf);
}

SURFACE(pvar_write);
int MPI_T_pvar_write(MPI_T_pvar_session session, MPI_T_pvar_handle handle, const void *buf)
{
    return handle_do(session, handle, HANDLE_WRITE, (void *)(uintptr_t)buf); /* it is only read */
}

SURFACE(pvar_reset);
int MPI_T_pvar_reset(MPI_T_pvar_session session, MPI_T_pvar_handle handle)
{
    return handles_do(session, handle, HANDLE_RESET, MPI_T_ERR_PVAR_NO_WRITE);
}

SURFACE(pvar_readreset);
int MPI_T_pvar_readreset(MPI_T_pvar_session session, MPI_T_pvar_handle handle, void *buf)
{
    return handle_do(session, handle, HANDLE_READRESET, buf);
}
