/* Control variables of other libraries: how control.h's list opens, reads and writes them. */
#include "instruments/component.h"
#include "registry/commreuse.h"
#include "variables/control.h"

#include <string.h>

static pthread_mutex_t text_lock = PTHREAD_MUTEX_INITIALIZER; /* for writers of texts */

static struct instrument *control_instrument(const struct control *control)
{
    return control->context;
}

static int control_open(const struct control *control, void *obj_handle, void **object, int *count)
{
    struct instrument *instrument = control_instrument(control);
    struct comm *comm = NULL;
    if (!instrument_is_active(instrument))
        return MPI_T_ERR_INVALID_INDEX;
    if (instrument->bind == MPIT_BIND_COMM) {
        if (!obj_handle)
            return MPI_T_ERR_INVALID;
        comm = book_comm_find(abi_handle_of_comm(*(MPI_Comm *)obj_handle));
        if (!comm)
            return MPI_T_ERR_INVALID_HANDLE;
    }
    *object = instrument_instance(instrument, comm);
    if (*object && comm) /* the instance is not reused while the handle lives */
        comm_bind(comm);
    *count = instrument->type == MPIT_TYPE_CHAR ? (int)instrument->capacity : 1;
    return *object ? MPI_SUCCESS : MPI_T_ERR_OUT_OF_HANDLES;
}

static bool instance_is_alive(const struct instrument_instance *instance)
{
    return instrument_is_active(instance->instrument) &&
           !(instance->comm && __atomic_load_n(&instance->comm->freed, __ATOMIC_ACQUIRE));
}

static void control_close(void *object)
{
    const struct instrument_instance *instance = object;
    if (instance->comm)
        comm_unbind(instance->comm);
}

static char *versioned_text(const struct instrument *instrument, uint32_t version)
{
    return instrument->text + (version & 1) * (size_t)instrument->capacity;
}

static int control_read(const struct control *control, void *object, void *buf)
{
    const struct instrument_instance *instance = object;
    const struct instrument *instrument = control_instrument(control);
    if (!instance_is_alive(instance))
        return MPI_T_ERR_INVALID_HANDLE;
    uint64_t value = __atomic_load_n(&instance->cells->own, __ATOMIC_RELAXED);
    switch (instrument->type) {
    case MPIT_TYPE_INT:
        *(int *)buf = (int)(int64_t)value;
        break;
    case MPIT_TYPE_UNSIGNED:
        *(unsigned *)buf = (unsigned)value;
        break;
    case MPIT_TYPE_UNSIGNED_LONG:
        *(unsigned long *)buf = (unsigned long)value;
        break;
    case MPIT_TYPE_CHAR:
        pthread_mutex_lock(&text_lock);
        memcpy(buf, versioned_text(instrument, instrument->text_version), instrument->capacity);
        pthread_mutex_unlock(&text_lock);
        break;
    default:
        memcpy(buf, &value, sizeof value);
    }
    return MPI_SUCCESS;
}

/* The number in the buffer, in 64 bits. */
static union mpit_value buffer_value(const struct instrument *instrument, const void *buf)
{
    union mpit_value value = {0};
    switch (instrument->type) {
    case MPIT_TYPE_INT:
        value.integer = (uint64_t)(int64_t) * (const int *)buf;
        break;
    case MPIT_TYPE_UNSIGNED:
        value.integer = *(const unsigned *)buf;
        break;
    case MPIT_TYPE_UNSIGNED_LONG:
        value.integer = *(const unsigned long *)buf;
        break;
    default:
        memcpy(&value, buf, sizeof value.integer);
    }
    return value;
}

static bool value_fits(const struct instrument *instrument, union mpit_value value)
{
    const struct instrument_enumeration *names = instrument->names;
    bool limited = instrument->least.integer || instrument->most.integer;
    for (uint32_t i = 0; names && i < names->count; i++)
        if ((uint64_t)(int64_t)names->items[i].value == value.integer)
            return true;
    if (names)
        return false;
    if (!limited)
        return true;
    if (instrument->type == MPIT_TYPE_DOUBLE)
        return value.real >= instrument->least.real && value.real <= instrument->most.real;
    if (instrument->type == MPIT_TYPE_INT)
        return (int64_t)value.integer >= (int64_t)instrument->least.integer &&
               (int64_t)value.integer <= (int64_t)instrument->most.integer;
    return value.integer >= instrument->least.integer && value.integer <= instrument->most.integer;
}

/* Writes into the unused copy, which then becomes the text. */
static int control_text_write(struct instrument *instrument, const char *text)
{
    size_t length = strnlen(text, instrument->capacity);
    if (length == instrument->capacity)
        return MPI_T_ERR_INVALID; /* it does not end within the variable's length */
    pthread_mutex_lock(&text_lock);
    uint32_t next = instrument->text_version + 1;
    char *to = versioned_text(instrument, next);
    memset(to, 0, instrument->capacity);
    memcpy(to, text, length);
    __atomic_store_n(&instrument->text_version, next, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&text_lock);
    return MPI_SUCCESS;
}

static int control_write(const struct control *control, void *object, const void *buf)
{
    struct instrument_instance *instance = object;
    struct instrument *instrument = control_instrument(control);
    if (!instance_is_alive(instance))
        return MPI_T_ERR_INVALID_HANDLE;
    if (instrument->type == MPIT_TYPE_CHAR)
        return control_text_write(instrument, buf);
    union mpit_value value = buffer_value(instrument, buf);
    if (!value_fits(instrument, value))
        return MPI_T_ERR_INVALID; /* an impossible value */
    __atomic_store_n(&instance->cells->own, value.integer, __ATOMIC_RELAXED);
    return MPI_SUCCESS;
}

static const struct control_access access = {control_open, control_read, control_write, control_close};

static int scope_of(uint32_t scope)
{
    static const int scopes[] = {
        [MPIT_SCOPE_CONSTANT] = MPI_T_SCOPE_CONSTANT, [MPIT_SCOPE_READONLY] = MPI_T_SCOPE_READONLY,
        [MPIT_SCOPE_LOCAL] = MPI_T_SCOPE_LOCAL,       [MPIT_SCOPE_GROUP] = MPI_T_SCOPE_GROUP,
        [MPIT_SCOPE_GROUP_EQ] = MPI_T_SCOPE_GROUP_EQ, [MPIT_SCOPE_ALL] = MPI_T_SCOPE_ALL,
        [MPIT_SCOPE_ALL_EQ] = MPI_T_SCOPE_ALL_EQ,
    };
    return scopes[scope];
}

void component_control_enter(struct instrument *instrument)
{
    struct control fresh = {
        .access = &access,
        .context = instrument,
        .native_index = -1,
        .name = instrument->name,
        .description = instrument->description,
        .verbosity = component_verbosity(instrument->verbosity),
        .bind = instrument->bind == MPIT_BIND_COMM ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT,
        .scope = scope_of(instrument->scope),
        .datatype = component_datatype(instrument->type),
        .enumtype = component_enum(instrument->names),
        .category = component_category_path(instrument->category),
    };
    if (control_add(&fresh) < 0)
        native_say("mpit: control variable \"%s\" of %s is hidden: the MPI library has one of the same name",
                   instrument->name, instrument->component);
}
