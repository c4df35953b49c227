/* Windows and files: when they exist, and whether each operation on them ends. */
#include "check_deferred.h"
#include "check_happenings.h"

enum { ENDED_HERE = 1, ENDED_THERE };

/* A window or handle in a process. */
struct resource {
    bool created, destroyed, used, told;
};

struct operation {
    uint64_t begun, ended, bytes;
    struct check_place place;
    const struct process *process;
};

static struct map windows = {.element_size = sizeof(struct resource)};
static struct map accesses = {.element_size = sizeof(struct operation)};
static struct map locks = {.element_size = sizeof(struct operation)};
static struct map handles = {.element_size = sizeof(struct resource)};
static struct map transfers = {.element_size = sizeof(struct operation)};
static struct recent ended_accesses[RECENT_SLOTS];

static uint64_t in_process(const struct location *location, uint32_t reference)
{
    return (uint64_t)reference << 32 | location->process->id;
}

/* ---- windows ----------------------------------------------------------------------------------------------------- */

static struct member *window_member(struct location *location, const struct happening *happening,
                                    struct check_place place)
{
    const struct defined_window *window = defined(OTF2_MAPPING_RMA_WIN, happening->reference);
    return defined(OTF2_MAPPING_COMM, window->comm) ? comm_member(location, window->comm, place) : NULL;
}

static void window_use(struct location *location, const struct happening *happening, struct check_place place,
                       bool has_peer)
{
    const struct defined_window *window = defined(OTF2_MAPPING_RMA_WIN, happening->reference);
    struct resource *resource = map_at(&windows, happening->reference, location->process->id);
    const struct member *member = window_member(location, happening, place);
    resource->used = true;
    if (member && has_peer)
        comm_peer(location, member, window->comm, happening->peer, RULE_RMA_PEER, place);
    if (!resource->destroyed || resource->told)
        return;
    resource->told = true;
    check_found(RULE_RMA_WINDOW_LIFE, &place, "RmaWin %u is used after its process has destroyed it", window->id);
}

HAPPENING(window_judge)
{
    const struct defined_window *window = defined(OTF2_MAPPING_RMA_WIN, happening->reference);
    struct resource *resource = map_at(&windows, happening->reference, location->process->id);
    bool creates = happening->what == WINDOW_CREATED;
    if (!creates && happening->what != WINDOW_DESTROYED) {
        bool ends = happening->what == RMA_COLLECTIVE_ENDED && happening->op >= OTF2_COLLECTIVE_OP_CREATE_HANDLE;
        if (!ends) /* the operation that destroys it ends later */
            window_use(location, happening, place, happening->flag);
        return;
    }
    window_member(location, happening, place);
    if (!window->has_events)
        check_found(RULE_RMA_WINDOW_LIFE, &place, "RmaWin %u has no flag CREATE_DESTROY_EVENTS", window->id);
    else if (creates && (resource->created || resource->used))
        check_found(RULE_RMA_WINDOW_LIFE, &place, "RmaWin %u is %s its process creates it", window->id,
                    resource->created ? "created when" : "used before");
    else if (!creates && resource->destroyed)
        check_found(RULE_RMA_WINDOW_LIFE, &place, "RmaWin %u is destroyed a second time by its process", window->id);
    else if (!creates && !resource->created)
        check_defer(RULE_RMA_WINDOW_LIFE, location->process, NULL, place, "RmaWin %u is destroyed, but was not created",
                    window->id);
    resource->created |= creates;
    resource->destroyed |= !creates;
}

static void access_end(struct location *location, const struct happening *happening, struct check_place place)
{
    uint64_t key = in_process(location, happening->reference);
    bool here = happening->what == RMA_COMPLETED;
    struct operation *operation = map_find(&accesses, key, happening->id);
    if (!operation) {
        unsigned char before = recent_mark(ended_accesses, key, happening->id);
        if (here && before != ENDED_THERE)
            check_defer(RULE_RMA_COMPLETION_UNKNOWN, location->process, NULL, place,
                        "operation %" PRIu64 " on RmaWin %u %s", happening->id, happening->reference,
                        before ? "has completed before" : "was not issued");
        return;
    }
    if (++operation->ended < operation->begun)
        return;
    map_remove(&accesses, key, happening->id);
    recent_set(ended_accesses, key, happening->id, here ? ENDED_HERE : ENDED_THERE);
}

