#include "instruments/instrument.h"

#include "base/hash.h"
#include "instruments/instrumentrules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CATEGORIES_MAX = 1024 };

const struct mpit_interface *instrument_interface_table;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct instrument *instruments[INSTRUMENTS_MAX];
static uint32_t count; /* release, pairs with the acquire in instrument_count */
static struct instrument_enumeration *enumerations;
static struct instrument_category categories[CATEGORIES_MAX];
static int category_count;

void instrument_lock(void)
{
    pthread_mutex_lock(&lock);
}

void instrument_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

uint32_t instrument_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_ACQUIRE);
}

struct instrument *instrument_at(uint32_t number)
{
    return number < instrument_count() ? instruments[number] : NULL;
}

int instrument_category_count(void)
{
    return __atomic_load_n(&category_count, __ATOMIC_ACQUIRE);
}

const struct instrument_category *instrument_category_at(int number)
{
    return number >= 0 && number < instrument_category_count() ? &categories[number] : NULL;
}

static bool is_variable(const struct instrument *instrument)
{
    return instrument->kind == INSTRUMENT_VARIABLE || instrument->kind == INSTRUMENT_REGION;
}

/* Performance variables, control variables and events have separate names. */
static bool share_names(const struct instrument *a, const struct instrument *b)
{
    return a->kind == b->kind || (is_variable(a) && is_variable(b));
}

struct instrument *instrument_find(const char *name, uint32_t class)
{
    uint32_t hash = (uint32_t)hash_text(HASH_BEGIN, name);
    for (uint32_t i = 0; i < instrument_count(); i++) {
        struct instrument *at = instruments[i];
        if (at->hash == hash && is_variable(at) && (at->classes & 1u << class) && strcmp(at->name, name) == 0)
            return at;
    }
    return NULL;
}

/* ---- the register, under its lock -------------------------------------------------------------------------------- */

