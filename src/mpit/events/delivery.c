/*
 * Delivery: from instances to the tool's callbacks, and the calls that a callback may make on an instance.
 *
 * The place that raises an event requires a safety level. Of the registration's callbacks with at least this level, the
 * one with the lowest is called. Without one the event is dropped. An event raised inside of a callback is dropped,
 * too, since a callback that calls MPI would be called again without end. The handler is told about dropped events
 * before the next event, and when the callbacks of the call are done.
 *
 * Who may run with whom: any number of threads, each with its own instances. The lock is released around callbacks.
 */
#include "base/threadown.h"
#include "clock/clock.h"
#include "events/registration.h"

#include <string.h>

THREAD_OWN(bool, delivering);
THREAD_OWN(const struct instance *, delivered);     /* of the callback that runs in this thread */
THREAD_OWN(MPI_T_event_instance, delivered_native); /* the same for a native one */
THREAD_OWN(MPI_T_cb_safety, delivered_safety);      /* the level required of that callback */
static bool drops_untold;                           /* of any registration: changed under the lock, loaded without */

MPI_T_cb_safety delivery_safety(void)
{
    if (delivered || delivered_native)
        return delivered_safety;
    if (book_is_shared())
        return MPI_T_CB_REQUIRE_THREAD_SAFE;
    bool in_mpi = book_thread_state && RELAXED_LOAD(&book_thread_state->call) != CALL_NONE;
    return in_mpi ? MPI_T_CB_REQUIRE_MPI_RESTRICTED : MPI_T_CB_REQUIRE_NONE;
}

/* The callback for a place that requires `level`. NULL: there is none. */
static const struct callback *callback_select(const struct registration *registration, int level)
{
    for (int i = level; i < SAFETY_LEVELS; i++)
        if (registration->callbacks[i].function)
            return &registration->callbacks[i];
    return NULL;
}

/* True if the instance is for this registration. Keeps track of thresholds. */
static bool wants(struct registration *registration, const struct instance *instance)
{
    if (!registration->hears || (instance->type->bound && registration->comm && registration->comm != instance->comm))
        return false;
    if (!instance->type->threshold)
        return true;
    bool was_over = registration->over;
    registration->over = instance->level.level > registration->threshold;
    return registration->over && !was_over;
}

static void drop(struct registration *registration)
{
    if (!registration->dropped_handler)
        return;
    registration->dropped++;
    __atomic_store_n(&drops_untold, true, __ATOMIC_RELAXED);
}

/* Calls one. The lock is released meanwhile, and the registration stays in its place. */
static void callback_call(struct registration *registration, const struct callback *callback,
                          const struct instance *instance, MPI_T_cb_safety safety)
{
    struct callback copy = *callback;
    struct instance seen = *instance;
    MPI_T_event_registration ticket = registration->ticket;
    if (instance->type->threshold)
        seen.level.threshold = registration->threshold;
    registration->uses++;
    pthread_mutex_unlock(&registrations_lock);
    delivering = true;
    delivered = &seen;
    delivered_safety = safety;
    copy.function((MPI_T_event_instance)(uintptr_t)&seen, ticket, safety, copy.user_data);
    delivered = NULL;
    delivering = false;
    pthread_mutex_lock(&registrations_lock);
}

static void instance_deliver(const struct instance *instance, int level, struct registration **finished)
{
    pthread_mutex_lock(&registrations_lock);
    for (struct registration *r = instance->type->registrations, *next; r; r = next) {
        next = r->next;
        if (!wants(r, instance))
            continue;
        const struct callback *callback = delivering ? NULL : callback_select(r, level);
        if (!callback) {
            drop(r);
            continue;
        }
        callback_call(r, callback, instance, safety_of_index(level));
        next = r->next; /* as of now */
        registration_unuse(r, finished);
    }
    pthread_mutex_unlock(&registrations_lock);
}

static MPI_Count count_of(uint64_t dropped)
{
    return dropped > INT64_MAX ? INT64_MAX : (MPI_Count)dropped;
}

/* Under the lock, which is released around the handler. */
static void drops_tell_one(struct registration *registration, const struct callback *callback, MPI_T_cb_safety safety)
{
    dropped_function *handler = registration->dropped_handler;
    MPI_T_event_registration ticket = registration->ticket;
    MPI_Count count = count_of(registration->dropped);
    void *user_data = callback->user_data;
    registration->dropped = 0;
    registration->uses++;
    pthread_mutex_unlock(&registrations_lock);
    delivering = true;
    handler(count, ticket, 0, safety, user_data);
    delivering = false;
    pthread_mutex_lock(&registrations_lock);
}

/* The standard requires that handlers are called where there is a callback of a level that the place allows. */
static void drops_tell_type(const struct event_type *type, int level, struct registration **finished)
{
    for (struct registration *r = type->registrations, *next; r; r = next) {
        next = r->next;
        const struct callback *callback =
            r->dropped && r->dropped_handler && !r->dead ? callback_select(r, level) : NULL;
        if (!callback) {
            if (r->dropped)
                __atomic_store_n(&drops_untold, true, __ATOMIC_RELAXED); /* another place may allow it */
            continue;
        }
        drops_tell_one(r, callback, safety_of_index(level));
        next = r->next;
        registration_unuse(r, finished);
    }
}

