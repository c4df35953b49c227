#include "instruments/component.h"

#include "base/threadown.h"
#include "catalogue/enumeration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the catalogue ----------------------------------------------------------------------------------------------- */

MPI_Datatype component_datatype(uint32_t type)
{
    switch (type) {
    case MPIT_TYPE_INT:
        return native.int_;
    case MPIT_TYPE_UNSIGNED:
        return native.unsigned_;
    case MPIT_TYPE_UNSIGNED_LONG:
        return native.unsigned_long;
    case MPIT_TYPE_DOUBLE:
        return native.double_;
    case MPIT_TYPE_CHAR:
        return native.char_;
    default:
        return native.unsigned_long_long;
    }
}

int component_verbosity(uint32_t verbosity)
{
    static const int numbers[] = {
        [MPIT_VERBOSITY_USER] = MPI_T_VERBOSITY_USER_BASIC,
        [MPIT_VERBOSITY_USER_DETAIL] = MPI_T_VERBOSITY_USER_DETAIL,
        [MPIT_VERBOSITY_TUNER] = MPI_T_VERBOSITY_TUNER_BASIC,
        [MPIT_VERBOSITY_TUNER_DETAIL] = MPI_T_VERBOSITY_TUNER_DETAIL,
        [MPIT_VERBOSITY_DEVELOPER] = MPI_T_VERBOSITY_MPIDEV_BASIC,
        [MPIT_VERBOSITY_DEVELOPER_DETAIL] = MPI_T_VERBOSITY_MPIDEV_DETAIL,
        [MPIT_VERBOSITY_USER_ALL] = MPI_T_VERBOSITY_USER_ALL,
        [MPIT_VERBOSITY_TUNER_ALL] = MPI_T_VERBOSITY_TUNER_ALL,
        [MPIT_VERBOSITY_DEVELOPER_ALL] = MPI_T_VERBOSITY_MPIDEV_ALL,
    };
    return numbers[verbosity];
}

MPI_T_enum component_enum(const struct instrument_enumeration *names)
{
    int count = names ? (int)names->count : 0;
    int *values = calloc((size_t)count + 1, sizeof *values);
    const char **texts = calloc((size_t)count + 1, sizeof *texts);
    MPI_T_enum type = MPI_T_ENUM_NULL;
    for (int i = 0; values && texts && i < count; i++) {
        values[i] = names->items[i].value;
        texts[i] = names->items[i].name;
    }
    if (names && values && texts)
        type = enumeration_add(names->name, count, values, texts);
    free(values);
    free(texts);
    return type;
}

/* Other parts of mpit need a struct variable for an own variable. This one has only its basic properties. */
static struct variable *variable_make(const struct instrument *instrument, uint32_t class)
{
    struct variable *variable = calloc(1, sizeof *variable);
    if (!variable)
        return NULL;
    strncpy(variable->record.name, instrument->name, sizeof variable->record.name - 1);
    variable->record.class = class;
    variable->record.bound = instrument->bind == MPIT_BIND_COMM;
    variable->record.count = instrument->count;
    variable->record.combine = COMBINE_NONE;
    variable->extreme = EXTREME_NONE;
    variable->description = instrument->description;
    return variable;
}

/* The library's own text, the unit and the class's meaning if needed, and that reading is safe. */
static char *description_make(const struct instrument *instrument, uint32_t class)
{
    const char *more = "";
    char *text = malloc(strlen(instrument->description) + 128);
    if (class == MPIT_CLASS_TIMER)
        more = instrument->type == MPIT_TYPE_DOUBLE ? " In seconds." : " In nanoseconds.";
    else if (class == MPIT_CLASS_HIGHWATERMARK)
        more = " The most since start or reset.";
    else if (class == MPIT_CLASS_LOWWATERMARK)
        more = " The least since start or reset.";
    if (text)
        sprintf(text, "%s%s%sReading it is async-signal-safe.", instrument->description, more,
                instrument->description[0] || more[0] ? " " : "");
    return text;
}

static void class_enter(struct instrument *instrument, uint32_t class)
{
    bool changes = class_is_sum(class) || class_is_watermark(class);
    struct catalogue_entry fresh = {
        .own = variable_make(instrument, class),
        .instrument = instrument,
        .native_index = -1,
        .name = instrument->name,
        .description = description_make(instrument, class),
        .verbosity = component_verbosity(instrument->verbosity),
        .class = catalogue_class((enum variable_class) class),
        .datatype = component_datatype(instrument->type),
        .enumtype = component_enum(instrument->names),
        .category = component_category_path(instrument->category),
        .bind = instrument->bind == MPIT_BIND_COMM ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT,
        .readonly = !changes,
        .continuous = !changes,
        .atomic = changes,
    };
    if (fresh.own && fresh.description && catalogue_add(&fresh) >= 0)
        return;
    if (fresh.own && fresh.description)
        native_say(
            "mpit: performance variable \"%s\" of %s is hidden: the MPI library has one of the same name and class",
            instrument->name, instrument->component);
    free((void *)(uintptr_t)fresh.own);
    free(fresh.description);
}

THREAD_OWN(bool, components_entering);

/* Adding asks for a refresh again. The second one, on the same thread, returns at once. */
void component_refresh(void)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static uint32_t entered;
    if (components_entering || __atomic_load_n(&entered, __ATOMIC_ACQUIRE) == instrument_count() || !native.present)
        return;
    components_entering = true;
    pthread_mutex_lock(&lock);
    for (uint32_t at = entered; at < instrument_count(); at++) {
        struct instrument *instrument = instrument_at(at);
        if (instrument->kind == INSTRUMENT_CONTROL)
            component_control_enter(instrument);
        if (instrument->kind == INSTRUMENT_EVENT)
            component_event_enter(instrument);
        for (uint32_t class = MPIT_CLASS_STATE; class <= MPIT_CLASS_GENERIC; class ++)
            if (instrument->classes & 1u << class)
                class_enter(instrument, class);
        __atomic_store_n(&entered, at + 1, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&lock);
    components_entering = false;
}

int component_category_count(void)
{
    return instrument_category_count();
}

const char *component_category_path(int number)
{
    const struct instrument_category *category = instrument_category_at(number);
    return category ? category->path : NULL;
}

const char *component_category_text(const char *path)
{
    for (int i = 0; i < instrument_category_count(); i++)
        if (strcmp(instrument_category_at(i)->path, path) == 0)
            return instrument_category_at(i)->description;
    return "";
}
