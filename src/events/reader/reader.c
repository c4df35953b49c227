#include "reader/reader.h"

#include "base/array.h"
#include "clock/clocksync.h"
#include "format/packedrun.h"
#include "format/counter.h"
#include "format/label.h"
#include "reader/readercomms.h"
#include "reader/readergaps.h"
#include "reader/runmap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

enum { MAX_THREADS = 1 << 20 };

const struct packed_codec *reader_packed;

int reader_fail(struct run_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reader->error, sizeof reader->error, format, args);
    va_end(args);
    text_tidy(reader->error, sizeof reader->error); /* names in it are from the file */
    return -1;
}

/* The object of `size` bytes at `offset`, or NULL if it is not inside of a chunk. */
const void *reader_object(const struct run_reader *reader, uint64_t offset, uint64_t size)
{
    if (offset < RUN_PAGE_BYTES || offset % 8 || offset > reader->bytes || size > reader->bytes - offset)
        return NULL;
    return reader->base + offset;
}

bool reader_text_ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

int reader_header_check(struct run_reader *reader)
{
    struct run_header *header = &reader->header;
    if (reader->bytes < RUN_PAGE_BYTES)
        return reader_fail(reader, "is not an mpit run file (only %zu bytes long)", reader->bytes);
    if (memcmp(header->magic, RUN_MAGIC, sizeof header->magic) != 0)
        return reader_fail(reader, "is not an mpit run file (it does not begin with \"%s\")", RUN_MAGIC);
    if (header->byte_order != RUN_BYTE_ORDER)
        return reader_fail(reader, "was written on a machine of the other byte order");
    if (header->version != RUN_VERSION)
        return reader_fail(
            reader,
            "has format version %u, but this mpit reads version %d; use the mpit-dump of the mpit that recorded it",
            header->version, RUN_VERSION);
    if (header->header_bytes < sizeof *header || header->page_bytes != RUN_PAGE_BYTES)
        return reader_fail(reader, "has a damaged header (sizes %u and %u)", header->header_bytes, header->page_bytes);
    if (header->file_bytes < RUN_PAGE_BYTES || header->file_bytes % RUN_PAGE_BYTES)
        return reader_fail(reader, "has a damaged header (%llu bytes in use)", (unsigned long long)header->file_bytes);
    if (header->file_bytes > reader->bytes)
        return reader_fail(reader, "is truncated: %zu of %llu bytes", reader->bytes,
                           (unsigned long long)header->file_bytes);
    if (header->clock_kind != CLOCK_KIND_MONOTONIC && header->clock_kind != CLOCK_KIND_TSC)
        return reader_fail(reader, "has an unknown clock (%u)", header->clock_kind);
    if (!reader_text_ends(header->host, sizeof header->host) || !reader_text_ends(header->mpi, sizeof header->mpi) ||
        !reader_text_ends(header->boot, sizeof header->boot) ||
        !reader_text_ends(header->program, sizeof header->program) ||
        !reader_text_ends(header->filter, sizeof header->filter))
        return reader_fail(reader, "has a damaged header (a text has no end)");
    if (header->launched_as > INT32_MAX || header->launched_size > INT32_MAX)
        header->launched_as = header->launched_size = 0;
    if (header->clock_way > CLOCK_WAY_TCP || header->clock_trouble >= CLOCK_TROUBLE_COUNT)
        header->clock_way = header->clock_trouble = 0;
    reader->bytes = header->file_bytes; /* bytes after that were allocated and never published */
    return 0;
}

bool reader_chunk_fits(const struct chunk_header *chunk)
{
    uint64_t room = chunk->bytes - sizeof *chunk;
    if (chunk->kind == CHUNK_PACKED)
        return chunk->packed_bytes <= room && chunk->capacity && chunk->capacity <= chunk->packed_bytes / PACK_LEAST;
    if (chunk->kind == CHUNK_COMMS || chunk->kind == CHUNK_SAMPLES)
        return chunk->packed_bytes <= room;
    return chunk->kind == CHUNK_ARENA || chunk->kind == CHUNK_FREE || chunk->kind == CHUNK_GONE ||
           (chunk->capacity && chunk->capacity <= room / sizeof(struct event));
}

