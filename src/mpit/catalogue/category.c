#include "catalogue/category.h"

#include "base/array.h"
#include "base/text.h"
#include "catalogue/catalogue.h"
#include "instruments/component.h"
#include "variables/control.h"
#include "catalogue/door.h"
#include "events/event_type.h"
#include "variables/roster.h"

#include <stdlib.h>
#include <string.h>

struct members {
    int *indices;
    int count;
};

struct category {
    char *name, *description;
    struct members members[MEMBER_KINDS];
};

static struct roster roster; /* of struct category */
static int stamp;
static int pvars_seen, cvars_seen, events_seen; /* own ones below these indices have a category */
static int paths_seen;                          /* and so do paths of other libraries below this number */

/* The sizes that grow when the library's tree grows. */
struct extent {
    int native_stamp, native_count;       /* from the library */
    int categories, pvars, cvars, events; /* that were added here */
};
static struct extent extent_read; /* the extent of the library's tree when it was last read */
static pthread_mutex_t category_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- adding, all under the lock ---------------------------------------------------------------------------------- */

static bool category_member_add(struct category *category, enum member_kind kind, int index)
{
    struct members *members = &category->members[kind];
    for (int i = 0; i < members->count; i++)
        if (members->indices[i] == index)
            return true;
    if (!ARRAY_GROWN(members->indices, (size_t)members->count))
        return false;
    members->indices[members->count++] = index;
    stamp++;
    return true;
}

static int category_make(const char *name, const char *description)
{
    struct category *fresh = calloc(1, sizeof *fresh);
    int index = -1;
    if (fresh && (fresh->name = strdup(name)) && (fresh->description = strdup(description)))
        index = roster_add(&roster, fresh->name, 0, fresh);
    if (index >= 0)
        stamp++;
    else if (fresh) {
        free(fresh->name);
        free(fresh->description);
        free(fresh);
    }
    return index;
}

static const char *description_of(const char *path)
{
    static const struct {
        const char *path, *text;
    } known[] = {
        {"mpit", "All that the event recorder mpit records of this process."},
        {"mpit/process", "The process and its threads: calls, time in MPI, states."},
        {"mpit/recorder", "The recorder itself: events recorded and lost, memory in use."},
        {"mpit/communicator", "Variables that are bound to communicators."},
        {"mpit/communicator/time", "Time spent in calls on a communicator."},
        {"mpit/communicator/workload", "Messages, bytes, sizes and peers on a communicator."},
        {"mpit/communicator/level", "Operations now pending on a communicator, and their watermarks."},
        {"mpit/window", "Variables that are bound to windows."},
        {"mpit/file", "Variables that are bound to files."},
        {"mpit/service", "Layers below MPI: fabric, operating system, hardware counters."},
        {"mpit/control", "Control variables of mpit."},
        {"mpit/event", "Events that mpit raises."},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i].path, path) == 0)
            return known[i].text;
    return component_category_text(path);
}

/* Makes the category of that path, with its parents. -1 without memory. */
static int path_make(const char *path)
{
    int index = roster_find(&roster, path, 0);
    if (index >= 0)
        return index;
    const char *slash = strrchr(path, '/');
    int above = -1;
    if (slash && slash != path) {
        char *parent = strndup(path, (size_t)(slash - path));
        above = parent ? path_make(parent) : -1;
        free(parent);
        if (above < 0)
            return -1;
    }
    index = category_make(path, description_of(path));
    if (index >= 0 && above >= 0)
        category_member_add(roster_at(&roster, above), MEMBER_CATEGORY, index);
    return index;
}

static int path_member_add(const char *path, enum member_kind kind, int index)
{
    int at = path_make(path);
    return at >= 0 && category_member_add(roster_at(&roster, at), kind, index) ? 0 : -1;
}

/* ---- own variables ----------------------------------------------------------------------------------------------- */

/* The leaf of an own variable: by its name if that is enough, else by binding and class. */
static const char *leaf_of(const struct catalogue_entry *entry)
{
    static const struct {
        const char *begin, *leaf;
    } named[] = {
        {"mpit_events_", "mpit/recorder"},
        {"mpit_buffer_", "mpit/recorder"},
        {"mpit_fabric_", "mpit/service"},
        {"mpit_comm_fabric_", "mpit/service"},
        {"mpit_os_", "mpit/service"},
        {"mpit_papi_", "mpit/service"},
        {"mpit_comm_size", "mpit/communicator/workload"},
    };
    if (entry->category)
        return entry->category;
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (text_begins(entry->name, named[i].begin))
            return named[i].leaf;
    if (entry->bind == MPI_T_BIND_NO_OBJECT)
        return "mpit/process";
    if (entry->bind == MPI_T_BIND_MPI_WIN)
        return "mpit/window";
    if (entry->bind == MPI_T_BIND_MPI_FILE)
        return "mpit/file";
    if (entry->class == MPI_T_PVAR_CLASS_TIMER)
        return "mpit/communicator/time";
    if (entry->class == MPI_T_PVAR_CLASS_COUNTER || entry->class == MPI_T_PVAR_CLASS_AGGREGATE)
        return "mpit/communicator/workload";
    return "mpit/communicator/level";
}

