/* The call paths of a run file, and the modules that they refer to. All are copies. */
#include "format/label.h"
#include "reader/readercomms.h"

#include <stdlib.h>
#include <string.h>

/* Makes a table of `count` pointers, by number. */
static bool numbers_room(void **table, size_t count)
{
    *table = calloc(count, sizeof(void *));
    return *table != NULL;
}

static int module_take(struct run_reader *reader, const struct module_record *record, uint64_t offset)
{
    uint32_t number = record ? record->number : 0;
    if (number == 0 || number >= PATH_MODULES_MOST || reader->modules[number] ||
        record->build_id_bytes > MODULE_BUILD_ID_BYTES)
        return reader_fail(reader, "is damaged: the record of a library at byte %llu is not valid",
                           (unsigned long long)offset);
    struct module_record *copy = malloc(sizeof *copy);
    if (!copy)
        return reader_fail(reader, "has more libraries than memory can hold");
    memcpy(copy, record, sizeof *copy);
    if (copy->build_id_bytes > MODULE_BUILD_ID_BYTES)
        copy->build_id_bytes = 0;
    if (!copy->path[0])
        memcpy(copy->path, reader->header.program, sizeof reader->header.program);
    copy->path[sizeof copy->path - 1] = '\0';
    text_tidy(copy->path, sizeof copy->path);
    reader->modules[number] = copy;
    return 0;
}

static int path_take(struct run_reader *reader, const struct path_record *record, uint64_t offset)
{
    uint32_t number = record ? record->number : 0, frames = record ? record->frames : 0;
    size_t bytes = sizeof *record + frames * sizeof record->frame[0];
    if (number == 0 || number >= EVENT_PATHS_MOST || frames > PATH_FRAMES_MOST || reader->paths[number] ||
        !reader_object(reader, offset, bytes))
        return reader_fail(reader, "is damaged: the call path at byte %llu is not valid", (unsigned long long)offset);
    struct path_record *copy = malloc(bytes);
    if (!copy)
        return reader_fail(reader, "has more call paths than memory can hold");
    memcpy(copy, record, bytes);
    copy->frames = frames;
    for (uint32_t i = 0; i < frames; i++) {
        uint64_t module = copy->frame[i] >> PATH_MODULE_SHIFT;
        if (module >= PATH_MODULES_MOST || !reader->modules[module])
            copy->frame[i] &= PATH_OFFSET_MASK;
    }
    reader->paths[number] = copy;
    if (number >= reader->path_count)
        reader->path_count = number + 1;
    return 0;
}

int reader_paths_find(struct run_reader *reader)
{
    void *modules = NULL, *paths = NULL;
    uint64_t module = reader->header.first_module, path = reader->header.first_path;
    bool good =
        (!module && !path) || (numbers_room(&modules, PATH_MODULES_MOST) && numbers_room(&paths, EVENT_PATHS_MOST));
    reader->modules = modules;
    reader->paths = paths;
    if (!good)
        return reader_fail(reader, "has more call paths than memory can hold");
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
    for (size_t i = 0; reader->paths && i < EVENT_PATHS_MOST; i++)
        free(reader->paths[i]);
    for (size_t i = 0; reader->modules && i < PATH_MODULES_MOST; i++)
        free(reader->modules[i]);
    free(reader->paths);
    free(reader->modules);
    reader->paths = NULL;
    reader->modules = NULL;
    reader->path_count = 0;
}

const struct path_record *run_reader_path_of(const struct run_reader *reader, uint32_t number)
{
    return number < reader->path_count ? reader->paths[number] : NULL;
}

const struct module_record *run_reader_module(const struct run_reader *reader, uint64_t frame)
{
    uint64_t number = frame >> PATH_MODULE_SHIFT;
    return reader->modules && number < PATH_MODULES_MOST ? reader->modules[number] : NULL;
}