/* `taken` is a copy of its header. */
int reader_chunk_add(struct run_reader *reader, const struct chunk_header *chunk, const struct chunk_header *taken)
{
    if (!ARRAY_GROWN(reader->chunks, reader->chunk_count) || !ARRAY_GROWN(reader->chunk_threads, reader->chunk_count))
        return reader_fail(reader, "has more chunks than memory can hold");
    reader->chunk_threads[reader->chunk_count] =
        taken->kind == CHUNK_FREE ? ANY_THREAD : taken->thread; /* a thread is writing it */
    reader->chunks[reader->chunk_count++] = chunk;
    bool lasts = taken->kind == CHUNK_TRACE || taken->kind == CHUNK_PACKED || taken->kind == CHUNK_COLUMNS;
    if (lasts && !run_trace_moves(&reader->header))
        return 0;
    if (!ARRAY_GROWN(reader->rare, reader->rare_count))
        return reader_fail(reader, "has more chunks than memory can hold");
    reader->rare[reader->rare_count++] = chunk;
    return 0;
}

/* Orders the chunks of a thread by their events. The file may have another order. */
static int chunk_order(const void *one, const void *other)
{
    const struct chunk_header *a = *(const struct chunk_header *const *)one;
    const struct chunk_header *b = *(const struct chunk_header *const *)other;
    return ORDER(a->first_event, b->first_event);
}

enum { READ_LEAST = 4 << 20 }; /* in shorter files the headers of all chunks are read in place */

/* A copy of a chunk's header, since a running process may change it. Zeros if there is none. */
static struct chunk_header chunk_copy(const struct run_reader *reader, const struct chunk_header *there)
{
    struct chunk_header chunk = {0};
    if (there && (reader->bytes < READ_LEAST || !run_reader_read(reader, there, &chunk, sizeof chunk)))
        memcpy(&chunk, there, sizeof chunk);
    return chunk;
}

static bool chunk_kind_known(const struct run_reader *reader, uint32_t kind)
{
    return kind == CHUNK_SAMPLES || (kind >= CHUNK_ARENA && kind <= (reader->file ? CHUNK_GONE : CHUNK_FREE));
}

static int chunks_find(struct run_reader *reader)
{
    uint64_t offset = RUN_PAGE_BYTES;
    while (offset < reader->bytes) {
        const struct chunk_header *there = reader_object(reader, offset, sizeof *there);
        const struct chunk_header chunk = chunk_copy(reader, there);
        if (chunk.magic != CHUNK_MAGIC)
            return reader_fail(reader, "is damaged: no chunk at byte %llu", (unsigned long long)offset);
        if (chunk.bytes < sizeof chunk || chunk.bytes % RUN_PAGE_BYTES || chunk.bytes > reader->bytes - offset)
            return reader_fail(reader, "is damaged: the chunk at byte %llu has an invalid size",
                               (unsigned long long)offset);
        if (!chunk_kind_known(reader, chunk.kind))
            return reader_fail(reader, "is damaged: chunk at byte %llu has unknown kind %u", (unsigned long long)offset,
                               chunk.kind);
        if (!reader_chunk_fits(&chunk))
            return reader_fail(reader, "is damaged: the chunk at byte %llu has an invalid capacity",
                               (unsigned long long)offset);
        if (reader_chunk_add(reader, there, &chunk) != 0)
            return -1;
        if (reader->chunk_count % CHUNKS_BETWEEN_RESTS == 0)
            run_reader_rest(reader);
        offset += chunk.bytes;
    }
    if (run_trace_moves(&reader->header) && reader->chunk_count) {
        qsort(reader->chunks, reader->chunk_count, sizeof *reader->chunks, chunk_order);
        qsort(reader->rare, reader->rare_count, sizeof *reader->rare, chunk_order);
        free(reader->chunk_threads);
        reader->chunk_threads = NULL;
    }
    return 0;
}

