#include "reader/readercomms.h"
#include "reader/runmap.h"

#include <string.h>

/* The header fields that lead to known objects, or describe them. */
static bool heads_are_same(const struct run_header *one, const struct run_header *other)
{
    return one->version == other->version && one->first_thread == other->first_thread &&
           one->first_comm == other->first_comm && one->first_instrument == other->first_instrument &&
           one->first_object == other->first_object && one->first_provider == other->first_provider &&
           one->first_stretch == other->first_stretch && one->past == other->past &&
           one->comm_changes == other->comm_changes && one->counters == other->counters &&
           one->variables == other->variables && one->variable_count == other->variable_count &&
           one->calls == other->calls && one->call_count == other->call_count && one->gaps == other->gaps &&
           one->clock_syncs == other->clock_syncs && one->openmp == other->openmp && one->left == other->left;
}

/* True if the blocks that are new since then are of call paths. */
static bool only_paths_are_new(const struct run_reader *reader, uint64_t first_block)
{
    uint64_t offset = first_block;
    for (size_t steps = 0; offset != reader->header.first_block && steps < EVENT_PATHS_MOST; steps++) {
        const struct tally_block *block = offset ? reader_object(reader, offset, sizeof *block) : NULL;
        if (!block || block->kind != BLOCK_PATH)
            return false;
        offset = block->next;
    }
    return offset == reader->header.first_block;
}

/* The last call of a process may have been on a new path. The process may be gone when that is seen, and its file, too.
 * Then the figures that are known stay, and the header says how it ended. */
static bool paths_are_same(const struct run_reader *reader, const struct run_header *now)
{
    if (now->first_block == reader->header.first_block && now->first_path == reader->header.first_path)
        return true;
    bool ended = run_phase_is_end(now->phase) || now->phase == RUN_EXITED || now->phase == RUN_ABORTED;
    return ended && only_paths_are_new(reader, now->first_block);
}

void run_reader_relabel(struct run_reader *reader)
{
    for (uint64_t offset = reader->header.first_comm, steps = 0; offset && steps <= reader->slot_count; steps++) {
        const struct comm_record *record = reader_object(reader, offset, sizeof *record);
        uint32_t slot = record ? record->slot : UINT32_MAX;
        struct comm_record *copy =
            slot < reader->slot_count ? (struct comm_record *)(uintptr_t)reader->comms[slot] : NULL;
        if (!copy || reader->file)
            return;
        copy->flags = record->flags;
        copy->freed_ticks = record->freed_ticks;
        memcpy(copy->label, record->label, sizeof copy->label - 1); /* a NUL follows it */
        offset = record->next;
    }
}

bool run_reader_refresh(struct run_reader *reader)
{
    struct run_reader look = {.base = reader->base, .bytes = reader->bytes};
    if (reader->file) /* a packed run was complete when it was made */
        return true;
    reader_header_copy(&look);
    look.header.file_bytes = reader->bytes; /* nothing after that was found */
    if (run_reader_is_torn(reader) || reader_header_check(&look) != 0 ||
        !heads_are_same(&look.header, &reader->header) || !paths_are_same(reader, &look.header))
        return false;
    if (reader->header.comm_changes & 1)
        return false;
    reader->header = look.header;
    return true;
}

void run_reader_guard(void)
{
    run_map_guard();
}

struct run_extent run_reader_extent(const struct run_reader *reader)
{
    return reader->map ? reader->map->extent : (struct run_extent){0};
}

uid_t run_reader_owner(const struct run_reader *reader)
{
    return reader->map ? reader->map->owner : (uid_t)-1;
}

bool run_reader_is_torn(const struct run_reader *reader)
{
    return reader->map && reader->map->torn;
}
