#include "events/event_type.h"

#include "base/hash.h"
#include "instruments/component.h"
#include "catalogue/enumeration.h"
#include "catalogue/hint.h"

#include <stdlib.h>
#include <string.h>

enum { BUCKETS = 256 };

static struct event_entry entries[EVENT_TYPES_MOST];
static int same_hash[EVENT_TYPES_MOST]; /* index + 1 of the next entry in the bucket */
static int buckets[BUCKETS];            /* index + 1 */
static int entry_count;
static int native_seen; /* native indices below this were checked and added */
static pthread_mutex_t entries_lock = PTHREAD_MUTEX_INITIALIZER;

static int *name_bucket(const char *name)
{
    return &buckets[hash_text(HASH_BEGIN, name) % BUCKETS];
}

static int event_entry_find(const char *name)
{
    for (int at = __atomic_load_n(name_bucket(name), __ATOMIC_ACQUIRE); at; at = same_hash[at - 1])
        if (strcmp(entries[at - 1].name, name) == 0)
            return at - 1;
    return -1;
}

/* Under the lock. */
static int entry_add(const struct event_entry *fresh)
{
    int index = entry_count;
    if (index == EVENT_TYPES_MOST || event_entry_find(fresh->name) >= 0)
        return -1;
    entries[index] = *fresh;
    int *bucket = name_bucket(fresh->name);
    same_hash[index] = *bucket;
    __atomic_store_n(bucket, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&entry_count, index + 1, __ATOMIC_RELEASE);
    return index;
}

static void own_events_enter(void)
{
    for (int i = 0; entry_count < EVENT_TYPES && i < EVENT_TYPES; i++)
        entry_add(&(struct event_entry){.own = &event_types[i], .native_index = -1, .name = event_types[i].name});
}

static bool native_event_admit(int index)
{
    char name[256] = "";
    int length = sizeof name;
    if (DOOR(event_get_info, MPI_T_ERR_INVALID_INDEX, index, name, &length, NULL, NULL, NULL, NULL, NULL, NULL, NULL,
             NULL, NULL) != MPI_SUCCESS)
        return false; /* not yet. The ones after it wait, so that the order stays */
    char *copy = strdup(name);
    if (copy && entry_add(&(struct event_entry){.native_index = index, .name = copy}) < 0)
        free(copy);
    return true;
}

int event_entries_refresh(void)
{
    int count = 0;
    component_refresh();
    pthread_mutex_lock(&entries_lock);
    own_events_enter();
    if (DOOR(event_get_num, MPI_T_ERR_NOT_INITIALIZED, &count) == MPI_SUCCESS)
        while (native_seen < count && native_event_admit(native_seen))
            native_seen++;
    count = entry_count;
    pthread_mutex_unlock(&entries_lock);
    return count;
}

int event_type_add(struct event_type *type)
{
    if (type->element_count > ELEMENTS_MOST)
        return -1;
    pthread_mutex_lock(&entries_lock);
    own_events_enter();
    int index = entry_add(&(struct event_entry){.own = type, .native_index = -1, .name = type->name});
    pthread_mutex_unlock(&entries_lock);
    return index;
}

const struct event_entry *event_entry_at(int index)
{
    if (__atomic_load_n(&entry_count, __ATOMIC_ACQUIRE) < EVENT_TYPES)
        event_entries_refresh();
    return index >= 0 && index < __atomic_load_n(&entry_count, __ATOMIC_ACQUIRE) ? &entries[index] : NULL;
}

int event_entry_of_native(int native_index)
{
    int count = event_entries_refresh();
    for (int i = EVENT_TYPES; i < count; i++)
        if (!entries[i].own && entries[i].native_index == native_index)
            return i;
    return -1;
}

/* Names the type's elements. */
static MPI_T_enum elements_enumeration(const struct event_type *type)
{
    int values[ELEMENTS_MOST];
    const char *names[ELEMENTS_MOST];
    for (int i = 0; i < type->element_count; i++) {
        values[i] = i;
        names[i] = type->elements[i].name;
    }
    return enumeration_add(type->name, type->element_count, values, names);
}

SURFACE(event_get_num);
int MPI_T_event_get_num(int *num_events)
{
    return door_count(num_events, event_entries_refresh);
}

SURFACE(event_get_index);
int MPI_T_event_get_index(const char *name, int *event_index)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    if (!name || !event_index)
        return MPI_T_ERR_INVALID;
    int index = event_entry_find(name);
    if (index < 0) {
        event_entries_refresh();
        index = event_entry_find(name);
    }
    if (index < 0)
        return MPI_T_ERR_INVALID_NAME;
    *event_index = index;
    return MPI_SUCCESS;
}

static MPI_Datatype element_datatype(enum element_type type)
{
    const MPI_Datatype types[] = {[ELEMENT_INT] = native.int_,
                                  [ELEMENT_UNSIGNED_LONG_LONG] = native.unsigned_long_long,
                                  [ELEMENT_UNSIGNED] = native.unsigned_,
                                  [ELEMENT_UNSIGNED_LONG] = native.unsigned_long,
                                  [ELEMENT_DOUBLE] = native.double_};
    return types[type];
}

static void elements_return(const struct event_type *type, MPI_Datatype datatypes[], MPI_Aint displacements[], int *num)
{
    if (!num)
        return;
    for (int i = 0; i < *num && i < type->element_count; i++) {
        if (datatypes)
            datatypes[i] = element_datatype(type->elements[i].type);
        if (displacements)
            displacements[i] = type->elements[i].displacement;
    }
    *num = type->element_count;
}

SURFACE(event_get_info);
int MPI_T_event_get_info(int event_index, char *name, int *name_len, int *verbosity, MPI_Datatype array_of_datatypes[],
                         MPI_Aint array_of_displacements[], int *num_elements, MPI_T_enum *enumtype, MPI_Info *info,
                         char *desc, int *desc_len, int *bind)
{
    if (!door_initialized())
        return MPI_T_ERR_NOT_INITIALIZED;
    const struct event_entry *entry = event_entry_at(event_index);
    if (!entry)
        return MPI_T_ERR_INVALID_INDEX;
    if (!entry->own) {
        int result =
            DOOR(event_get_info, MPI_T_ERR_INVALID_INDEX, entry->native_index, name, name_len, verbosity,
                 array_of_datatypes, array_of_displacements, num_elements, enumtype, info, desc, desc_len, bind);
        if (result == MPI_SUCCESS && enumtype)
            *enumtype = enumeration_copy(*enumtype);
        return result;
    }
    const struct event_type *type = entry->own;
    string_return(type->name, name, name_len);
    string_return(type->description, desc, desc_len);
    elements_return(type, array_of_datatypes, array_of_displacements, num_elements);
    if (verbosity)
        *verbosity = component_verbosity(type->verbosity);
    if (enumtype)
        *enumtype = elements_enumeration(type);
    if (info)
        *info = type->threshold ? hint_number_info(HINT_THRESHOLD, 0) : hint_none_info();
    if (bind)
        *bind = type->bound ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT;
    return MPI_SUCCESS;
}