static int threads_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_thread;
    while (offset) {
        const struct thread_record *thread = reader_object(reader, offset, sizeof *thread);
        if (!thread || thread->index >= MAX_THREADS)
            return reader_fail(reader, "is damaged: thread record at byte %llu", (unsigned long long)offset);
        if (!reader_object(reader, thread->events_cell, sizeof(uint64_t)))
            return reader_fail(reader, "is damaged: event counter of thread %u", thread->index);
        if (thread->index >= reader->thread_count) {
            size_t count = thread->index + 1u;
            if (!ARRAY_EXTENDED(reader->threads, reader->thread_count, count))
                return reader_fail(reader, "has more threads than memory can hold");
            reader->thread_count = count;
        }
        if (reader->threads[thread->index])
            return reader_fail(reader, "is damaged: it has two records of thread %u", thread->index);
        reader->threads[thread->index] = thread;
        offset = thread->next;
    }
    return 0;
}

static bool instrument_is_sound(const struct run_reader *reader, const struct instrument_record *record)
{
    if (record->id == 0 || record->id >= INSTRUMENT_IDS_MAX)
        return false;
    if (record->kind != INSTRUMENT_VARIABLE && record->kind != INSTRUMENT_REGION)
        return false;
    if (record->count == 0 || record->count > INSTRUMENT_ELEMENTS_MAX || record->item_count > INSTRUMENT_ITEMS_MAX)
        return false;
    if (record->comm && (record->comm >= reader->slot_count || !reader->comms[record->comm]))
        return false;
    return reader_text_ends(record->name, sizeof record->name) && reader_text_ends(record->unit, sizeof record->unit) &&
           reader_text_ends(record->component, sizeof record->component) &&
           reader_text_ends(record->description, sizeof record->description);
}

static bool instrument_is_whole(const struct run_reader *reader, const struct instrument_record *record)
{
    uint64_t numbers = (record->count + UINT64_C(0)) + INSTRUMENT_EXTREMES;
    if (record->values && !reader_object(reader, record->values, numbers * sizeof(uint64_t)))
        return false;
    const struct item_record *items = NULL;
    if (record->item_count) {
        items = reader_object(reader, record->items, record->item_count * (uint64_t)sizeof *items);
        if (!items)
            return false;
    }
    for (uint32_t i = 0; i < record->item_count; i++)
        if (!reader_text_ends(items[i].name, sizeof items[i].name))
            return false;
    return true;
}

static int instruments_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_instrument;
    while (offset) {
        const struct instrument_record *record = reader_object(reader, offset, sizeof *record);
        if (!record || !instrument_is_sound(reader, record))
            return reader_fail(reader, "is damaged: instrument record at byte %llu", (unsigned long long)offset);
        if (!instrument_is_whole(reader, record))
            return reader_fail(reader, "is damaged: values or items of instrument %u", record->id);
        if (record->id >= reader->instrument_count) {
            size_t count = record->id + 1u;
            if (!ARRAY_EXTENDED(reader->instruments, reader->instrument_count, count))
                return reader_fail(reader, "has more instruments than memory can hold");
            reader->instrument_count = count;
        }
        if (reader->instruments[record->id])
            return reader_fail(reader, "is damaged: it has two records of instrument %u", record->id);
        reader->instruments[record->id] = record;
        offset = record->next;
    }
    return 0;
}

static int providers_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_provider;
    while (offset) {
        const struct provider_record *record = reader_object(reader, offset, sizeof *record);
        if (!record || record->number < 1 || record->number > FABRIC_PROVIDERS_MOST ||
            !reader_text_ends(record->name, sizeof record->name) || reader->providers[record->number])
            return reader_fail(reader, "is damaged: provider at byte %llu", (unsigned long long)offset);
        reader->providers[record->number] = record;
        offset = record->next;
    }
    return 0;
}

const char *run_reader_provider(const struct run_reader *reader, uint32_t number)
{
    const struct provider_record *record = number <= FABRIC_PROVIDERS_MOST ? reader->providers[number] : NULL;
    return record ? record->name : NULL;
}

