#include "dump/pathlist.h"

#include "format/pythonplace.h"
#include "job/jsonvalue.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <jansson.h>

static json_t *pathlist_line_json(const struct symbol_line *line)
{
    return json_pack("{s:o, s:o, s:o}", "function", text_json(line->function), "file", text_json(line->file), "line",
                     line->line ? json_integer(line->line) : json_null());
}

static json_t *build_id_json(const struct module_record *module)
{
    char text[2 * MODULE_BUILD_ID_BYTES + 1] = "";
    for (uint32_t i = 0; i < module->build_id_bytes; i++)
        sprintf(text + 2 * i, "%02x", module->build_id[i]);
    return text[0] ? json_string(text) : json_null();
}

static const struct symbol_place *pathlist_place_find(struct symbols *symbols, const struct run_reader *reader,
                                                      uint64_t frame)
{
    const struct module_record *record = run_reader_module(reader, frame);
    if (!record)
        return NULL;
    struct module module = {.end = UINT64_MAX,
                            .path = record->path,
                            .build_id = record->build_id,
                            .build_id_bytes = record->build_id_bytes};
    /* in the call, not after it */
    return symbols_look_up(symbols, &module, reader->header.program, (frame & PATH_OFFSET_MASK) - 1);
}

/* A frame is a return address. In an inlined function it also has the calls around it. */
static json_t *pathlist_frame_json(struct symbols *symbols, const struct run_reader *reader, uint64_t frame)
{
    static const struct symbol_line unknown;
    const struct module_record *module = run_reader_module(reader, frame);
    const struct symbol_place *place = pathlist_place_find(symbols, reader, frame);
    json_t *json = pathlist_line_json(place ? &place->lines[0] : &unknown);
    size_t around = place && place->count ? place->count - 1 : 0;
    const char *path = module ? python_place_file(module->path) : NULL;
    json_object_set_new(json, "inlined_into", JSON_LIST(i, around, pathlist_line_json(&place->lines[i + 1])));
    json_object_set_new(json, "module", text_json(path));
    json_object_set_new(json, "build_id", module ? build_id_json(module) : json_null());
    json_object_set_new(json, "offset", json_integer((json_int_t)(frame & PATH_OFFSET_MASK)));
    return json;
}

static json_t *flags_json(const struct path_record *path)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{PATH_CUT, "cut"}, {PATH_UNKNOWN, "unknown"}, {PATH_ELSEWHERE, "elsewhere"}};
    json_t *json = json_array();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (path->flags & names[i].bit)
            json_array_append_new(json, json_string(names[i].name));
    return json;
}

static json_t *pathlist_path_json(struct symbols *symbols, const struct run_reader *reader,
                                  const struct path_record *path)
{
    return json_pack("{s:i, s:o, s:o, s:o}", "number", (int)path->number, "function",
                     path->kind ? json_string(run_reader_call_name(reader, path->kind)) : json_null(), "flags",
                     flags_json(path), "frames",
                     JSON_LIST(i, path->frames, pathlist_frame_json(symbols, reader, path->frame[i])));
}

static json_t *pathlist_process_json(struct symbols *symbols, const struct run_reader *reader)
{
    int32_t rank = run_rank(&reader->header);
    json_t *paths = json_array();
    for (uint32_t number = 1; number < reader->path_count; number++) {
        const struct path_record *path = run_reader_path_of(reader, number);
        if (path)
            json_array_append_new(paths, pathlist_path_json(symbols, reader, path));
    }
    return json_pack("{s:o, s:i, s:o}", "rank", rank >= 0 ? json_integer(rank) : json_null(), "pid",
                     (int)reader->header.pid, "paths", paths);
}

static json_t *pathlist_job_json(const struct run_job *job)
{
    struct symbols *symbols = symbols_open(job->names);
    json_t *processes = symbols ? json_array() : NULL;
    for (size_t i = 0; symbols && i < job->file_count; i++) {
        json_array_append_new(processes, pathlist_process_json(symbols, run_job_file(job, i)));
        run_reader_rest(&job->files[i]);
    }
    symbols_close(symbols);
    return json_pack("{s:o}", "processes", processes);
}

int pathlist_write_json(const struct run_dir *dir, FILE *out)
{
    json_t *jobs = json_array();
    bool good = true;
    for (size_t i = 0; good && i < dir->job_count; i++)
        good = json_array_append_new(jobs, pathlist_job_json(&dir->jobs[i])) == 0;
    json_t *document = json_pack("{s:i, s:s, s:o}", "version", 1, "mpit", MPIT_VERSION, "jobs", jobs);
    good = good && document && json_dumpf(document, out, JSON_INDENT(1)) == 0 && putc('\n', out) != EOF;
    json_decref(document);
    return good ? 0 : -1;
}