static void drops_tell(int level, struct registration **finished)
{
    const struct event_entry *entry;
    if (!__atomic_load_n(&drops_untold, __ATOMIC_RELAXED) || delivering)
        return;
    pthread_mutex_lock(&registrations_lock);
    __atomic_store_n(&drops_untold, false, __ATOMIC_RELAXED);
    for (int i = 0; (entry = event_entry_at(i)) != NULL; i++)
        if (entry->own)
            drops_tell_type(entry->own, level, finished);
    pthread_mutex_unlock(&registrations_lock);
}

static void deliver(struct instance *instances, size_t count, enum delivery_context context)
{
    struct registration *finished = NULL;
    int level = (int)context; /* in the order of the safety levels */
    if (!door_initialized())
        return;
    drops_tell(level, &finished);
    for (size_t i = 0; i < count; i++)
        instance_deliver(&instances[i], level, &finished);
    drops_tell(level, &finished);
    registrations_finish(finished, safety_of_index(level));
}

void delivery_open(void)
{
    __atomic_store_n(&instance_sink, deliver, __ATOMIC_RELEASE);
}

/* ---- native events: our callbacks are between the library and the tool's ---- */

void native_callback(MPI_T_event_instance instance, MPI_T_event_registration of_library, MPI_T_cb_safety safety,
                     void *callback)
{
    (void)of_library;
    pthread_mutex_lock(&registrations_lock);
    struct callback copy = *(const struct callback *)callback;
    MPI_T_event_registration ticket = copy.registration->ticket;
    pthread_mutex_unlock(&registrations_lock);
    MPI_T_event_instance outer = delivered_native;
    MPI_T_cb_safety outer_safety = delivered_safety;
    delivered_native = instance;
    delivered_safety = safety;
    if (copy.function)
        copy.function(instance, ticket, safety, copy.user_data);
    delivered_native = outer;
    delivered_safety = outer_safety;
}

void native_dropped(MPI_Count count, MPI_T_event_registration of_library, int source_index, MPI_T_cb_safety safety,
                    void *callback)
{
    (void)of_library;
    pthread_mutex_lock(&registrations_lock);
    struct callback copy = *(const struct callback *)callback;
    MPI_T_event_registration ticket = copy.registration->ticket;
    dropped_function *handler = copy.registration->dropped_handler;
    pthread_mutex_unlock(&registrations_lock);
    if (handler)
        handler(count, ticket, OWN_SOURCES + source_index, safety, copy.user_data);
}

/* ---- calls on an instance inside of a callback ---- */

static bool is_current(MPI_T_event_instance instance)
{
    return delivered && (const void *)instance == (const void *)delivered;
}

static bool is_current_native(MPI_T_event_instance instance)
{
    return delivered_native && instance == delivered_native;
}

static const char *current_data(void)
{
    return delivered->more ? delivered->more : (const char *)&delivered->message;
}

SURFACE(event_read);
int MPI_T_event_read(MPI_T_event_instance event_instance, int element_index, void *buffer)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (is_current_native(event_instance))
        return door.event_read ? door.event_read(event_instance, element_index, buffer) : MPI_T_ERR_NOT_SUPPORTED;
    if (!is_current(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (element_index < 0 || element_index >= delivered->type->element_count)
        return MPI_T_ERR_INVALID_INDEX;
    if (!buffer)
        return MPI_T_ERR_INVALID;
    const struct event_element *element = &delivered->type->elements[element_index];
    bool narrow = element->type == ELEMENT_INT || element->type == ELEMENT_UNSIGNED;
    size_t bytes = narrow ? sizeof(int) : sizeof(unsigned long long); /* a long is as long here */
    memcpy(buffer, current_data() + element->displacement, bytes);
    return MPI_SUCCESS;
}

SURFACE(event_copy);
int MPI_T_event_copy(MPI_T_event_instance event_instance, void *buffer)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (is_current_native(event_instance))
        return door.event_copy ? door.event_copy(event_instance, buffer) : MPI_T_ERR_NOT_SUPPORTED;
    if (!is_current(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!buffer)
        return MPI_T_ERR_INVALID;
    memcpy(buffer, current_data(), delivered->type->bytes);
    return MPI_SUCCESS;
}

SURFACE(event_get_timestamp);
int MPI_T_event_get_timestamp(MPI_T_event_instance event_instance, MPI_Count *event_timestamp)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (is_current_native(event_instance))
        return door.event_get_timestamp ? door.event_get_timestamp(event_instance, event_timestamp)
                                        : MPI_T_ERR_NOT_SUPPORTED;
    if (!is_current(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!event_timestamp)
        return MPI_T_ERR_INVALID;
    *event_timestamp = (MPI_Count)clock_ns(clock_calibrate(), delivered->ticks);
    return MPI_SUCCESS;
}

SURFACE(event_get_source);
int MPI_T_event_get_source(MPI_T_event_instance event_instance, int *source_index)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!is_current(event_instance) && !is_current_native(event_instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (!source_index)
        return MPI_T_ERR_INVALID;
    *source_index = 0;
    if (is_current(event_instance))
        return MPI_SUCCESS;
    int result = door.event_get_source ? door.event_get_source(event_instance, source_index) : MPI_T_ERR_NOT_SUPPORTED;
    *source_index += OWN_SOURCES;
    return result;
}
