/* The call paths of a run file, and the modules that they refer to. All are copies. */
#include "base/array.h"
#include "format/label.h"
#include "reader/readercomms.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* A table of pointers by number gets room for `number`. Most files have few of the numbers that are possible. */
static bool number_room(void **table, size_t *room, uint32_t number)
{
    enum { FIRST = 16 };
    if (number < *room)
        return true;
    size_t more = array_room(*room, FIRST, number + (size_t)1);
    void *longer = array_extend(*table, *room, more, sizeof(void *));
    if (!longer)
        return false;
    *table = longer;
    *room = more;
    return true;
}

static struct module_record *module_of(const struct run_reader *reader, uint64_t number)
{
    return number < reader->module_count ? reader->modules[number] : NULL;
}

static int module_take(struct run_reader *reader, const struct module_record *record, uint64_t offset)
{
    uint32_t number = record ? record->number : 0;
    if (number == 0 || number >= PATH_MODULES_MOST || module_of(reader, number) ||
        record->build_id_bytes > MODULE_BUILD_ID_BYTES)
        return reader_fail(reader, "is damaged: the record of a library at byte %llu is not valid",
                           (unsigned long long)offset);
    struct module_record *copy = malloc(sizeof *copy);
    void *table = reader->modules;
    if (!copy || !number_room(&table, &reader->module_count, number)) {
        free(copy);
        return reader_fail(reader, "has more libraries than memory can hold");
    }
    reader->modules = table;
    memcpy(copy, record, sizeof *copy);
    if (copy->build_id_bytes > MODULE_BUILD_ID_BYTES)
        copy->build_id_bytes = 0;
    if (!copy->path[0])
        memcpy(copy->path, reader->header.program, sizeof reader->header.program);
    copy->path[sizeof copy->path - 1] = '\0';
    text_tidy(copy->path, sizeof copy->path);
    /* Of the room for a path only its text is kept, as a job may have very many files. */
    struct module_record *shorter = realloc(copy, offsetof(struct module_record, path) + strlen(copy->path) + 1);
    reader->modules[number] = shorter ? shorter : copy;
    return 0;
}

static int path_take(struct run_reader *reader, const struct path_record *record, uint64_t offset)
{
    uint32_t number = record ? record->number : 0, frames = record ? record->frames : 0;
    size_t bytes = sizeof *record + frames * sizeof record->frame[0];
    if (number == 0 || number >= EVENT_PATHS_MOST || frames > PATH_FRAMES_MOST || run_reader_path_of(reader, number) ||
        !reader_object(reader, offset, bytes))
        return reader_fail(reader, "is damaged: the call path at byte %llu is not valid", (unsigned long long)offset);
    struct path_record *copy = malloc(bytes);
    void *table = reader->paths;
    if (!copy || !number_room(&table, &reader->path_count, number)) {
        free(copy);
        return reader_fail(reader, "has more call paths than memory can hold");
    }
    reader->paths = table;
    memcpy(copy, record, bytes);
    copy->frames = frames;
    for (uint32_t i = 0; i < frames; i++) {
        uint64_t module = copy->frame[i] >> PATH_MODULE_SHIFT;
        if (!module_of(reader, module))
            copy->frame[i] &= PATH_OFFSET_MASK;
    }
    reader->paths[number] = copy;
    return 0;
}

int reader_paths_find(struct run_reader *reader)
{
    uint64_t module = reader->header.first_module, path = reader->header.first_path;
    while (module) {
        const struct module_record *record = reader_object(reader, module, sizeof *record);
        if (module_take(reader, record, module) != 0)
            return -1;
        module = record->next;
    }
    while (path) {
        const struct path_record *record = reader_object(reader, path, sizeof *record);
        if (path_take(reader, record, path) != 0)
            return -1;
        path = record->next;
    }
    return 0;
}

void reader_paths_release(struct run_reader *reader)
{
    for (size_t i = 0; i < reader->path_count; i++)
        free(reader->paths[i]);
    for (size_t i = 0; i < reader->module_count; i++)
        free(reader->modules[i]);
    free(reader->paths);
    free(reader->modules);
    reader->paths = NULL;
    reader->modules = NULL;
    reader->path_count = reader->module_count = 0;
}

const struct path_record *run_reader_path_of(const struct run_reader *reader, uint32_t number)
{
    return number < reader->path_count ? reader->paths[number] : NULL;
}

const struct module_record *run_reader_module(const struct run_reader *reader, uint64_t frame)
{
    return module_of(reader, frame >> PATH_MODULE_SHIFT);
}
