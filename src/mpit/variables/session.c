#include "variables/session.h"

#include "registry/commreuse.h"
#include "catalogue/door.h"

#include <stdlib.h>
#include <string.h>

struct session sessions[SESSION_MOST];
struct handle *handle_blocks[HANDLE_BLOCKS];
static uint32_t handle_top;   /* places used so far */
static uint32_t handle_spare; /* index + 1 of a freed place. Linked by `spare` */
static uint32_t owner_last;
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;

/* 31 bits, as in a ticket. */
static uint32_t generation_next(uint32_t generation)
{
    return (generation + 1) & 0x7fffffff;
}

bool handle_is_all(MPI_T_pvar_handle handle)
{
    static MPI_T_pvar_handle all;
    if (!all)
        all = abi_all_handles(native_object);
    return all && handle == all;
}

struct handle *session_handle_next(const struct session *session, const struct handle *before, uint32_t *generation)
{
    for (uint32_t i = before ? before->index + 1 : 0; i < GET(handle_top); i++) {
        struct handle *handle = handle_at(i);
        *generation = GET(handle->generation);
        if ((*generation & 1) && &sessions[GET(handle->session)] == session && GET(handle->generation) == *generation)
            return handle;
    }
    return NULL;
}

SURFACE(pvar_session_create);
int MPI_T_pvar_session_create(MPI_T_pvar_session *session)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!session)
        return MPI_T_ERR_INVALID;
    handle_is_all(MPI_T_PVAR_HANDLE_NULL); /* looks the constant up now, as signal handlers cannot */
    int result = MPI_T_ERR_OUT_OF_SESSIONS;
    pthread_mutex_lock(&table_lock);
    for (uint32_t i = 0; i < SESSION_MOST; i++) {
        struct session *fresh = &sessions[i];
        if (fresh->generation & 1)
            continue;
        fresh->native = MPI_T_PVAR_SESSION_NULL;
        DOOR(pvar_session_create, MPI_SUCCESS, &fresh->native);
        PUT(fresh->generation, generation_next(fresh->generation));
        *session = (MPI_T_pvar_session)ticket_make(i, fresh->generation);
        result = MPI_SUCCESS;
        break;
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

void session_ask(const struct own *own, bool asks)
{
    uint64_t idle = (uint64_t)own->generation << 1, seen = idle | !asks;
    if (own->meter.variable && own->meter.variable->demand != DEMAND_NONE &&
        __atomic_compare_exchange_n(own->asking, &seen, idle | asks, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        demand_change(own->meter.variable->demand, asks ? 1 : -1);
}

/* Under the table's lock. Changes the generation first: from then on no call begins with the handle. */
static void handle_release(struct handle *handle)
{
    struct own own;
    handle_copy(handle, handle->generation, &own);
    PUT(handle->generation, generation_next(handle->generation));
    uint64_t asked = __atomic_exchange_n(&handle->asking, 0, __ATOMIC_ACQ_REL); /* it makes no more requests */
    if ((asked & 1) && own.meter.variable)
        demand_change(own.meter.variable->demand, -1);
    foreign_free(&handle->native);
    if (own.component)
        component_release(own.component);
    if (handle->unexpected.watch.open)
        umq_watch_close(&handle->unexpected.watch);
    if (own.window)
        window_release(own.window, own.meter.owner);
    if (own.meter.pairs)
        meter_release(&own.meter);
    if (own.meter.comm)
        comm_unbind(own.meter.comm);
    if (own.meter.object)
        object_cells_release(own.meter.object);
    handle->spare = handle_spare;
    handle_spare = handle->index + 1;
}

/* Under the table's lock. */
static void session_release(struct session *session)
{
    uint32_t generation;
    for (struct handle *h = NULL; (h = session_handle_next(session, h, &generation));)
        handle_release(h);
    if (session->native != MPI_T_PVAR_SESSION_NULL && !door_is_over())
        DOOR(pvar_session_free, MPI_SUCCESS, &session->native);
    PUT(session->generation, generation_next(session->generation));
}

void session_free_all(void)
{
    pthread_mutex_lock(&table_lock);
    for (uint32_t i = 0; i < SESSION_MOST; i++)
        if (sessions[i].generation & 1)
            session_release(&sessions[i]);
    pthread_mutex_unlock(&table_lock);
}

SURFACE(pvar_session_free);
int MPI_T_pvar_session_free(MPI_T_pvar_session *session)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    pthread_mutex_lock(&table_lock);
    struct session *found = session ? session_find(*session) : NULL;
    if (found)
        session_release(found);
    pthread_mutex_unlock(&table_lock);
    if (!found)
        return MPI_T_ERR_INVALID_SESSION;
    *session = MPI_T_PVAR_SESSION_NULL;
    return MPI_SUCCESS;
}

/* A free place. Under the table's lock. */
static struct handle *handle_place(void)
{
    if (handle_spare) {
        struct handle *handle = handle_at(handle_spare - 1);
        handle_spare = handle->spare;
        return handle;
    }
    uint32_t index = handle_top, block = index / HANDLE_BLOCK;
    if (block >= HANDLE_BLOCKS)
        return NULL;
    if (!handle_blocks[block]) {
        struct handle *fresh = aligned_alloc(_Alignof(struct handle), HANDLE_BLOCK * sizeof *fresh);
        if (!fresh)
            return NULL;
        memset(fresh, 0, HANDLE_BLOCK * sizeof *fresh);
        PUT(handle_blocks[block], fresh);
    }
    struct handle *handle = handle_at(index);
    handle->index = index;
    PUT(handle_top, index + 1);
    return handle;
}

/* Sets up the values for an own variable's handle. */
static int own_bind(struct own *own)
{
    const struct variable *variable = own->meter.variable;
    owner_last = (owner_last + 1) & ((1u << METER_OWNER_BITS) - 1);
    own->meter.owner = owner_last = owner_last ? owner_last : 1;
    own->meter.count = (uint32_t)book_value_count(variable, own->meter.comm);
    if (variable->total || variable->source == SOURCE_RECVQ_POSTED)
        book_totals_want();
    if ((variable->source == SOURCE_UMQ_TOTAL || variable->source == SOURCE_RECVQ_UNEXPECTED) && !umq_bind_every())
        return MPI_T_ERR_MEMORY;
    if (variable->source == SOURCE_MPI_FRACTION || variable->source == SOURCE_STALL_FRACTION)
        own->begun = moment_presence();
    if (variable->extreme != EXTREME_NONE)
        own->window = window_acquire(variable->record.bound ? (struct comm *)(uintptr_t)own->meter.comm : book.own,
                                     variable->extreme, own->meter.owner);
    else if (variable->record.class == VARIABLE_COUNTER || variable->record.class == VARIABLE_AGGREGATE ||
             variable->record.class == VARIABLE_TIMER)
        return meter_acquire(&own->meter) ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
    return variable->extreme == EXTREME_NONE || own->window ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

static int unexpected_bind(struct unexpected *unexpected, const struct variable *variable, struct comm *comm)
{
    unexpected->umq = umq_bind(comm);
    if (!unexpected->umq)
        return MPI_T_ERR_MEMORY;
    PUT(unexpected->state, umq_length(unexpected->umq) << UNEXPECTED_SHIFT);
    if (variable->source == SOURCE_UMQ_HIGHEST)
        umq_watch_tie(&unexpected->watch, unexpected->umq);
    return MPI_SUCCESS;
}

static int object_bind(struct meter *meter, enum object_kind kind, uint64_t handle)
{
    if (!object_cells_acquire(kind, handle, &meter->object))
        return MPI_T_ERR_INVALID_HANDLE;
    return meter->object ? MPI_SUCCESS : MPI_T_ERR_MEMORY;
}

/* Finds the object for an own variable, if it exists in this process. */
static int meter_bind(struct meter *meter, void *obj_handle)
{
    enum variable_bound bound = (enum variable_bound)meter->variable->record.bound;
    if (bound == BOUND_NOT)
        return MPI_SUCCESS;
    if (!obj_handle)
        return MPI_T_ERR_INVALID;
    if (bound == BOUND_WINDOW)
        return object_bind(meter, OBJECT_WINDOW, OBJECT_HANDLE(*(MPI_Win *)obj_handle));
    if (bound == BOUND_FILE)
        return object_bind(meter, OBJECT_FILE, OBJECT_HANDLE(*(MPI_File *)obj_handle));
    meter->comm = book_comm_find(abi_handle_of_comm(*(MPI_Comm *)obj_handle));
    return meter->comm ? MPI_SUCCESS : MPI_T_ERR_INVALID_HANDLE;
}

/* Binds the handle to its object. Under the table's lock. */
static int handle_bind(struct session *session, struct handle *handle, const struct catalogue_entry *entry,
                       void *obj_handle, int *count)
{
    struct own own = {.meter = {.variable = entry->own}};
    int result = MPI_SUCCESS;
    PUT(handle->entry, entry); /* a signal handler may still know the last owner of the place */
    handle->native = NULL;
    if (!entry->own) {
        result = foreign_alloc(entry, session->native, obj_handle, &handle->native, count);
    } else {
        result = book.run.detached ? MPI_T_ERR_INVALID_HANDLE : meter_bind(&own.meter, obj_handle);
        if (result != MPI_SUCCESS)
            return result;
        result = entry->instrument ? component_bind(entry, own.meter.comm, &own.component, &own.meter.count)
                                   : own_bind(&own);
        if (result != MPI_SUCCESS && own.meter.object)
            object_cells_release(own.meter.object);
        if (result == MPI_SUCCESS && !entry->instrument && source_is_unexpected(entry->own->source))
            result = unexpected_bind(&handle->unexpected, entry->own, (struct comm *)(uintptr_t)own.meter.comm);
        *count = (int)own.meter.count;
    }
    PUT(handle->variable, own.meter.variable);
    PUT(handle->comm, (struct comm *)(uintptr_t)own.meter.comm);
    PUT(handle->object, own.meter.object);
    PUT(handle->count, own.meter.count);
    PUT(handle->owner, own.meter.owner);
    PUT(handle->cell, own.meter.cell);
    PUT(handle->step, own.meter.step);
    PUT(handle->timer, own.meter.timer);
    PUT(handle->pairs, own.meter.pairs);
    PUT(handle->window, own.window);
    PUT(handle->component, own.component);
    PUT(handle->begun.inside, own.begun.inside);
    PUT(handle->begun.stalled, own.begun.stalled);
    PUT(handle->begun.alive, own.begun.alive);
    return result;
}

/* A continuous one requests its service from now on, others when they are started. */
static void handle_asks(struct handle *handle, uint32_t generation)
{
    struct own own;
    PUT(handle->asking, (uint64_t)generation << 1);
    handle_copy(handle, generation, &own);
    if (handle->entry->continuous)
        session_ask(&own, true);
}

SURFACE(pvar_handle_alloc);
int MPI_T_pvar_handle_alloc(MPI_T_pvar_session session, int pvar_index, void *obj_handle, MPI_T_pvar_handle *handle,
                            int *count)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct catalogue_entry *entry = catalogue_at(pvar_index);
    int ignored;
    if (!session_find(session))
        return MPI_T_ERR_INVALID_SESSION;
    if (!entry)
        return MPI_T_ERR_INVALID_INDEX;
    if (!handle)
        return MPI_T_ERR_INVALID;
    pthread_mutex_lock(&table_lock);
    struct session *of = session_find(session); /* another thread may have freed it */
    struct handle *fresh = of ? handle_place() : NULL;
    int result = !of     ? MPI_T_ERR_INVALID_SESSION
                 : fresh ? handle_bind(of, fresh, entry, obj_handle, count ? count : &ignored)
                         : MPI_T_ERR_OUT_OF_HANDLES;
    if (result == MPI_SUCCESS) {
        if (fresh->comm) /* its slot is not reused while the handle lives */
            comm_bind(fresh->comm);
        PUT(fresh->session, (uint32_t)(of - sessions));
        handle_asks(fresh, generation_next(fresh->generation));
        PUT(fresh->generation, generation_next(fresh->generation));
        *handle = (MPI_T_pvar_handle)ticket_make(fresh->index, fresh->generation);
    } else if (fresh) {
        fresh->spare = handle_spare;
        handle_spare = fresh->index + 1;
    }
    pthread_mutex_unlock(&table_lock);
    return result;
}

SURFACE(pvar_handle_free);
int MPI_T_pvar_handle_free(MPI_T_pvar_session session, MPI_T_pvar_handle *handle)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    pthread_mutex_lock(&table_lock);
    struct session *of = session_find(session);
    struct handle *found = of && handle ? handle_find(of, *handle) : NULL;
    if (found)
        handle_release(found);
    pthread_mutex_unlock(&table_lock);
    if (!found)
        return of ? MPI_T_ERR_INVALID_HANDLE : MPI_T_ERR_INVALID_SESSION;
    *handle = MPI_T_PVAR_HANDLE_NULL;
    return MPI_SUCCESS;
}
