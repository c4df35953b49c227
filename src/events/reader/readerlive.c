#include "reader/readercomms.h"
#include "reader/runmap.h"

#include <string.h>

/* The header fields that lead to known objects, or describe them. */
static bool heads_are_same(const struct run_header *one, const struct run_header *other)
{
    return one->version == other->version && one->first_thread == other->first_thread &&
           one->first_comm == other->first_comm && one->first_block == other->first_block &&
           one->first_instrument == other->first_instrument && one->first_object == other->first_object &&
           one->first_provider == other->first_provider && one->first_stretch == other->first_stretch &&
           one->past == other->past && one->comm_changes == other->comm_changes && one->counters == other->counters &&
           one->variables == other->variables && one->variable_count == other->variable_count &&
           one->calls == other->calls && one->call_count == other->call_count && one->gaps == other->gaps &&
           one->clock_syncs == other->clock_syncs && one->first_path == other->first_path;
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
    if (reader->file) /* a compact one was complete when it was made */
        return true;
    reader_header_copy(&look);
    look.header.file_bytes = reader->bytes; /* nothing after that was found */
    if (run_reader_is_torn(reader) || reader_header_check(&look) != 0 || !heads_are_same(&look.header, &reader->header))
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

uid_t run_reader_owner(const struct run_reader *reader)
{
    return reader->map ? reader->map->owner : (uid_t)-1;
}

bool run_reader_is_torn(const struct run_reader *reader)
{
    return reader->map && reader->map->torn;
}
