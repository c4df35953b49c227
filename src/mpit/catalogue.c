#include "catalogue.h"

#include "door.h"
#include "enumeration.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_ENTRIES = 256, BLOCKS = 256, BUCKETS = 1024 };

static struct catalogue_entry *blocks[BLOCKS]; /* entries never move */
static int entry_count;
static int buckets[BUCKETS]; /* index of the first entry + 1 */
static int *native_entry;    /* by native index: the entry's index, -1 = its get_info has not succeeded yet */
static int native_room;
static pthread_mutex_t catalogue_lock = PTHREAD_MUTEX_INITIALIZER;

static unsigned bucket_of_name(const char *name, int class)
{
    unsigned hash = 2166136261u ^ (unsigned)class;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash % BUCKETS;
}

static struct catalogue_entry *entry(int index)
{
    return &blocks[index / BLOCK_ENTRIES][index % BLOCK_ENTRIES];
}

const struct catalogue_entry *catalogue_at(int index)
{
    return index >= 0 && index < __atomic_load_n(&entry_count, __ATOMIC_ACQUIRE) ? entry(index) : NULL;
}

static int find(const char *name, int class)
{
    for (int at = __atomic_load_n(&buckets[bucket_of_name(name, class)], __ATOMIC_ACQUIRE); at;) {
        const struct catalogue_entry *e = entry(at - 1);
        if (e->class == class && strcmp(e->name, name) == 0)
            return at - 1;
        at = e->same_hash;
    }
    return -1;
}

/* Returns the new entry's index, or -1: no memory, or the name and class are there already. */
static int enter(const struct catalogue_entry *fresh)
{
    int index = entry_count;
    if (find(fresh->name, fresh->class) >= 0 || index >= BLOCKS * BLOCK_ENTRIES)
        return -1;
    if (!blocks[index / BLOCK_ENTRIES])
        blocks[index / BLOCK_ENTRIES] = calloc(BLOCK_ENTRIES, sizeof(struct catalogue_entry));
    if (!blocks[index / BLOCK_ENTRIES])
        return -1;
    int *bucket = &buckets[bucket_of_name(fresh->name, fresh->class)];
    *entry(index) = *fresh;
    entry(index)->same_hash = *bucket;
    __atomic_store_n(bucket, index + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&entry_count, index + 1, __ATOMIC_RELEASE);
    return index;
}

static int native_class(enum variable_class class)
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

static void own_enter(const struct variable *variable)
{
    enum variable_class class = (enum variable_class)variable->record.class;
    bool differs = class == VARIABLE_COUNTER || class == VARIABLE_AGGREGATE || class == VARIABLE_TIMER;
    bool watermark = class == VARIABLE_HIGHWATERMARK || class == VARIABLE_LOWWATERMARK;
    struct catalogue_entry fresh = {
        .own = variable,
        .native_index = -1,
        .name = (char *)(uintptr_t)variable->record.name,
        .description = (char *)(uintptr_t)variable->description,
        .verbosity = MPI_T_VERBOSITY_USER_BASIC,
        .class = native_class(class),
        .datatype = class == VARIABLE_STATE ? native.int_ : native.unsigned_long_long,
        .enumtype = enumeration_of(variable->names),
        .bind = variable->record.bound ? MPI_T_BIND_MPI_COMM : MPI_T_BIND_NO_OBJECT,
        .readonly = !differs && !watermark,
        .continuous = !differs && !watermark,
        .atomic = differs,
    };
    enter(&fresh);
}

static char *text_copy(const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copy = malloc(bytes);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

static void native_enter(int index)
{
    char name[256] = "", description[4096] = "";
    int name_length = sizeof name, description_length = sizeof description;
    struct catalogue_entry fresh = {.native_index = index, .enumtype = MPI_T_ENUM_NULL};
    int result = DOOR(pvar_get_info, MPI_T_ERR_INVALID_INDEX, index, name, &name_length, &fresh.verbosity, &fresh.class,
                      &fresh.datatype, &fresh.enumtype, description, &description_length, &fresh.bind, &fresh.readonly,
                      &fresh.continuous, &fresh.atomic);
    if (result != MPI_SUCCESS || !name[0])
        return;
    fresh.name = text_copy(name);
    fresh.description = text_copy(description);
    if (fresh.name && fresh.description)
        native_entry[index] = enter(&fresh);
    if (native_entry[index] < 0) {
        free(fresh.name);
        free(fresh.description);
    }
}

static bool native_extend(int count)
{
    if (count <= native_room)
        return true;
    int *grown = realloc(native_entry, (size_t)count * sizeof *grown);
    if (!grown)
        return false;
    for (int i = native_room; i < count; i++)
        grown[i] = -1;
    native_entry = grown;
    native_room = count;
    return true;
}

int catalogue_refresh(void)
{
    pthread_mutex_lock(&catalogue_lock);
    if (entry_count == 0)
        for (size_t i = 0; i < variable_count; i++)
            own_enter(&variables[i]);
    int native_count = 0;
    if (DOOR(pvar_get_num, MPI_T_ERR_NOT_INITIALIZED, &native_count) == MPI_SUCCESS && native_extend(native_count))
        for (int i = 0; i < native_count; i++)
            if (native_entry[i] < 0)
                native_enter(i);
    int count = entry_count;
    pthread_mutex_unlock(&catalogue_lock);
    return count;
}

int catalogue_find(const char *name, int class)
{
    int index = find(name, class);
    if (index < 0) {
        catalogue_refresh();
        index = find(name, class);
    }
    return index;
}

int catalogue_of_native(int native_index)
{
    int index = -1;
    pthread_mutex_lock(&catalogue_lock);
    if (native_index >= 0 && native_index < native_room)
        index = native_entry[native_index];
    pthread_mutex_unlock(&catalogue_lock);
    return index;
}
