#include "registry/paths.h"

#include "base/pages.h"
#include "format/pythonplace.h"
#include "base/signals.h"
#include "site/hide.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>

/* By hash: records of paths. The table doubles when it is three quarters full. */
static struct {
    const struct path_record **places;
    uint32_t room, used;
} table;
static const struct module_record *modules[PATH_MODULES_MOST];
static uint32_t module_count;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void paths_forget(void)
{
    pages_unmap(table.places, table.room * sizeof *table.places);
    table.places = NULL;
    table.room = table.used = 0;
    module_count = 0;
}

static uint64_t frames_hash(uint32_t kind, uint32_t flags, const uint64_t *frame, uint32_t count)
{
    uint64_t hash = kind * UINT64_C(0x9e3779b97f4a7c15) + flags;
    for (uint32_t i = 0; i < count; i++) {
        hash = (hash ^ frame[i]) * UINT64_C(0xc2b2ae3d27d4eb4f);
        hash ^= hash >> 29;
    }
    return hash;
}

static bool is_path(const struct path_record *record, const struct path_frames *frames)
{
    return record->kind == frames->kind && record->flags == frames->flags && record->frames == frames->count &&
           memcmp(record->frame, frames->frame, frames->count * sizeof frames->frame[0]) == 0;
}

/* The place of the path in the table, or the free place where it belongs. */
static const struct path_record **path_place_find(const struct path_frames *frames)
{
    uint64_t at = frames_hash(frames->kind, frames->flags, frames->frame, frames->count);
    while (table.places[at & (table.room - 1)] && !is_path(table.places[at & (table.room - 1)], frames))
        at++;
    return &table.places[at & (table.room - 1)];
}

static bool table_extend(void)
{
    uint32_t room = table.room ? 2 * table.room : 256;
    if (4 * (table.used + 1) <= 3 * table.room)
        return true;
    if (!run_memory_take(&book.run, room * sizeof *table.places))
        return false;
    const struct path_record **places = pages_map(room * sizeof *places);
    if (!places) {
        run_memory_give(&book.run, room * sizeof *table.places);
        return false;
    }
    for (uint32_t i = 0; i < table.room; i++) {
        const struct path_record *record = table.places[i];
        if (!record)
            continue;
        uint64_t at = frames_hash(record->kind, record->flags, record->frame, record->frames);
        while (places[at & (room - 1)])
            at++;
        places[at & (room - 1)] = record;
    }
    run_memory_give(&book.run, table.room * sizeof *table.places);
    pages_unmap(table.places, table.room * sizeof *table.places);
    table.places = places;
    table.room = room;
    return true;
}

/* Writes the record of a new path. NULL: there is no room for it. */
static const struct path_record *record_make(const struct path_frames *frames)
{
    uint64_t offset;
    size_t bytes = sizeof(struct path_record) + frames->count * sizeof frames->frame[0];
    if (table.used + 1 >= EVENT_PATHS_MOST || !run_fits(&book.run, bytes) || !table_extend())
        return NULL;
    struct path_record *record = run_alloc(&book.run, bytes, &offset);
    if (!record)
        return NULL;
    record->number = table.used + 1;
    record->kind = (uint16_t)frames->kind;
    record->flags = (uint16_t)frames->flags;
    record->frames = frames->count;
    memcpy(record->frame, frames->frame, frames->count * sizeof frames->frame[0]);
    run_link(&book.run, &book.run.header->first_path, &record->next, offset);
    *path_place_find(frames) = record;
    __atomic_store_n(&table.used, table.used + 1, __ATOMIC_RELEASE); /* paths_last */
    return record;
}

uint32_t path_number(const struct path_frames *frames)
{
    static const struct path_frames others = {.kind = CALL_NONE};
    uint32_t number = 0;
    pthread_mutex_lock(&lock);
    if (table.used || record_make(&others)) { /* the first one is PATH_OTHERS */
        const struct path_record *record = *path_place_find(frames);
        if (!record && !(record = record_make(frames)))
            run_lost(&book.run, LOSS_CALL_PATHS, 1);
        number = record ? record->number : PATH_OTHERS;
    }
    pthread_mutex_unlock(&lock);
    return number;
}

static bool is_module(const struct module_record *record, const struct path_module *module)
{
    return record->bias == module->bias && record->build_id_bytes == module->build_id_bytes &&
           memcmp(record->build_id, module->build_id, module->build_id_bytes) == 0 &&
           strncmp(record->path, module->path, sizeof record->path - 1) == 0;
}