static int stretches_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.traced == TRACED_IN_PART ? reader->header.first_stretch : 0;
    uint64_t later = UINT64_MAX;
    size_t most = reader->written / sizeof(struct trace_stretch);
    while (offset) {
        const struct trace_stretch *stretch = reader_object(reader, offset, sizeof *stretch);
        if (!stretch || stretch->begin_ticks > stretch->end_ticks || stretch->end_ticks > later ||
            reader->stretch_count >= most)
            return reader_fail(reader, "is damaged: the record at byte %llu of when the trace was on is not valid",
                               (unsigned long long)offset);
        if (!ARRAY_GROWN(reader->stretches, reader->stretch_count))
            return reader_fail(reader, "has more records of when the trace was on than memory can hold");
        reader->stretches[reader->stretch_count++] = stretch;
        later = stretch->begin_ticks;
        offset = stretch->next;
    }
    return 0;
}

/* Returns whether the file begins so. */
static bool map_begins(const struct run_map *map, const char magic[8])
{
    return memcmp(map->base, magic, 8) == 0;
}

static int file_map(struct run_reader *reader, const char *path, struct run_extent extent)
{
    reader->map = run_map_open(path, extent, reader->error);
    if (!reader->map)
        return -1;
    if (reader->map->bytes < sizeof(struct section_header))
        return reader_fail(reader, "is not an mpit run file (only %zu bytes long)", reader->map->bytes);
    if (map_begins(reader->map, JOB_MAGIC))
        return reader_fail(reader, "is a job file, with the files of several processes");
    if (!map_begins(reader->map, SECTION_MAGIC)) {
        reader->base = reader->map->base;
        reader->bytes = reader->written = reader->map->bytes;
        return 0;
    }
    reader->file = reader->map->base;
    reader->file_bytes = reader->map->bytes;
    return reader_packed ? reader_packed->open(reader)
                         : reader_fail(reader, "is in a job file, which this program cannot read");
}

/* The size of the file is read last, so it covers everything that the lists lead to. */
void reader_header_copy(struct run_reader *reader)
{
    if (reader->bytes < RUN_PAGE_BYTES)
        return; /* reader_header_check reports it */
    const struct run_header *header = (const struct run_header *)reader->base;
    memcpy(&reader->header, header, sizeof reader->header);
    reader->header.first_block = __atomic_load_n(&header->first_block, __ATOMIC_ACQUIRE);
    reader->header.first_instrument = __atomic_load_n(&header->first_instrument, __ATOMIC_ACQUIRE);
    reader->header.first_object = __atomic_load_n(&header->first_object, __ATOMIC_ACQUIRE);
    reader->header.first_comm = __atomic_load_n(&header->first_comm, __ATOMIC_ACQUIRE);
    reader->header.first_thread = __atomic_load_n(&header->first_thread, __ATOMIC_ACQUIRE);
    reader->header.first_path = __atomic_load_n(&header->first_path, __ATOMIC_ACQUIRE);
    reader->header.first_module = __atomic_load_n(&header->first_module, __ATOMIC_ACQUIRE);
    reader->header.past = __atomic_load_n(&header->past, __ATOMIC_ACQUIRE);
    reader->header.file_bytes = __atomic_load_n(&header->file_bytes, __ATOMIC_ACQUIRE);
}

/* True if a running process has made the file longer after its length was read and before its header was. */
static bool file_has_grown(const struct run_reader *reader, const char *path)
{
    struct stat st;
    return reader->header.file_bytes > reader->map->bytes && !reader->map->extent.bytes && stat(path, &st) == 0 &&
           (uint64_t)st.st_size >= reader->header.file_bytes;
}

static void chunks_release(struct run_reader *reader)
{
    free(reader->chunks);
    free(reader->chunk_threads);
    free(reader->rare);
    reader->chunks = reader->rare = NULL;
    reader->chunk_threads = NULL;
}

