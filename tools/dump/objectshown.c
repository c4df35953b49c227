#include "dump/objectshown.h"

#include "calls.h"

#include <string.h>

/* If a call only begins a transfer, the number of bytes is in the record of its end. */
static bool call_moves(const char *name, unsigned class)
{
    size_t length = strlen(name);
    if (class == CLASS_RMA)
        return strncmp(name, "MPI_Win_", 8) != 0;
    if (length > 6 && strcmp(name + length - 6, "_begin") == 0)
        return false;
    return strncmp(name, "MPI_File_read", 13) == 0 || strncmp(name, "MPI_File_write", 14) == 0;
}

struct object_shown object_shown(const struct run_reader *file, const struct event *event, unsigned class,
                                 uint64_t ticks)
{
    if (class != CLASS_RMA && class != CLASS_IO)
        return (struct object_shown){.record = file->object_count};
    unsigned kind = event_kind(event);
    bool timed = ticks || !file->header.past; /* otherwise other communicators may have had the slot */
    uint32_t comm = timed ? run_reader_comm_at(file, event->comm, ticks) : 0;
    uint32_t number = event->tag > 0 ? (uint32_t)event->tag : 0;
    bool deleted = kind == CALL_MPI_File_delete; /* it has a name, and no number among files */
    enum object_kind what = class == CLASS_RMA ? OBJECT_WINDOW : deleted ? OBJECT_DELETED : OBJECT_FILE;
    return (struct object_shown){.what = class == CLASS_RMA ? "window" : "file",
                                 .number = deleted ? 0 : number,
                                 .record = run_reader_object(file, what, comm, number),
                                 .moves = kind >= RECORD_FIRST || call_moves(run_reader_call_name(file, kind), class)};
}

const char *object_shown_name(const struct run_reader *file, const struct object_shown *shown)
{
    return shown->record < file->object_count ? file->objects[shown->record]->name : NULL;
}

unsigned object_class_ended(unsigned kind)
{
    return kind == RECORD_RMA_DONE ? CLASS_RMA : kind == RECORD_IO_DONE ? CLASS_IO : CLASS_OTHER;
}
