#include "reader/readercomms.h"

#include <stdlib.h>
#include <string.h>

static bool object_is_sound(const struct object_record *record)
{
    return record && record->kind >= OBJECT_WINDOW && record->kind <= OBJECT_DELETED &&
           memchr(record->name, '\0', sizeof record->name);
}

int reader_objects_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_object;
    size_t most = reader->written / sizeof(struct object_record);
    if (most > OBJECT_NAMES_MOST)
        most = OBJECT_NAMES_MOST;
    if (offset && !(reader->objects = calloc(most + 1, sizeof *reader->objects)))
        return reader_fail(reader, "has more names than memory can hold");
    while (offset) {
        const struct object_record *record = reader_object(reader, offset, sizeof *record);
        if (!object_is_sound(record) || reader->object_count >= most)
            return reader_fail(reader, "is damaged: name record at byte %llu", (unsigned long long)offset);
        reader->objects[reader->object_count++] = record;
        offset = record->next;
    }
    return 0;
}

size_t run_reader_object(const struct run_reader *reader, enum object_kind kind, uint32_t comm, uint32_t number)
{
    bool named = number && (comm || kind == OBJECT_DELETED);
    for (size_t i = 0; named && i < reader->object_count; i++) {
        const struct object_record *record = reader->objects[i];
        if (record->number == number && record->kind == kind &&
            (kind == OBJECT_DELETED || run_reader_comm_at(reader, record->slot, record->ticks) == comm))
            return i;
    }
    return reader->object_count;
}