/* True if a running process is reusing the places of old chunks. */
static bool chunks_move(struct run_reader *reader)
{
    if (!run_trace_moves(&reader->header) || reader->header.phase != RUN_RUNNING)
        return false;
    struct run_reader look = {
        .base = reader->base, .bytes = reader->bytes, .map = reader->map, .header = reader->header};
    bool moves = reader_header_check(&look) == 0 && chunks_find(&look) != 0;
    chunks_release(&look);
    return moves;
}

enum { GROWTH_ATTEMPTS = 100, LOOKS_MOST = 50 };

/* Maps the file as it is now, with everything published. If chunks are asked for, none may be changing its place. */
static int reader_file_open(struct run_reader *reader, const char *path, struct run_extent extent, bool chunks)
{
    for (int i = 0; i < GROWTH_ATTEMPTS; i++) {
        *reader = (struct run_reader){0};
        if (file_map(reader, path, extent) != 0)
            return -1;
        reader_header_copy(reader);
        if (reader->file ||
            (!file_has_grown(reader, path) && (!chunks || !chunks_move(reader) || i + 1 == GROWTH_ATTEMPTS)))
            break;
        if (i + 1 < GROWTH_ATTEMPTS)
            run_reader_close(reader);
    }
    return 0;
}

static int file_parts_find(struct run_reader *reader, bool chunks)
{
    if (reader_header_check(reader) != 0 || (chunks && chunks_find(reader) != 0) || threads_find(reader) != 0 ||
        reader_comms_find(reader) != 0 || instruments_find(reader) != 0 || providers_find(reader) != 0 ||
        reader_objects_find(reader) != 0 || reader_paths_find(reader) != 0 || reader_blocks_find(reader) != 0 ||
        stretches_find(reader) != 0 || reader_tables_find(reader) != 0)
        return -1;
    return 0;
}

/*
 * A ring is overwritten while it is read, and then the parts found may not fit together. In that case it reads again.
 */
int run_reader_open_part(struct run_reader *reader, const char *path, struct run_extent extent)
{
    for (int looks = 1;; looks++) {
        int result = reader_file_open(reader, path, extent, true);
        if (result == 0 && file_parts_find(reader, true) == 0) {
            run_gaps_settle(reader);
            return 0;
        }
        bool again = result == 0 && !reader->file && reader->header.phase != RUN_FINALIZED &&
                     run_trace_moves(&reader->header) && looks < LOOKS_MOST;
        run_reader_close(reader);
        if (!again)
            return -1;
        nanosleep(&(struct timespec){.tv_nsec = looks * 100000L}, NULL);
    }
}

int run_reader_open(struct run_reader *reader, const char *path)
{
    return run_reader_open_part(reader, path, (struct run_extent){0});
}

int run_reader_open_tables(struct run_reader *reader, const char *path, struct run_extent which)
{
    if (reader_file_open(reader, path, which, false) == 0 && file_parts_find(reader, false) == 0)
        return 0;
    run_reader_close(reader);
    return -1;
}

void run_reader_rest(const struct run_reader *reader)
{
    run_map_rest(reader->map);
}

bool run_reader_read(const struct run_reader *reader, const void *at, void *to, size_t bytes)
{
    return !reader->file && run_map_read(reader->map, at, to, bytes); /* an image is in no file */
}

const char *run_reader_path(const struct run_reader *reader)
{
    return reader->map->path;
}

uint64_t run_reader_last_ticks(const struct run_reader *reader)
{
    uint64_t last = reader->header.begin_ticks;
    for (size_t i = 0; i < reader->thread_count; i++)
        if (reader->threads[i] && reader->threads[i]->state.since > last)
            last = reader->threads[i]->state.since;
    return last;
}

int run_reader_wake(const struct run_reader *reader, char error[128])
{
    struct run_reader *own = (struct run_reader *)(uintptr_t)reader;
    bool came;
    if (run_reader_is_parked(reader))
        return reader_unpark(own, error);
    if (run_map_wake(reader->map, &came, error) != 0)
        return -1;
    if (!came || !reader->file || reader_packed->fill(own) == 0)
        return 0;
    run_map_sleep(reader->map);
    snprintf(error, 128, "%.127s", reader->error);
    return -1;
}

