#include "walk.h"

#include "jobfile/jobindex.h"
#include "jobfile/summaryfile.h"
#include "reader/readergaps.h"
#include "replay/replay.h"
#include "replay/replaypart.h"
#include "format/samples.h"
#include "summary/summary.h"

#include <stdlib.h>
#include <string.h>

/* What is read goes in here, so that nothing is left out by the compiler. */
static volatile uint64_t sink;

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void texts_walk(const struct run_reader *reader)
{
    for (size_t i = 0; i < reader->comm_count; i++)
        if (reader->comms[i]) {
            require(reader->comms[i]->slot == i && reader->comms[i]->parent < reader->comm_count);
            sink += strlen(reader->comms[i]->name) + strlen(reader->comms[i]->label);
        }
    for (size_t i = 0; i < reader->variable_count; i++)
        sink += strlen(reader->variables[i].name) + strlen(reader->variables[i].unit);
    for (unsigned kind = 0; kind < reader->call_count; kind++)
        sink += strlen(run_reader_call_name(reader, kind));
    struct clock_sync syncs[CLOCK_SYNCS_MOST];
    size_t sync_count = run_reader_clock_syncs(reader, syncs);
    for (size_t i = 0; i < sync_count; i++)
        sink += syncs[i].ticks;
    sink += strlen(reader->header.host) + strlen(reader->header.mpi) + strlen(reader->header.program);
}

static void tallies_walk(const struct run_reader *reader)
{
    for (size_t i = 0; i < reader->block_count; i++) {
        const uint64_t *cells = tally_cells(&reader->blocks[i]);
        require(reader->blocks[i].thread < reader->thread_count);
        for (size_t cell = 0; cell < reader->blocks[i].cells; cell++)
            sink += cells[cell];
    }
    for (size_t i = 0; i < reader->object_count; i++)
        sink += strlen(reader->objects[i]->name) +
                run_reader_comm_at(reader, reader->objects[i]->slot, reader->objects[i]->ticks);
    for (uint32_t id = 0; id < reader->instrument_count; id++) {
        const struct instrument_record *record = run_reader_instrument(reader, id);
        if (!record)
            continue;
        const uint64_t *values = run_reader_values(reader, record);
        for (uint32_t i = 0; values && i < record->count + (uint32_t)INSTRUMENT_EXTREMES; i++)
            sink += values[i];
        for (int64_t value = -1; value < 4; value++) {
            const char *item = run_reader_item(reader, record, value);
            sink += item ? strlen(item) : 0;
        }
    }
}

static void events_walk(const struct run_reader *reader)
{
    for (uint32_t thread = 0; thread < reader->thread_count; thread++) {
        struct event_cursor cursor;
        uint64_t events = 0, places = 0;
        for (size_t i = 0; i < reader->chunk_count; i++)
            places += reader->chunks[i]->capacity;
        event_cursor_open(&cursor, reader, thread);
        for (const struct event *event; (event = event_cursor_next(&cursor)); events++) {
            uint32_t comm = run_reader_comm(reader, event);
            require(events < places && comm < reader->comm_count + 1);
            sink += event->begin + comm;
        }
        require(cursor.missing <= cursor.end);
        event_cursor_close(&cursor);
        char cause[GAP_CAUSE_BYTES] = "";
        run_gap_cause(reader, &(struct run_gap){.thread = thread, .end = cursor.end, .count = cursor.end}, cause);
        require(cause[0] && memchr(cause, '\0', sizeof cause));
    }
}

static void samples_walk(const struct run_reader *reader)
{
    uint32_t streams = run_reader_sample_streams(reader);
    for (uint32_t stream = 0; stream < streams && stream < 64; stream++) {
        struct sample_cursor cursor;
        uint64_t samples = 0;
        if (sample_cursor_open(&cursor, reader, stream) == 0)
            for (const struct sample *sample; (sample = sample_cursor_next(&cursor)); samples++) {
                require(sample->frames <= SAMPLE_FRAMES_MOST && sample->comm < reader->comm_count + 1);
                require(samples < reader->bytes && sample->period_ns &&
                        memchr(sample->name, '\0', sizeof sample->name));
                for (unsigned i = 0; i < sample->frames; i++) {
                    const struct module *module = sample_cursor_module(&cursor, sample->pcs[i]);
                    require(!module || (module->begin < module->end && module->build_id_bytes <= SAMPLE_BUILD_ID_MOST));
                    sink += module ? strlen(module->path) + module->build_id[0] : 0;
                }
            }
        sample_cursor_close(&cursor);
    }
}

static bool half_has_call(const void *data, const struct event *call, const struct event_extension *more)
{
    (void)data;
    return (call->begin ^ event_kind(call) ^ (more ? more->duration : 0)) % 4 != 0;
}

static bool half_has_comm(const void *data, uint32_t number)
{
    (void)data;
    return number % 2 == 1;
}

/* Some of the calls, counted anew. */
static void part_walk(const struct run_reader *reader)
{
    struct replay_part part;
    char error[512] = "";
    if (replay_part_open(&part, reader, &(struct replay_choice){NULL, half_has_call, half_has_comm}, error,
                         sizeof error) == 0)
        tallies_walk(&part.reader);
    else
        require(error[0] != '\0');
    replay_part_close(&part);
}

static void reader_walk(struct run_reader *reader)
{
    struct summary summary = {0};
    char report[4096];
    texts_walk(reader);
    tallies_walk(reader);
    events_walk(reader);
    samples_walk(reader);
    sink += (uint64_t)replay_verify(reader, report, sizeof report);
    part_walk(reader);
    if (summary_of_run(&summary, reader) == 0) {
        size_t bytes;
        void *packed = summary_pack(&summary, &bytes);
        free(packed);
    }
    summary_release(&summary);
}

static void part_of_file_walk(const char *path, struct run_extent extent)
{
    struct run_reader reader;
    if (run_reader_open_part(&reader, path, extent) != 0) {
        require(reader.error[0] != '\0');
        return;
    }
    reader_walk(&reader);
    run_reader_close(&reader);
}

static void summary_walk(const char *path, struct run_extent extent)
{
    struct summary summary;
    char error[128] = "";
    uid_t owner;
    if (summary_part_read(&summary, path, extent, &owner, error) == 0)
        summary_release(&summary);
    else
        require(error[0] != '\0');
}

void run_walk(const char *path)
{
    struct job_index index;
    char error[128] = "";
    enum job_index_kind kind = job_index_read(&index, path, (struct run_extent){0}, error);
    require(kind != JOB_INDEX_BROKEN || error[0] != '\0');
    if (kind == JOB_INDEX_NONE)
        part_of_file_walk(path, (struct run_extent){0});
    if (kind != JOB_INDEX_READ)
        return;
    for (size_t i = 0; i < index.count; i++) {
        const struct section_entry *entry = &index.list[i];
        (entry->kind == SECTION_PROCESS ? part_of_file_walk : summary_walk)(path, job_index_extent(&index, entry));
    }
    job_index_release(&index);
}
