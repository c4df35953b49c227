#include "catalogue/catalogue.h"

#include "instruments/component.h"
#include "catalogue/door.h"
#include "catalogue/enumeration.h"
#include "variables/roster.h"
#include "handles/livevariables.h"

#include <stdlib.h>
#include <string.h>

static struct roster roster; /* of struct catalogue_entry. The key is the class */
static size_t own_entered;   /* number of them */
static pthread_mutex_t catalogue_lock = PTHREAD_MUTEX_INITIALIZER;

const struct catalogue_entry *catalogue_at(int index)
{
    return roster_at(&roster, index);
}

/* Under the lock. Returns the new entry's index. Returns -1 without memory, or if the name and class exist already. */
static int entry_enter(const struct catalogue_entry *fresh)
{
    struct catalogue_entry *entry = malloc(sizeof *entry);
    if (!entry)
        return -1;
    *entry = *fresh;
    int index = roster_add(&roster, entry->name, entry->class, entry);
    if (index < 0)
        free(entry);
    return index;
}

int catalogue_add(const struct catalogue_entry *fresh)
{
    catalogue_refresh();
    pthread_mutex_lock(&catalogue_lock);
    int index = entry_enter(fresh);
    pthread_mutex_unlock(&catalogue_lock);
    return index;
}

int catalogue_class(enum variable_class class)
{
    static const int classes[] = {
        [VARIABLE_STATE] = MPI_T_PVAR_CLASS_STATE,
        [VARIABLE_LEVEL] = MPI_T_PVAR_CLASS_LEVEL,
        [VARIABLE_SIZE] = MPI_T_PVAR_CLASS_SIZE,
        [VARIABLE_PERCENTAGE] = MPI_T_PVAR_CLASS_PERCENTAGE,
        [VARIABLE_HIGHWATERMARK] = MPI_T_PVAR_CLASS_HIGHWATERMARK,
        [VARIABLE_LOWWATERMARK] = MPI_T_PVAR_CLASS_LOWWATERMARK,
        [VARIABLE_COUNTER] = MPI_T_PVAR_CLASS_COUNTER,
        [VARIABLE_AGGREGATE] = MPI_T_PVAR_CLASS_AGGREGATE,
        [VARIABLE_TIMER] = MPI_T_PVAR_CLASS_TIMER,
        [VARIABLE_GENERIC] = MPI_T_PVAR_CLASS_GENERIC,
    };
    return classes[class];
}

static int catalogue_bind(enum variable_bound bound)
{
    static const int binds[] = {
        [BOUND_NOT] = MPI_T_BIND_NO_OBJECT,
        [BOUND_COMM] = MPI_T_BIND_MPI_COMM,
        [BOUND_WINDOW] = MPI_T_BIND_MPI_WIN,
        [BOUND_FILE] = MPI_T_BIND_MPI_FILE,
    };
    return binds[bound];
}

static void own_enter(const struct variable *variable)
{
    enum variable_class class = (enum variable_class)variable->record.class;
    bool differs = class == VARIABLE_COUNTER || class == VARIABLE_AGGREGATE || class == VARIABLE_TIMER;
    bool watermark = class == VARIABLE_HIGHWATERMARK || class == VARIABLE_LOWWATERMARK;
    bool named_umq = variable->source == SOURCE_UMQ_NAMED;
    bool queue = variable->source == SOURCE_RECVQ_POSTED || variable->source == SOURCE_RECVQ_UNEXPECTED;
    struct catalogue_entry fresh = {
        .own = variable,
        .native_index = -1,
        .name = (char *)(uintptr_t)variable_name(variable),
        .description = (char *)(uintptr_t)variable->description,
        .verbosity = component_verbosity((uint32_t)variable_verbosity(variable)),
        .class = catalogue_class(class),
        .datatype = class == VARIABLE_STATE || named_umq ? native.int_
                    : class == VARIABLE_PERCENTAGE       ? native.double_
                    : queue                              ? native.unsigned_
                                                         : native.unsigned_long_long,
        .enumtype = enumeration_of(variable->names),
        .bind = catalogue_bind((enum variable_bound)variable->record.bound),
        .readonly = !differs && !watermark,
        .continuous = !differs && !watermark && !named_umq,
        .atomic = differs || variable->extreme != EXTREME_NONE,
    };
    entry_enter(&fresh);
}