void run_reader_hold(const struct run_reader *reader)
{
    run_map_hold(reader->map, true);
}

void run_reader_let_go(const struct run_reader *reader)
{
    run_map_hold(reader->map, false);
    run_map_rest(reader->map);
}

void run_reader_close(struct run_reader *reader)
{
    run_map_close(reader->map); /* before its image goes */
    reader->map = NULL;
    if (reader->file && reader->base)
        munmap((void *)(uintptr_t)reader->base, reader->mapped_bytes);
    reader->file = NULL;
    chunks_release(reader);
    free(reader->threads);
    reader_comms_release(reader);
    reader_tables_release(reader);
    reader_paths_release(reader);
    free(reader->instruments);
    reader->instruments = NULL;
    free(reader->objects);
    reader->objects = NULL;
    reader->object_count = 0;
    reader->instrument_count = 0;
    free(reader->stretches);
    reader->stretches = NULL;
    reader->stretch_count = 0;
    free(reader->noted);
    reader->noted = NULL;
    reader->base = NULL;
    reader->threads = NULL;
    reader->chunk_count = reader->rare_count = reader->thread_count = 0;
}

struct clock_scale run_reader_scale(const struct run_reader *reader)
{
    return (struct clock_scale){reader->header.clock_mult ? reader->header.clock_mult : UINT64_C(1) << 32};
}

const struct origin_record *run_reader_origin(const struct run_reader *reader)
{
    return reader->header.origin ? (const void *)(reader->base + reader->header.origin) : NULL;
}

const struct run_openmp *run_reader_openmp(const struct run_reader *reader)
{
    return reader->header.openmp ? (const void *)(reader->base + reader->header.openmp) : NULL;
}

const struct run_left *run_reader_left(const struct run_reader *reader)
{
    return reader->header.left ? (const void *)(reader->base + reader->header.left) : NULL;
}

size_t run_reader_clock_syncs(const struct run_reader *reader, struct clock_sync list[CLOCK_SYNCS_MOST])
{
    if (!reader->header.clock_syncs)
        return 0;
    const struct clock_syncs *syncs = (const void *)(reader->base + reader->header.clock_syncs);
    return clock_syncs_copy(syncs, list);
}

const char *run_reader_counter_name(const struct run_reader *reader, unsigned counter)
{
    static const char *const names[COUNTER_OS_END] = {"kernel time", "voluntary switches", "involuntary switches",
                                                      "minor page faults", "major page faults"};
    if (counter < COUNTER_OS_END)
        return names[counter];
    unsigned number = counter - COUNTER_ASKED;
    return reader->counters && number < reader->counters->count ? reader->counters->list[number].name : "?";
}

const char *run_reader_call_name(const struct run_reader *reader, unsigned kind)
{
    return kind < reader->call_count ? reader->calls[kind].name : "?";
}

const struct instrument_record *run_reader_instrument(const struct run_reader *reader, uint32_t id)
{
    return id < reader->instrument_count ? reader->instruments[id] : NULL;
}

const uint64_t *run_reader_values(const struct run_reader *reader, const struct instrument_record *record)
{
    return record->values ? (const uint64_t *)(const void *)(reader->base + record->values) : NULL;
}

const struct comm_record *run_reader_bound(const struct run_reader *reader, const struct instrument_record *record)
{
    uint32_t slot = __atomic_load_n(&record->comm, __ATOMIC_RELAXED);
    return slot && slot < reader->slot_count ? reader->comms[slot] : NULL;
}

const char *run_reader_item(const struct run_reader *reader, const struct instrument_record *record, int64_t value)
{
    if (!record->item_count) /* and the offset was not checked */
        return NULL;
    const struct item_record *items = (const void *)(reader->base + record->items);
    if (record->count > 1) /* items name the elements */
        return value >= 0 && value < record->item_count ? items[value].name : NULL;
    for (uint32_t i = 0; i < record->item_count; i++)
        if (items[i].value == value)
            return items[i].name;
    return NULL;
}
