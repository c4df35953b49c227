#include "variables/control.h"

#include "instruments/component.h"
#include "catalogue/door.h"
#include "catalogue/enumeration.h"
#include "settings/knobs.h"
#include "variables/roster.h"

#include <stdlib.h>

static struct roster roster; /* of struct control */
static bool own_entered;
static pthread_mutex_t control_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- own ones ---------------------------------------------------------------------------------------------------- */

static enum knob knob_of(const struct control *control)
{
    return (enum knob)(uintptr_t)control->context;
}

static int knob_open(const struct control *control, void *obj_handle, void **object, int *count)
{
    (void)obj_handle, (void)object;
    *count = knob_table[knob_of(control)].type == KNOB_TEXT ? KNOB_TEXT_BYTES : 1;
    return MPI_SUCCESS;
}

static int knob_read(const struct control *control, void *object, void *buf)
{
    (void)object;
    enum knob knob = knob_of(control);
    uint64_t value = knob == KNOB_TRACE ? knob_load(knob) == 1 : knob_load(knob);
    if (knob_table[knob].type == KNOB_TEXT)
        knob_read_text(knob, buf);
    else if (knob_table[knob].type == KNOB_INT)
        *(int *)buf = (int)value;
    else
        *(unsigned long long *)buf = value;
    return MPI_SUCCESS;
}

static int knob_code(enum knob_result result)
{
    switch (result) {
    case KNOB_WRITTEN:
        return MPI_SUCCESS;
    case KNOB_NOT_NOW:
        return MPI_T_ERR_CVAR_SET_NOT_NOW;
    case KNOB_NEVER:
        return MPI_T_ERR_CVAR_SET_NEVER;
    default:
        return MPI_T_ERR_INVALID; /* an impossible value */
    }
}

static int knob_set(const struct control *control, void *object, const void *buf)
{
    (void)object;
    enum knob knob = knob_of(control);
    if (knob_table[knob].type == KNOB_TEXT)
        return knob_code(knob_write_text(knob, buf));
    int64_t signed_value = knob_table[knob].type == KNOB_INT ? *(const int *)buf : 0;
    uint64_t value = knob_table[knob].type == KNOB_INT ? (uint64_t)signed_value : *(const unsigned long long *)buf;
    if (signed_value < 0)
        return MPI_T_ERR_INVALID;
    return knob_code(knob_write(knob, value));
}

static const struct control_access knob_access = {knob_open, knob_read, knob_set, NULL};

/* ---- the list ---------------------------------------------------------------------------------------------------- */

/* Under the lock. */
static int control_enter(const struct control *fresh)
{
    struct control *control = malloc(sizeof *control);
    if (!control)
        return -1;
    *control = *fresh;
    int index = roster_add(&roster, control->name, 0, control);
    if (index < 0)
        free(control);
    return index;
}

static void knob_enter(enum knob knob)
{
    const struct knob_description *d = &knob_table[knob];
    struct control fresh = {
        .access = &knob_access,
        .context = (void *)(uintptr_t)knob,
        .native_index = -1,
        .name = (char *)(uintptr_t)d->name,
        .description = (char *)(uintptr_t)d->description,
        .verbosity = component_verbosity(d->verbosity),
        .bind = MPI_T_BIND_NO_OBJECT,
        /* Also for settings that cannot always be written. Description and error code tell when. */
        .scope = MPI_T_SCOPE_LOCAL,
        .datatype = d->type == KNOB_INT    ? native.int_
                    : d->type == KNOB_TEXT ? native.char_
                                           : native.unsigned_long_long,
        .enumtype = MPI_T_ENUM_NULL,
    };
    control_enter(&fresh);
}

/* The standard has few types for variables, Open MPI more. This is the standard type with the same values. A truth
 * value, which is a byte there, becomes an int (cvar.c). */
static MPI_Datatype standard_type(MPI_Datatype type)
{
    const MPI_Datatype pairs[][2] = {
        {native.c_bool, native.int_}, {native.int32, native.int_},  {native.uint32, native.unsigned_},
        {native.long_, native.count}, {native.int64, native.count}, {native.uint64, native.unsigned_long_long},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++)
        if (type == pairs[i][0])
            return pairs[i][1];
    return type;
}

/* Under the lock. Returns the variable's index, or below 0: the library's get_info does not succeed (yet), or we
 * have the name. */
static int native_control_admit(int native_index)
{
    int index = roster_native(&roster, native_index), name_length = 0, description_length = 0;
    if (index != ROSTER_WAITS)
        return index;
    struct control fresh = {.native_index = native_index, .enumtype = MPI_T_ENUM_NULL};
    int result = DOOR(cvar_get_info, MPI_T_ERR_INVALID_INDEX, native_index, NULL, &name_length, &fresh.verbosity,
                      &fresh.native_type, &fresh.enumtype, NULL, &description_length, &fresh.bind, &fresh.scope);
    if (result != MPI_SUCCESS || name_length < 2)
        return -1;
    description_length += description_length == 0; /* Open MPI returns 0 if there is none */
    fresh.name = calloc(1, (size_t)name_length);
    fresh.description = calloc(1, (size_t)description_length);
    if (fresh.name && fresh.description)
        result = DOOR(cvar_get_info, MPI_T_ERR_INVALID_INDEX, native_index, fresh.name, &name_length, NULL, NULL, NULL,
                      fresh.description, &description_length, NULL, NULL);
    if (result == MPI_SUCCESS && fresh.name && fresh.description && fresh.name[0]) {
        fresh.datatype = standard_type(fresh.native_type);
        fresh.enumtype = fresh.datatype == native.int_ ? enumeration_copy(fresh.enumtype) : MPI_T_ENUM_NULL;
        index = control_enter(&fresh);
        if (index < 0 && roster_find(&roster, fresh.name, 0) >= 0)
            index = ROSTER_REFUSED;
    }
    if (index < 0) {
        free(fresh.name);
        free(fresh.description);
    }
    roster_native_set(&roster, native_index, index);
    return index;
}

/* Under the lock. */
static void own_controls_enter(void)
{
    for (unsigned knob = 0; !own_entered && knob < KNOB_COUNT; knob++)
        knob_enter((enum knob)knob);
    own_entered = true;
}

int control_refresh(void)
{
    int native_count = 0;
    component_refresh();
    pthread_mutex_lock(&control_lock);
    own_controls_enter();
    door_open();
    if (DOOR(cvar_get_num, MPI_T_ERR_NOT_INITIALIZED, &native_count) == MPI_SUCCESS)
        roster_natives(&roster, native_count, native_control_admit);
    int count = roster_count(&roster);
    pthread_mutex_unlock(&control_lock);
    return count;
}

const struct control *control_at(int index)
{
    return roster_at(&roster, index);
}

int control_find(const char *name)
{
    component_refresh();
    int native_index, index = roster_find(&roster, name, 0);
    if (index >= 0 || DOOR(cvar_get_index, MPI_T_ERR_INVALID_NAME, name, &native_index) != MPI_SUCCESS)
        return index;
    index = control_of_native(native_index); /* it was added since */
    return index >= 0 && roster_find(&roster, name, 0) == index ? index : -1;
}

int control_of_native(int native_index)
{
    pthread_mutex_lock(&control_lock);
    own_controls_enter();
    int index = native_control_admit(native_index);
    pthread_mutex_unlock(&control_lock);
    return index;
}

int control_add(const struct control *fresh)
{
    control_refresh();
    pthread_mutex_lock(&control_lock);
    int index = control_enter(fresh);
    pthread_mutex_unlock(&control_lock);
    return index;
}