/*
 * Variables that are not listed, because no handle of them can be used:
 *
 *   mtl_psm2_*                                  Open MPI crashes, and that cannot be known before (foreign.h)
 *   bound to other objects than communicators   the library may crash when the object is gone. Open MPI's osc_rdma_*
 *                                               read at a wrong offset
 *
 * A tool that ends at the first refusal would get none of the variables after them. For such tools mpit's own variables
 * of windows and files come after all others of mpit (livevariables.c).
 */
static bool never_usable(const struct catalogue_entry *entry)
{
    return (entry->bind != MPI_T_BIND_NO_OBJECT && entry->bind != MPI_T_BIND_MPI_COMM) ||
           strncmp(entry->name, "mtl_psm2_", 9) == 0;
}

/* Under the lock. Returns the entry's index, or below 0: the library's get_info does not succeed (yet), we have the
 * name, or the variable is unusable. */
static int native_admit(int native_index)
{
    int index = roster_native(&roster, native_index), name_length = 0, description_length = 0;
    if (index != ROSTER_WAITS)
        return index;
    struct catalogue_entry fresh = {.native_index = native_index, .enumtype = MPI_T_ENUM_NULL};
    int result = DOOR(pvar_get_info, MPI_T_ERR_INVALID_INDEX, native_index, NULL, &name_length, &fresh.verbosity,
                      &fresh.class, &fresh.datatype, &fresh.enumtype, NULL, &description_length, &fresh.bind,
                      &fresh.readonly, &fresh.continuous, &fresh.atomic);
    if (result != MPI_SUCCESS || name_length < 2)
        return -1;
    description_length += description_length == 0; /* Open MPI returns 0 if there is none */
    fresh.name = calloc(1, (size_t)name_length);
    fresh.description = calloc(1, (size_t)description_length);
    if (fresh.name && fresh.description)
        result = DOOR(pvar_get_info, MPI_T_ERR_INVALID_INDEX, native_index, fresh.name, &name_length, NULL, NULL, NULL,
                      NULL, fresh.description, &description_length, NULL, NULL, NULL, NULL);
    if (result == MPI_SUCCESS && fresh.name && fresh.description && fresh.name[0]) {
        fresh.enumtype = fresh.datatype == native.int_ ? enumeration_copy(fresh.enumtype) : MPI_T_ENUM_NULL;
        index = never_usable(&fresh) ? ROSTER_REFUSED : entry_enter(&fresh);
        if (index < 0 && roster_find(&roster, fresh.name, fresh.class) >= 0)
            index = ROSTER_REFUSED;
    }
    if (index < 0) {
        free(fresh.name);
        free(fresh.description);
    }
    roster_native_set(&roster, native_index, index);
    return index;
}

/* The table, totals, and then variables of counters, which are added when MPI is initialized. */
static const struct variable *own_at(size_t index)
{
    if (index < variable_count)
        return variable_at(index);
    index -= variable_count;
    return index < live_variable_count() ? live_variable_at(index)
                                         : variable_at(variable_count + index - live_variable_count());
}

/* Under the lock. */
static void own_ones_enter(void)
{
    for (size_t end = variable_number() + live_variable_count(); own_entered < end; own_entered++)
        own_enter(own_at(own_entered));
}

int catalogue_refresh(void)
{
    component_refresh();
    pthread_mutex_lock(&catalogue_lock);
    own_ones_enter();
    int native_count = 0;
    door_open();
    if (DOOR(pvar_get_num, MPI_T_ERR_NOT_INITIALIZED, &native_count) == MPI_SUCCESS)
        roster_natives(&roster, native_count, native_admit);
    int count = roster_count(&roster);
    pthread_mutex_unlock(&catalogue_lock);
    return count;
}

int catalogue_find(const char *name, int class)
{
    component_refresh();
    pthread_mutex_lock(&catalogue_lock);
    if (own_entered >= variable_count + live_variable_count()) /* else the first refresh does it */
        own_ones_enter();
    pthread_mutex_unlock(&catalogue_lock);
    int native_index, index = roster_find(&roster, name, class);
    if (index >= 0 || DOOR(pvar_get_index, MPI_T_ERR_INVALID_NAME, name, class, &native_index) != MPI_SUCCESS)
        return index;
    index = catalogue_of_native(native_index); /* it was added since */
    return index >= 0 && catalogue_at(index)->class == class ? index : -1;
}

int catalogue_of_native(int native_index)
{
    pthread_mutex_lock(&catalogue_lock);
    int index = native_admit(native_index);
    pthread_mutex_unlock(&catalogue_lock);
    return index;
}