HAPPENING(rma_operation_judge)
{
    uint64_t key = in_process(location, happening->reference);
    window_use(location, happening, place, happening->what == RMA_ISSUED);
    if (happening->what == RMA_ISSUED) {
        struct operation *operation = map_at(&accesses, key, happening->id);
        if (!operation->begun++) {
            operation->place = place;
            operation->process = location->process;
        }
        check_figures.rma_operations++;
        recent_set(ended_accesses, key, happening->id, 0);
    } else if (happening->what == RMA_TESTED) {
        if (!map_find(&accesses, key, happening->id))
            check_defer(RULE_RMA_COMPLETION_UNKNOWN, location->process, NULL, place,
                        "operation %" PRIu64 " on RmaWin %u is tested, but is not pending", happening->id,
                        happening->reference);
    } else {
        access_end(location, happening, place);
    }
}

HAPPENING(lock_judge)
{
    uint64_t key = in_process(location, happening->reference), b = (uint64_t)happening->peer << 32 ^ happening->id;
    struct operation *lock = map_find(&locks, key, b);
    window_use(location, happening, place, happening->peer != OTF2_UNDEFINED_UINT32);
    if (happening->what == LOCK_ACQUIRED) {
        lock = map_at(&locks, key, b);
        if (!lock->begun++) {
            lock->place = place;
            lock->process = location->process;
        }
    } else if (!lock) {
        check_defer(RULE_RMA_LOCK, location->process, NULL, place, "lock %" PRIu64 " of RmaWin %u was not acquired",
                    happening->id, happening->reference);
    } else if (--lock->begun == 0) {
        map_remove(&locks, key, b);
    }
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static struct resource *io_handle_find(const struct location *location, OTF2_IoHandleRef id)
{
    const struct defined_io_handle *handle = defined(OTF2_MAPPING_IO_HANDLE, id);
    struct resource *resource = map_find(&handles, id, location->process->id);
    if (!resource) {
        resource = map_at(&handles, id, location->process->id);
        resource->created = handle && handle->pre_created;
    }
    return resource;
}

static void handle_use(const struct location *location, OTF2_IoHandleRef id, struct check_place place)
{
    struct resource *resource = io_handle_find(location, id);
    if (resource->created || resource->told)
        return;
    resource->told = true;
    check_defer(RULE_IO_HANDLE_LIFE, location->process, NULL, place, "IoHandle %u is used, but is not active%s", id,
                resource->destroyed ? " any more" : "");
}

HAPPENING(io_handle_judge)
{
    struct resource *resource = io_handle_find(location, happening->reference);
    if (happening->what == IO_CREATED) {
        if (happening->flag)
            handle_use(location, happening->peer, place);
        if (resource->created)
            check_found(RULE_IO_HANDLE_LIFE, &place, "IoHandle %u is active when it is created", happening->reference);
        resource->created = true;
        return;
    }
    handle_use(location, happening->reference, place);
    if (happening->what == IO_DESTROYED) {
        resource->destroyed = true;
        resource->created = resource->told = false;
    }
}

HAPPENING(io_operation_judge)
{
    uint64_t key = in_process(location, happening->reference);
    struct operation *operation = map_find(&transfers, key, happening->id);
    handle_use(location, happening->reference, place);
    if (happening->what == IO_BEGUN) {
        operation = map_at(&transfers, key, happening->id);
        if (!operation->begun++) {
            operation->place = place;
            operation->process = location->process;
        }
        operation->bytes = happening->bytes;
        check_figures.io_operations++;
        return;
    }
    if (!operation) {
        check_defer(RULE_IO_OPERATION_UNKNOWN, location->process, NULL, place,
                    "operation %" PRIu64 " on IoHandle %u is not pending", happening->id, happening->reference);
        return;
    }
    if (happening->what != IO_ENDED)
        return;
    if (!happening->flag && happening->bytes != OTF2_UNDEFINED_UINT64 && operation->bytes != OTF2_UNDEFINED_UINT64 &&
        operation->begun == 1 && happening->bytes > operation->bytes)
        check_found(RULE_IO_BYTES, &place, "%" PRIu64 " bytes of %" PRIu64 " asked for on IoHandle %u",
                    happening->bytes, operation->bytes, happening->reference);
    if (--operation->begun == 0)
        map_remove(&transfers, key, happening->id);
}

static void open_tell(const struct map *map, enum check_rule rule, const char *what)
{
    MAP_EACH(map, slot)
    {
        const struct operation *operation = slot->element;
        bool ends_somehow = operation->ended > 0; /* several operations of one id may have one end */
        if (!ends_somehow)
            check_found(process_is_complete(operation->process) ? rule : RULE_UNFINISHED, &operation->place,
                        "%s of %s %u does not end", what, rule == RULE_IO_NOT_COMPLETED ? "IoHandle" : "RmaWin",
                        (uint32_t)(slot->a >> 32));
    }
}

void accesses_finish(void)
{
    open_tell(&accesses, RULE_RMA_NOT_COMPLETED, "an operation");
    open_tell(&locks, RULE_RMA_LOCK, "a lock");
    open_tell(&transfers, RULE_IO_NOT_COMPLETED, "an operation");
}
