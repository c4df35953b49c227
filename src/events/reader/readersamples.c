/* Samples of a run file, which is untrusted: every record is checked before it is used. */
#include "base/array.h"
#include "format/samples.h"

#include "mpit/collector.h"
#include "reader/readercomms.h"

#include <stdlib.h>
#include <string.h>

enum { STREAMS_MOST = 1 << 20, MODULES_MOST = 1 << 16 };

static bool is_samples(const struct chunk_header *chunk)
{
    return __atomic_load_n(&chunk->kind, __ATOMIC_ACQUIRE) == CHUNK_SAMPLES && chunk->thread < STREAMS_MOST;
}

uint32_t run_reader_sample_streams(const struct run_reader *reader)
{
    uint32_t count = 0;
    for (size_t i = 0; i < reader->rare_count; i++)
        if (is_samples(reader->rare[i]) && reader->rare[i]->thread >= count)
            count = reader->rare[i]->thread + 1;
    return count;
}

static uint64_t first_of(const struct chunk_header *chunk)
{
    return __atomic_load_n(&chunk->first_event, __ATOMIC_ACQUIRE);
}

/* Orders the buffer after the chunks that stay. It may just have been appended as one of them. */
static int sample_chunk_order(const void *one, const void *other)
{
    const struct chunk_header *a = *(const struct chunk_header *const *)one;
    const struct chunk_header *b = *(const struct chunk_header *const *)other;
    return ORDER(a->reserved[0] != 0, b->reserved[0] != 0) ?: ORDER(first_of(a), first_of(b));
}

int sample_cursor_open(struct sample_cursor *cursor, const struct run_reader *reader, uint32_t stream)
{
    *cursor = (struct sample_cursor){.reader = reader, .stream = stream};
    cursor->chunks = malloc((reader->rare_count + 1) * sizeof *cursor->chunks);
    if (!cursor->chunks)
        return -1;
    for (size_t i = 0; i < reader->rare_count; i++)
        if (is_samples(reader->rare[i]) && reader->rare[i]->thread == stream)
            cursor->chunks[cursor->chunk_count++] = reader->rare[i];
    qsort(cursor->chunks, cursor->chunk_count, sizeof *cursor->chunks, sample_chunk_order);
    return 0;
}

void sample_cursor_close(struct sample_cursor *cursor)
{
    for (size_t i = 0; i < cursor->module_count; i++)
        free(cursor->texts[i]);
    free(cursor->texts);
    free(cursor->modules);
    free(cursor->memory);
    free(cursor->chunks);
    *cursor = (struct sample_cursor){0};
}

/* Copies a chunk's records, since a running process may empty its buffer. Returns false if there are none. */
static bool sample_chunk_copy(struct sample_cursor *cursor, const struct chunk_header *chunk, uint64_t *first)
{
    const struct run_reader *reader = cursor->reader;
    *first = first_of(chunk);
    uint64_t used = __atomic_load_n(&chunk->packed_bytes, __ATOMIC_ACQUIRE), bytes = chunk->bytes;
    uint64_t room = reader->bytes - (uint64_t)((const char *)chunk - reader->base);
    if (bytes < sizeof *chunk || bytes > room || used > bytes - sizeof *chunk || !used)
        return false;
    char *memory = realloc(cursor->memory, used);
    if (!memory)
        return false;
    cursor->memory = memory;
    memcpy(memory, chunk + 1, used);
    LOADS_IN_ORDER();
    cursor->used = used;
    cursor->at = 0;
    return first_of(chunk) == *first && is_samples(chunk);
}

/* Moves to the next chunk with something new. */
static bool chunk_next(struct sample_cursor *cursor)
{
    while (cursor->chunk < cursor->chunk_count) {
        uint64_t first;
        const struct chunk_header *chunk = cursor->chunks[cursor->chunk++];
        if (!sample_chunk_copy(cursor, chunk, &first) || first < cursor->number)
            continue; /* empty, or there already */
        cursor->missing += first - cursor->number;
        cursor->number = first;
        cursor->last_frames = 0;
        return true;
    }
    cursor->used = cursor->at = 0;
    return false;
}

/* After a library was loaded or unloaded, the writer lists all of them again. A known module keeps its place. If a
 * younger module was at its addresses, it becomes the latest. Lookups search from the end. */
static bool module_again(struct sample_cursor *cursor, const struct sample_module *head, const char *path)
{
    bool covered = false;
    for (size_t i = cursor->module_count; i-- > 0;) {
        struct module known = cursor->modules[i];
        if (known.begin >= head->end || known.end <= head->begin)
            continue;
        if (known.begin != head->begin || known.end != head->end || known.bias != head->bias ||
            known.build_id_bytes != head->build_id_bytes ||
            memcmp(known.build_id, head->build_id, head->build_id_bytes) != 0 || strcmp(known.path, path) != 0) {
            covered = true;
            continue;
        }
        if (covered) {
            char *text = cursor->texts[i];
            size_t last = cursor->module_count - 1;
            memmove(&cursor->modules[i], &cursor->modules[i + 1], (last - i) * sizeof known);
            memmove(&cursor->texts[i], &cursor->texts[i + 1], (last - i) * sizeof text);
            cursor->modules[last] = known;
            cursor->texts[last] = text;
        }
        return true;
    }
    return false;
}