static const struct module_record *module_make(const struct path_module *module)
{
    uint64_t offset;
    struct module_record *record =
        module_count < PATH_MODULES_MOST - 1 ? run_alloc(&book.run, sizeof *record, &offset) : NULL;
    if (!record)
        return NULL;
    record->number = module_count + 1;
    record->bias = module->bias;
    record->build_id_bytes = module->build_id_bytes;
    memcpy(record->build_id, module->build_id, module->build_id_bytes);
    memcpy(record->path, module->path, strnlen(module->path, sizeof record->path - 1));
    run_link(&book.run, &book.run.header->first_module, &record->next, offset);
    modules[module_count++] = record;
    return record;
}

uint32_t path_module_number(const struct path_module *module)
{
    const struct module_record *record = NULL;
    char room[HIDE_MODULE_BYTES];
    struct path_module shown = *module;
    shown.path = hide_module(module->path, book.run.header->program, room);
    pthread_mutex_lock(&lock);
    for (uint32_t i = module_count; !record && i-- > 0;)
        record = is_module(modules[i], &shown) ? modules[i] : NULL;
    if (!record)
        record = module_make(&shown);
    pthread_mutex_unlock(&lock);
    return record ? record->number : 0;
}

/* In a signal handler, too, so not with realloc. */
static bool counters_extend(struct ledger *ledger, uint32_t number)
{
    uint32_t count = ledger->path_count ? ledger->path_count : 512;
    while (count <= number)
        count *= 2;
    struct path_cells **paths = pages_map(count * sizeof *paths);
    if (!paths) {
        run_lost(&book.run, LOSS_NO_MEMORY, 1);
        return false;
    }
    if (ledger->path_count)
        memcpy(paths, ledger->paths, ledger->path_count * sizeof *paths);
    /* The old list stays, since other threads may read it (path_counters_look). All of them together are smaller than
     * the new one. Both stores pair with the loads there. */
    __atomic_store_n(&ledger->paths, paths, __ATOMIC_RELEASE);
    __atomic_store_n(&ledger->path_count, count, __ATOMIC_RELEASE);
    return true;
}

struct path_cells *path_counters(struct ledger *ledger, uint32_t number)
{
    uint64_t offset;
    if (number >= ledger->path_count && !counters_extend(ledger, number))
        return NULL;
    if (ledger->paths[number])
        return ledger->paths[number];
    struct tally_block *block =
        book_block_make(BLOCK_PATH, ledger->index, 0, number, sizeof(struct path_cells) / sizeof(uint64_t), &offset);
    if (!block)
        return NULL;
    book_block_link(block, offset);
    struct path_cells *cells = (struct path_cells *)(block + 1);
    __atomic_store_n(&ledger->paths[number], cells, __ATOMIC_RELEASE); /* path_counters_look */
    return cells;
}

const struct path_cells *path_counters_look(const struct ledger *ledger, uint32_t number)
{
    uint32_t count = __atomic_load_n(&ledger->path_count, __ATOMIC_ACQUIRE);
    struct path_cells **paths = __atomic_load_n(&ledger->paths, __ATOMIC_ACQUIRE);
    return number < count ? __atomic_load_n(&paths[number], __ATOMIC_ACQUIRE) : NULL;
}

uint32_t paths_last(void)
{
    return __atomic_load_n(&table.used, __ATOMIC_ACQUIRE);
}

/* Under the lock. */
static const struct module_record *frame_module(uint64_t frame)
{
    uint64_t number = frame >> PATH_MODULE_SHIFT;
    return number && number <= module_count ? modules[number - 1] : NULL;
}

/* A handler that calls MPI may need the lock for a new path. */
static void lock_held(sigset_t *before)
{
    signals_hold(before);
    pthread_mutex_lock(&lock);
}

static void lock_left(const sigset_t *before)
{
    pthread_mutex_unlock(&lock);
    pthread_sigmask(SIG_SETMASK, before, NULL);
}

void paths_find(struct path_found *list, size_t count)
{
    sigset_t before;
    lock_held(&before);
    for (uint32_t at = 0; at < table.room; at++)
        for (size_t i = 0; table.places[at] && i < count; i++)
            if (table.places[at]->number == list[i].number)
                list[i].record = table.places[at];
    for (size_t i = 0; i < count; i++)
        if (list[i].record && list[i].record->frames)
            list[i].module = frame_module(list[i].record->frame[0]);
    lock_left(&before);
}

uint64_t path_frame_address(uint64_t frame)
{
    sigset_t before;
    lock_held(&before);
    const struct module_record *module = frame_module(frame);
    lock_left(&before);
    if (module && is_python_place(module->path))
        return 0;
    return (frame & PATH_OFFSET_MASK) + (module ? module->bias : 0);
}