/* Makes the own tree. Its shape does not depend on which variable comes first. */
static void own_tree(void)
{
    static bool made;
    static const char *const paths[] = {
        "mpit",
        "mpit/process",
        "mpit/recorder",
        "mpit/communicator/time",
        "mpit/communicator/workload",
        "mpit/communicator/level",
        "mpit/window",
        "mpit/file",
        "mpit/service",
        "mpit/control",
        "mpit/event",
    };
    if (made)
        return;
    made = true;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        made = path_make(paths[i]) >= 0 && made;
}

static const char *event_path(int index)
{
    const char *path = event_entry_at(index)->own->category;
    return path ? path : "mpit/event";
}

/* Returns the number of each kind, ours and the library's. */
static struct extent own_refresh(void)
{
    int pvars = catalogue_refresh(), cvars = control_refresh(), events = event_entries_refresh();
    for (; paths_seen < component_category_count(); paths_seen++)
        if (path_make(component_category_path(paths_seen)) < 0)
            break;
    for (; pvars_seen < pvars; pvars_seen++) {
        const struct catalogue_entry *entry = catalogue_at(pvars_seen);
        if (entry->native_index < 0 && path_member_add(leaf_of(entry), MEMBER_PVAR, pvars_seen) != 0)
            break; /* no memory: next time */
    }
    for (; cvars_seen < cvars; cvars_seen++) {
        const struct control *control = control_at(cvars_seen);
        const char *leaf = control->category ? control->category : "mpit/control";
        if (control->native_index < 0 && path_member_add(leaf, MEMBER_CVAR, cvars_seen) != 0)
            break;
    }
    for (; events_seen < events; events_seen++)
        if (event_entry_at(events_seen)->own &&
            path_member_add(event_path(events_seen), MEMBER_EVENT, events_seen) != 0)
            break;
    return (struct extent){.pvars = pvars, .cvars = cvars, .events = events};
}

/* ---- the library's ----------------------------------------------------------------------------------------------- */

/* Returns our index of the library's category, or below 0: its get_info does not succeed (yet), or we have the name. */
static int native_category_admit(int native_index)
{
    int index = roster_native(&roster, native_index), name_length = 0, description_length = 0;
    if (index != ROSTER_WAITS)
        return index;
    int result = DOOR(category_get_info, MPI_T_ERR_INVALID_INDEX, native_index, NULL, &name_length, NULL,
                      &description_length, NULL, NULL, NULL);
    if (result != MPI_SUCCESS || name_length < 2)
        return -1;
    description_length += description_length == 0; /* Open MPI returns 0 if there is none */
    char *name = calloc(1, (size_t)name_length), *description = calloc(1, (size_t)description_length);
    if (name && description)
        result = DOOR(category_get_info, MPI_T_ERR_INVALID_INDEX, native_index, name, &name_length, description,
                      &description_length, NULL, NULL, NULL);
    if (result == MPI_SUCCESS && name && description && name[0])
        index = roster_find(&roster, name, 0) < 0 ? category_make(name, description) : ROSTER_REFUSED;
    free(name);
    free(description);
    roster_native_set(&roster, native_index, index);
    return index;
}

static int native_list(enum member_kind kind, int native_index, int len, int *indices)
{
    switch (kind) {
    case MEMBER_CVAR:
        return DOOR(category_get_cvars, MPI_T_ERR_INVALID_INDEX, native_index, len, indices);
    case MEMBER_PVAR:
        return DOOR(category_get_pvars, MPI_T_ERR_INVALID_INDEX, native_index, len, indices);
    case MEMBER_CATEGORY:
        return DOOR(category_get_categories, MPI_T_ERR_INVALID_INDEX, native_index, len, indices);
    case MEMBER_EVENT:
        return DOOR(category_get_events, MPI_T_ERR_INVALID_INDEX, native_index, len, indices);
    default:
        return MPI_T_ERR_INVALID;
    }
}

/* Returns our index of a member, or -1 if it was not added yet. */
static int native_member(enum member_kind kind, int native_index)
{
    switch (kind) {
    case MEMBER_CVAR:
        return control_of_native(native_index);
    case MEMBER_PVAR:
        return catalogue_of_native(native_index);
    case MEMBER_CATEGORY:
        return native_category_admit(native_index);
    case MEMBER_EVENT:
        return event_entry_of_native(native_index);
    default:
        return -1;
    }
}