static bool sample_module_take(struct sample_cursor *cursor, const struct sample_module *record, size_t bytes)
{
    struct sample_module head;
    if (bytes < sizeof head)
        return false;
    memcpy(&head, record, sizeof head);
    if (head.begin >= head.end || head.build_id_bytes > SAMPLE_BUILD_ID_MOST || !head.path_bytes ||
        head.path_bytes > bytes - sizeof head || record->path[head.path_bytes - 1] != '\0')
        return false;
    if (module_again(cursor, &head, record->path))
        return true;
    if (cursor->module_count == MODULES_MOST)
        return false;
    bool grown = ARRAY_GROWN(cursor->modules, cursor->module_count) && ARRAY_GROWN(cursor->texts, cursor->module_count);
    char *text = grown ? malloc(head.path_bytes + sizeof head.build_id) : NULL;
    if (!text)
        return false;
    memcpy(text, head.build_id, sizeof head.build_id);
    memcpy(text + sizeof head.build_id, record->path, head.path_bytes);
    cursor->texts[cursor->module_count] = text;
    cursor->modules[cursor->module_count++] = (struct module){.begin = head.begin,
                                                              .end = head.end,
                                                              .bias = head.bias,
                                                              .path = text + sizeof head.build_id,
                                                              .build_id = (const uint8_t *)text,
                                                              .build_id_bytes = head.build_id_bytes};
    return true;
}

static bool thread_record_take(struct sample_cursor *cursor, const void *record, size_t bytes)
{
    struct sample_thread thread;
    if (bytes != sizeof thread)
        return false;
    memcpy(&thread, record, sizeof thread);
    cursor->sample.thread = thread.thread;
    cursor->sample.tid = thread.tid;
    cursor->sample.period_ns = thread.period_ns;
    memcpy(cursor->sample.name, thread.name, sizeof thread.name);
    cursor->sample.name[sizeof thread.name] = '\0';
    return true;
}

static bool sample_record_take(struct sample_cursor *cursor, const void *record, size_t bytes)
{
    struct sample_taken taken;
    struct sample *sample = &cursor->sample;
    if (bytes < sizeof taken)
        return false;
    memcpy(&taken, record, sizeof taken);
    unsigned shared = (unsigned)(taken.frames - taken.fresh);
    if (taken.frames > SAMPLE_FRAMES_MOST || taken.fresh > taken.frames || shared > cursor->last_frames ||
        bytes != sizeof taken + taken.fresh * sizeof *cursor->pcs || taken.head.state > MPIT_STATE_STALL_OTHER)
        return false;
    memcpy(cursor->pcs, (const char *)record + sizeof taken, taken.fresh * sizeof *cursor->pcs);
    for (unsigned i = 0; i < taken.fresh; i++)
        cursor->last[taken.frames - 1 - i] = cursor->pcs[i];
    for (unsigned i = taken.fresh; i < taken.frames; i++)
        cursor->pcs[i] = cursor->last[taken.frames - 1 - i];
    cursor->last_frames = taken.frames;
    cursor->number++;
    sample->ticks = taken.ticks;
    sample->weight = taken.weight;
    sample->cpu_ns = taken.cpu_ns;
    sample->flags = taken.flags;
    sample->state = taken.head.state;
    sample->call = taken.head.call;
    sample->comm = run_reader_comm_at(cursor->reader, taken.head.comm, taken.ticks);
    sample->frames = taken.frames;
    sample->pcs = cursor->pcs;
    return true;
}

const struct sample *sample_cursor_next(struct sample_cursor *cursor)
{
    for (;;) {
        if (cursor->at == cursor->used && !chunk_next(cursor))
            return NULL;
        struct sample_head head = {0};
        const char *record = cursor->memory + cursor->at;
        size_t left = cursor->used - cursor->at, bytes = 0;
        if (left >= sizeof head) {
            memcpy(&head, record, sizeof head);
            bytes = head.words * UINT64_C(8);
        }
        bool good = bytes >= sizeof head && bytes <= left;
        if (good && head.kind == SAMPLE_THREAD)
            good = thread_record_take(cursor, record, bytes);
        else if (good && head.kind == SAMPLE_MODULE)
            good = sample_module_take(cursor, (const void *)record, bytes);
        else
            good = good && head.kind == SAMPLE_TAKEN && cursor->sample.period_ns &&
                   sample_record_take(cursor, record, bytes);
        cursor->at = good ? cursor->at + bytes : cursor->used;
        cursor->damaged |= !good;
        if (good && head.kind == SAMPLE_TAKEN)
            return &cursor->sample;
    }
}

const struct module *sample_cursor_module(const struct sample_cursor *cursor, uint64_t pc)
{
    for (size_t i = cursor->module_count; i-- > 0;)
        if (pc >= cursor->modules[i].begin && pc < cursor->modules[i].end)
            return &cursor->modules[i];
    return NULL;
}