static char *text_copy(const char *text, size_t most)
{
    size_t bytes = text ? strnlen(text, most) : 0;
    char *copy = malloc(bytes + 1);
    if (copy) {
        if (bytes)
            memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

static int category_find(const char *path)
{
    for (int i = 0; i < category_count; i++)
        if (strcmp(categories[i].path, path) == 0)
            return i;
    return -1;
}

/* Returns -1 without room or memory. */
static int category_enter(const char *path, const char *description)
{
    if (category_count == CATEGORIES_MAX)
        return -1;
    struct instrument_category fresh = {text_copy(path, SIZE_MAX), text_copy(description, MPIT_DESCRIPTION_MAX)};
    if (!fresh.path || !fresh.description)
        return -1;
    categories[category_count] = fresh;
    __atomic_store_n(&category_count, category_count + 1, __ATOMIC_RELEASE);
    return category_count - 1;
}

static int category_of(const char *name, const char *component)
{
    char made[INSTRUMENT_COMPONENT_BYTES + 32];
    if (!name || !name[0])
        name = component[0] ? component : "instruments";
    int found = category_find(name);
    if (found >= 0)
        return found;
    snprintf(made, sizeof made, "Variables, events and regions of %.60s.", component[0] ? component : "the program");
    return category_enter(name, made);
}

static const struct instrument_enumeration *enumeration_find(const char *name)
{
    const struct instrument_enumeration *e = enumerations;
    while (e && strcmp(e->name, name) != 0)
        e = e->next;
    return e;
}

static bool items_equal(const struct instrument_enumeration *known, const struct mpit_enumeration *given)
{
    if (known->count != given->count)
        return false;
    for (uint32_t i = 0; i < given->count; i++)
        if (known->items[i].value != given->items[i].value || strcmp(known->items[i].name, given->items[i].name) != 0)
            return false;
    return true;
}

static bool same_meaning(const struct instrument *a, const struct instrument *b)
{
    return a->kind == b->kind && a->class == b->class && a->type == b->type && a->count == b->count &&
           a->bind == b->bind && a->flags == b->flags && a->verbosity == b->verbosity && a->scope == b->scope &&
           a->names == b->names && a->capacity == b->capacity && a->bytes == b->bytes &&
           a->least.integer == b->least.integer && a->most.integer == b->most.integer &&
           strcmp(a->description, b->description) == 0;
}

/* The instrument that conflicts with `fresh`, or whose place it can have. */
static struct instrument *namesake(const struct instrument *fresh)
{
    for (uint32_t i = 0; i < count; i++) {
        struct instrument *at = instruments[i];
        if (at->hash == fresh->hash && share_names(at, fresh) && strcmp(at->name, fresh->name) == 0 &&
            (!is_variable(fresh) || (at->classes & fresh->classes)))
            return at;
    }
    return NULL;
}

static void instrument_free(struct instrument *instrument)
{
    free(instrument->name);
    free(instrument->description);
    free(instrument->text);
    free(instrument->elements);
    free(instrument);
}

/* Adds `fresh`, and takes it over, for `object`. *entered is its place, or its old one. */
static int instrument_enter(struct instrument *fresh, const char *description, void *object,
                            struct instrument **entered, char *error)
{
    struct instrument *old = namesake(fresh);
    fresh->description = text_copy(description, MPIT_DESCRIPTION_MAX);
    if (!fresh->description)
        return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory");
    if (old && instrument_is_active(old))
        return instrument_refuse(error, MPIT_ERR_DUPLICATE, "%s has already registered one of this name%s",
                                 old->component, is_variable(old) ? " and class" : "");
    if (old && !same_meaning(old, fresh))
        return instrument_refuse(
            error, MPIT_ERR_DUPLICATE,
            "%s registered one of this name with another definition, and the MPI_T index of that one is permanent",
            old->component);
    if (old) {
        instrument_free(fresh);
        fresh = old;
    } else {
        if (count == INSTRUMENTS_MAX)
            return instrument_refuse(error, MPIT_ERR_MEMORY, "%d are registered already, which is the limit",
                                     INSTRUMENTS_MAX);
        if (fresh->bind == MPIT_BIND_NONE && !instrument_instance_make(fresh, NULL))
            return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory for its values");
        fresh->number = count;
        instruments[count] = fresh;
        __atomic_store_n(&count, count + 1, __ATOMIC_RELEASE);
    }
    fresh->object = object;
    __atomic_store_n(&fresh->active, true, __ATOMIC_RELEASE);
    if (fresh->event)
        __atomic_store_n(&fresh->event->gone, false, __ATOMIC_RELEASE);
    *entered = fresh;
    return MPIT_OK;
}

/* The common part of all kinds. Under the lock. NULL: no memory. */
static struct instrument *instrument_make(enum instrument_kind kind, const char *name, const char *component,
                                          const char *category)
{
    struct instrument *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return NULL;
    fresh->kind = kind;
    fresh->name = text_copy(name, MPIT_NAME_MAX);
    fresh->count = 1;
    fresh->type = MPIT_TYPE_UNSIGNED_LONG_LONG;
    fresh->category = category_of(category, component);
    snprintf(fresh->component, sizeof fresh->component, "%s", component[0] ? component : "the program");
    if (!fresh->name) {
        free(fresh);
        return NULL;
    }
    fresh->hash = (uint32_t)hash_text(HASH_BEGIN, fresh->name);
    return fresh;
}

static uint32_t classes_of(const struct mpit_variable *v)
{
    uint32_t classes = 1u << v->class_;
    if (v->flags & MPIT_WITH_WATERMARKS)
        classes |= 1u << MPIT_CLASS_HIGHWATERMARK | 1u << MPIT_CLASS_LOWWATERMARK;
    return classes;
}

/* Common end of the registrations: `fresh` is added or freed. */
static int finish(struct instrument *fresh, const char *description, void *object, struct instrument **entered,
                  char *error)
{
    int result = instrument_enter(fresh, description, object, entered, error);
    if (result != MPIT_OK)
        instrument_free(fresh);
    instrument_unlock();
    return result;
}

/* The same for an object with cells. Sets its entry, and its cell if it is not bound. */
static int finish_cells(struct instrument *fresh, const char *description, void *object, void **entry,
                        struct mpit_cell **cell, char *error)
{
    int result = finish(fresh, description, object, &fresh, error);
    if (result != MPIT_OK)
        return result;
    *entry = fresh;
    if (fresh->bind == MPIT_BIND_NONE)
        __atomic_store_n(cell, fresh->instances->cells, __ATOMIC_RELEASE);
    return MPIT_OK;
}

/* Takes the lock on success. `finish` releases it. */
static int begin(struct instrument **fresh, enum instrument_kind kind, const char *name, const char *component,
                 const char *category, bool registered, char *error)
{
    int result = instrument_name_check(name, error);
    if (result != MPIT_OK)
        return result;
    if (registered)
        return instrument_refuse(error, MPIT_ERR_REGISTERED, "it is registered already");
    instrument_lock();
    *fresh = instrument_make(kind, name, component, category);
    if (*fresh)
        return MPIT_OK;
    instrument_unlock();
    return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory");
}

/* The enumeration of an object of the library. Adds it if needed. */
static int names_of(struct mpit_enumeration *given, const struct instrument_enumeration **names, char *error)
{
    *names = NULL;
    if (!given)
        return MPIT_OK;
    int result = given->entry ? MPIT_OK : instrument_enumeration_register(given, error);
    *names = given->entry;
    return result == MPIT_ERR_REGISTERED ? MPIT_OK : result;
}

int instrument_variable_register(struct mpit_variable *v, const char *component, char *error)
{
    struct instrument *fresh;
    const struct instrument_enumeration *names;
    int result = instrument_name_check(v->name, error)
                     ?: instrument_variable_check(v, error)
                     ?: names_of(v->names, &names, error)
                     ?: begin(&fresh, INSTRUMENT_VARIABLE, v->name, component, v->category, v->entry != NULL, error);
    if (result != MPIT_OK)
        return result;
    fresh->class = v->class_;
    fresh->classes = classes_of(v);
    fresh->type = v->type;
    fresh->count = v->count;
    fresh->bind = v->bind;
    fresh->flags = v->flags;
    fresh->verbosity = v->verbosity;
    fresh->names = names;
    return finish_cells(fresh, v->description, v, &v->entry, &v->cell, error);
}

int instrument_region_register(struct mpit_region *region, const char *component, char *error)
{
    struct instrument *fresh;
    int result = instrument_bind_check(region->bind, region->verbosity, error)
                     ?: begin(&fresh, INSTRUMENT_REGION, region->name, component, region->category,
                              region->entry != NULL, error);
    if (result != MPIT_OK)
        return result;
    fresh->classes = 1u << MPIT_CLASS_COUNTER | 1u << MPIT_CLASS_TIMER;
    fresh->bind = region->bind;
    fresh->verbosity = region->verbosity;
    return finish_cells(fresh, region->description, region, &region->entry, &region->cell, error);
}

static bool text_make(struct instrument *fresh, const struct mpit_control *control)
{
    fresh->text = calloc(2, control->capacity);
    if (fresh->text && control->initial.text)
        snprintf(fresh->text, control->capacity, "%s", control->initial.text);
    return fresh->text != NULL;
}

int instrument_control_register(struct mpit_control *control, const char *component, char *error)
{
    struct instrument *fresh;
    const struct instrument_enumeration *names;
    int result = instrument_name_check(control->name, error)
                     ?: instrument_control_check(control, error)
                     ?: names_of(control->names, &names, error)
                     ?: begin(&fresh, INSTRUMENT_CONTROL, control->name, component, control->category,
                              control->entry != NULL, error);
    if (result != MPIT_OK)
        return result;
    bool text = control->type == MPIT_TYPE_CHAR;
    fresh->type = control->type;
    fresh->scope = control->scope;
    fresh->bind = control->bind;
    fresh->verbosity = control->verbosity;
    fresh->names = names;
    if (text)
        fresh->capacity = control->capacity;
    else
        fresh->initial = control->initial;
    if (!text)
        fresh->least = control->least, fresh->most = control->most;
    if (text && !text_make(fresh, control)) {
        instrument_free(fresh);
        instrument_unlock();
        return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory for its text");
    }
    result = finish(fresh, control->description, control, &fresh, error);
    if (result != MPIT_OK)
        return result;
    control->entry = fresh;
    if (fresh->bind == MPIT_BIND_NONE)
        __atomic_store_n(&control->cell, &fresh->instances->cells->own, __ATOMIC_RELEASE);
    return MPIT_OK;
}

int instrument_event_register(struct mpit_event_type *event, const char *component, char *error)
{
    struct instrument *fresh;
    int result =
        instrument_event_check(event, error)
            ?: begin(&fresh, INSTRUMENT_EVENT, event->name, component, event->category, event->entry != NULL, error);
    if (result != MPIT_OK)
        return result;
    fresh->bind = event->bind;
    fresh->verbosity = event->verbosity;
    fresh->bytes = event->bytes;
    fresh->element_count = event->element_count;
    fresh->elements = calloc(event->element_count + 1u, sizeof *fresh->elements);
    if (!fresh->elements) {
        instrument_free(fresh);
        instrument_unlock();
        return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory for its elements");
    }
    for (uint32_t i = 0; i < event->element_count; i++)
        fresh->elements[i] = (struct mpit_element){event->elements[i].type, event->elements[i].offset,
                                                   text_copy(event->elements[i].name, MPIT_NAME_MAX)};
    return finish_cells(fresh, event->description, event, &event->entry, &event->cell, error);
}

static struct instrument_enumeration *enumeration_make(const struct mpit_enumeration *given)
{
    struct instrument_enumeration *fresh = calloc(1, sizeof *fresh);
    struct mpit_item *items = calloc(given->count, sizeof *items);
    bool whole = fresh && items;
    for (uint32_t i = 0; whole && i < given->count; i++) {
        items[i] = (struct mpit_item){given->items[i].value, text_copy(given->items[i].name, MPIT_NAME_MAX)};
        whole = items[i].name != NULL;
    }
    if (!whole) {
        free(items);
        free(fresh);
        return NULL;
    }
    fresh->name = text_copy(given->name, MPIT_NAME_MAX);
    fresh->description = text_copy(given->description, MPIT_DESCRIPTION_MAX);
    fresh->items = items;
    fresh->count = given->count;
    return fresh->name && fresh->description ? fresh : NULL;
}

int instrument_enumeration_register(struct mpit_enumeration *given, char *error)
{
    int result = instrument_name_check(given->name, error) ?: instrument_enumeration_check(given, error);
    if (result != MPIT_OK)
        return result;
    instrument_lock();
    const struct instrument_enumeration *known = enumeration_find(given->name);
    if (known && !items_equal(known, given)) {
        instrument_unlock();
        return instrument_refuse(error, MPIT_ERR_DUPLICATE, "one of this name is registered already, with other items");
    }
    if (!known) {
        struct instrument_enumeration *fresh = enumeration_make(given);
        if (fresh) {
            fresh->next = enumerations;
            __atomic_store_n(&enumerations, fresh, __ATOMIC_RELEASE);
        }
        known = fresh;
    }
    given->entry = (void *)(uintptr_t)known;
    instrument_unlock();
    if (!known)
        return instrument_refuse(error, MPIT_ERR_MEMORY, "out of memory");
    return MPIT_OK;
}

int instrument_category_register(struct mpit_category *given, char *error)
{
    char path[2 * MPIT_NAME_MAX + 2];
    int result = instrument_name_check(given->name, error);
    if (result != MPIT_OK)
        return result;
    bool below = given->parent && given->parent[0];
    const char *description = given->description ? given->description : "";
    int needed = snprintf(path, sizeof path, "%s%s%s", below ? given->parent : "", below ? "/" : "", given->name);
    if (needed >= (int)sizeof path)
        return instrument_refuse(error, MPIT_ERR_NAME, "its path is longer than %zu characters", sizeof path - 1);
    instrument_lock();
    bool orphan = below && category_find(given->parent) < 0;
    int known = orphan ? -1 : category_find(path);
    if (known >= 0) /* the same one: a library that was loaded again */
        result = strcmp(categories[known].description, description) == 0 ? MPIT_OK : MPIT_ERR_DUPLICATE;
    else if (!orphan && (known = category_enter(path, description)) < 0)
        result = MPIT_ERR_MEMORY;
    instrument_unlock();
    if (orphan)
        return instrument_refuse(error, MPIT_ERR_ARGUMENT, "its parent category \"%.63s\" is not registered",
                                 given->parent);
    if (result == MPIT_ERR_DUPLICATE)
        return instrument_refuse(error, result, "one of this name is registered already, with another definition");
    if (result != MPIT_OK)
        return instrument_refuse(error, result, "out of memory");
    given->entry = &categories[known];
    return MPIT_OK;
}

int instrument_remove(struct instrument *instrument, void *object, char *error)
{
    if (!instrument)
        return instrument_refuse(error, MPIT_ERR_ARGUMENT, "it is not registered");
    instrument_lock();
    bool right = instrument->object == object && instrument_is_active(instrument);
    if (right) {
        __atomic_store_n(&instrument->active, false, __ATOMIC_RELEASE);
        instrument->object = NULL;
        if (instrument->event)
            __atomic_store_n(&instrument->event->gone, true, __ATOMIC_RELEASE);
    }
    instrument_unlock();
    if (!right)
        return instrument_refuse(error, MPIT_ERR_ARGUMENT, "it is not registered");
    return MPIT_OK;
}