static void native_refresh(int native_index)
{
    int index = native_category_admit(native_index), counts[MEMBER_KINDS] = {0};
    if (index < 0 || DOOR(category_get_info, MPI_T_ERR_INVALID_INDEX, native_index, NULL, NULL, NULL, NULL,
                          &counts[MEMBER_CVAR], &counts[MEMBER_PVAR], &counts[MEMBER_CATEGORY]) != MPI_SUCCESS)
        return;
    DOOR(category_get_num_events, MPI_SUCCESS, native_index, &counts[MEMBER_EVENT]);
    struct category *category = roster_at(&roster, index);
    for (enum member_kind kind = 0; kind < MEMBER_KINDS; kind++) {
        int *listed = counts[kind] > 0 ? calloc((size_t)counts[kind], sizeof *listed) : NULL;
        if (listed && native_list(kind, native_index, counts[kind], listed) == MPI_SUCCESS)
            for (int i = 0; i < counts[kind]; i++) {
                int member = native_member(kind, listed[i]);
                if (member >= 0)
                    category_member_add(category, kind, member);
            }
        free(listed);
    }
}

/*
 * Reads the library's tree again if it may have grown. MPICH's stamp does not change for a new member of an existing
 * category, but such a member is new in its own list. Open MPI's does not change for a member that comes back, but that
 * is added here then.
 */
static void native_tree(struct extent now)
{
    bool stamped = DOOR(category_changed, MPI_T_ERR_NOT_SUPPORTED, &now.native_stamp) == MPI_SUCCESS;
    if (DOOR(category_get_num, MPI_T_ERR_NOT_INITIALIZED, &now.native_count) != MPI_SUCCESS)
        return;
    roster_natives(&roster, now.native_count, native_category_admit);
    now.categories = roster_count(&roster);
    if (stamped && memcmp(&now, &extent_read, sizeof now) == 0)
        return;
    for (int i = 0; i < now.native_count; i++)
        native_refresh(i);
    extent_read = now;
}

int category_refresh(void)
{
    pthread_mutex_lock(&category_lock);
    own_tree();
    native_tree(own_refresh());
    int count = roster_count(&roster);
    pthread_mutex_unlock(&category_lock);
    return count;
}

int category_members(int cat_index, enum member_kind kind, int len, int indices[], int *count)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    int result = MPI_T_ERR_INVALID_INDEX;
    pthread_mutex_lock(&category_lock);
    const struct category *category = roster_at(&roster, cat_index);
    if (category) {
        const struct members *members = &category->members[kind];
        result = len < 0 || (len > 0 && !indices) ? MPI_T_ERR_INVALID : MPI_SUCCESS;
        if (result == MPI_SUCCESS && count)
            *count = members->count;
        for (int i = 0; result == MPI_SUCCESS && i < len && i < members->count; i++)
            indices[i] = members->indices[i];
    }
    pthread_mutex_unlock(&category_lock);
    return result;
}

/* ---- entry points ------------------------------------------------------------------------------------------------ */

SURFACE(category_get_num);
int MPI_T_category_get_num(int *num_cat)
{
    return door_count(num_cat, category_refresh);
}

SURFACE(category_get_info);
int MPI_T_category_get_info(int cat_index, char *name, int *name_len, char *desc, int *desc_len, int *num_cvars,
                            int *num_pvars, int *num_categories)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct category *category = roster_at(&roster, cat_index);
    if (!category)
        return MPI_T_ERR_INVALID_INDEX;
    string_return(category->name, name, name_len);
    string_return(category->description, desc, desc_len);
    category_members(cat_index, MEMBER_CVAR, 0, NULL, num_cvars);
    category_members(cat_index, MEMBER_PVAR, 0, NULL, num_pvars);
    category_members(cat_index, MEMBER_CATEGORY, 0, NULL, num_categories);
    return MPI_SUCCESS;
}

SURFACE(category_get_index);
int MPI_T_category_get_index(const char *name, int *cat_index)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!name || !cat_index)
        return MPI_T_ERR_INVALID;
    int index = roster_find(&roster, name, 0), native_index;
    if (index < 0) {
        category_refresh(); /* of another library */
        index = roster_find(&roster, name, 0);
    }
    if (index < 0 && DOOR(category_get_index, MPI_T_ERR_INVALID_NAME, name, &native_index) == MPI_SUCCESS) {
        category_refresh(); /* it was added since */
        index = roster_find(&roster, name, 0);
    }
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *cat_index = index;
    return MPI_SUCCESS;
}

SURFACE(category_get_cvars);
int MPI_T_category_get_cvars(int cat_index, int len, int indices[])
{
    return category_members(cat_index, MEMBER_CVAR, len, indices, NULL);
}

SURFACE(category_get_pvars);
int MPI_T_category_get_pvars(int cat_index, int len, int indices[])
{
    return category_members(cat_index, MEMBER_PVAR, len, indices, NULL);
}

SURFACE(category_get_categories);
int MPI_T_category_get_categories(int cat_index, int len, int indices[])
{
    return category_members(cat_index, MEMBER_CATEGORY, len, indices, NULL);
}

SURFACE(category_changed);
int MPI_T_category_changed(int *update_number)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!update_number)
        return MPI_T_ERR_INVALID;
    category_refresh();
    pthread_mutex_lock(&category_lock);
    *update_number = stamp;
    pthread_mutex_unlock(&category_lock);
    return MPI_SUCCESS;
}
