#include "registry/objectnumbers.h"

#include "registry/commmap.h"
#include "format/label.h"
#include "site/hide.h"

#include <string.h>

/* The maps hold pointers, but these are never followed: they are number and unit. */
static struct comm *numbers_pointer(struct object object)
{
    _Static_assert(sizeof(uintptr_t) == sizeof(uint64_t), "there is room for both");
    return (struct comm *)(uintptr_t)((uint64_t)object.unit << 32 | object.number);
}

struct object objects_find(const struct objects *objects, uint64_t handle)
{
    struct comm *comm = comm_map_find(&objects->comms, handle);
    if (!comm)
        return (struct object){0};
    uint64_t numbers = (uintptr_t)comm_map_find(&objects->numbers, handle);
    return (struct object){comm, (uint32_t)numbers, (uint32_t)(numbers >> 32)};
}

void objects_set(struct objects *objects, uint64_t handle, struct object object)
{
    pthread_mutex_lock(&book.lock);
    if (comm_map_set(&objects->numbers, handle, object.comm ? numbers_pointer(object) : NULL) != 0 ||
        comm_map_set(&objects->comms, handle, object.comm) != 0)
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
    /* After the change, so that older results are not stored as newer ones. */
    __atomic_store_n(&objects->changes, objects->changes + 1, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&book.lock);
}

void objects_access(struct ledger *ledger, const struct objects *objects, uint64_t handle, struct accessed_last *last,
                    struct accessed *on)
{
    _Static_assert(ACCESSED_PLACES == 1 << 3, "the upper bits of the product are a place");
    struct accessed_entry *entry = &last->before[(handle * UINT64_C(0x9e3779b97f4a7c15)) >> 61];
    if (entry->handle != handle || !entry->on.view || !accessed_holds(objects, entry)) {
        uint64_t changes = __atomic_load_n(&objects->changes, __ATOMIC_ACQUIRE); /* before the lookup */
        on->object = objects_find(objects, handle);
        on->view = on->object.comm ? view_of(ledger, on->object.comm) : NULL;
        if (!on->view)
            return;
        *entry = (struct accessed_entry){handle, changes, *on};
    }
    *on = entry->on;
    last->last = *entry;
}

uint32_t objects_count(struct comm *comm, enum object_kind kind)
{
    uint32_t *count = kind == OBJECT_WINDOW ? &comm->windows_made : &comm->files_made;
    return __atomic_add_fetch(count, 1, __ATOMIC_RELAXED);
}

uint32_t objects_deleted(void)
{
    static uint32_t count;
    return __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED);
}

/* Keeps the end of a name, which tells it from others. */
static void object_name_fit(char to[OBJECT_NAME_BYTES], const char *name)
{
    size_t bytes = strlen(name), skip = 0;
    if (bytes >= OBJECT_NAME_BYTES) {
        memcpy(to, "...", 3);
        skip = 3;
        name += bytes - (OBJECT_NAME_BYTES - 1 - skip);
        while ((*name & 0xc0) == 0x80) /* not inside of a character */
            name++;
    }
    label_clean(to + skip, OBJECT_NAME_BYTES - skip, name, OBJECT_NAME_BYTES);
}

void objects_name(enum object_kind kind, uint32_t slot, uint32_t number, uint64_t ticks, const char *name)
{
    static uint32_t names;
    uint64_t offset;
    if (__atomic_load_n(&names, __ATOMIC_RELAXED) >= OBJECT_NAMES_MOST ||
        __atomic_fetch_add(&names, 1, __ATOMIC_RELAXED) >= OBJECT_NAMES_MOST)
        return;
    struct object_record *record = run_alloc(&book.run, sizeof *record, &offset);
    if (!record || !offset)
        return;
    record->kind = kind;
    record->slot = slot;
    record->number = number;
    record->ticks = ticks;
    if (hides(kind == OBJECT_WINDOW ? HIDE_COMMUNICATORS : HIDE_FILES))
        hide_path(record->name, sizeof record->name, name);
    else
        object_name_fit(record->name, name);
    run_link(&book.run, &book.run.header->first_object, &record->next, offset);
}
