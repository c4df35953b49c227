#define _GNU_SOURCE
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_SLOTS = 1 << 16, MAX_THREADS = 1 << 20 };

__attribute__((format(printf, 2, 3))) static int fail(struct run_reader *reader, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(reader->error, sizeof reader->error, format, args);
    va_end(args);
    return -1;
}

/* The object of `size` bytes at `offset`, or NULL when it does not lie in a chunk's place. */
static const void *object_at(const struct run_reader *reader, uint64_t offset, uint64_t size)
{
    if (offset < RUN_PAGE_BYTES || offset % 8 || offset > reader->bytes || size > reader->bytes - offset)
        return NULL;
    return reader->base + offset;
}

static bool text_ends(const char *text, size_t size)
{
    return memchr(text, '\0', size) != NULL;
}

static int header_check(struct run_reader *reader)
{
    struct run_header *header = &reader->header;
    if (memcmp(header->magic, RUN_MAGIC, sizeof header->magic) != 0)
        return fail(reader, "is no mpit run file (it does not begin with \"%s\")", RUN_MAGIC);
    if (header->byte_order != RUN_BYTE_ORDER)
        return fail(reader, "was written on a machine of the other byte order");
    if (header->version != RUN_VERSION)
        return fail(reader, "has format version %u; this mpit reads version %d", header->version, RUN_VERSION);
    if (header->header_bytes < sizeof *header || header->page_bytes != RUN_PAGE_BYTES)
        return fail(reader, "has a damaged header (sizes %u and %u)", header->header_bytes, header->page_bytes);
    if (header->file_bytes < RUN_PAGE_BYTES || header->file_bytes % RUN_PAGE_BYTES)
        return fail(reader, "has a damaged header (%llu bytes in use)", (unsigned long long)header->file_bytes);
    if (header->file_bytes > reader->bytes)
        return fail(reader, "is truncated: %zu bytes of %llu", reader->bytes, (unsigned long long)header->file_bytes);
    if (header->clock_kind != CLOCK_KIND_MONOTONIC && header->clock_kind != CLOCK_KIND_TSC)
        return fail(reader, "has an unknown clock (%u)", header->clock_kind);
    if (!text_ends(header->host, sizeof header->host) || !text_ends(header->mpi, sizeof header->mpi) ||
        !text_ends(header->boot, sizeof header->boot) || !text_ends(header->program, sizeof header->program))
        return fail(reader, "has a damaged header (a text does not end)");
    reader->bytes = header->file_bytes; /* what lies behind was allocated and never published */
    return 0;
}

static void *grow(void *array, size_t count, size_t element)
{
    if (count & (count - 1)) /* doubles at the powers of two */
        return array;
    return realloc(array, (count ? count * 2 : 1) * element);
}

static int chunks_find(struct run_reader *reader)
{
    uint64_t offset = RUN_PAGE_BYTES;
    while (offset < reader->bytes) {
        const struct chunk_header *chunk = object_at(reader, offset, sizeof *chunk);
        if (!chunk || chunk->magic != CHUNK_MAGIC)
            return fail(reader, "is damaged: no chunk at byte %llu", (unsigned long long)offset);
        if (chunk->bytes < sizeof *chunk || chunk->bytes % RUN_PAGE_BYTES || chunk->bytes > reader->bytes - offset)
            return fail(reader, "is damaged: chunk at byte %llu has an impossible size", (unsigned long long)offset);
        if (chunk->kind < CHUNK_ARENA || chunk->kind > CHUNK_RING)
            return fail(reader, "is damaged: chunk at byte %llu has unknown kind %u", (unsigned long long)offset,
                        chunk->kind);
        if (chunk->kind != CHUNK_ARENA &&
            (chunk->capacity == 0 || chunk->capacity > (chunk->bytes - sizeof *chunk) / sizeof(struct event)))
            return fail(reader, "is damaged: chunk at byte %llu has an impossible capacity",
                        (unsigned long long)offset);
        const struct chunk_header **chunks = grow(reader->chunks, reader->chunk_count, sizeof *chunks);
        if (!chunks)
            return fail(reader, "has more chunks than memory can hold");
        reader->chunks = chunks;
        reader->chunks[reader->chunk_count++] = chunk;
        offset += chunk->bytes;
    }
    return 0;
}

static int threads_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_thread;
    while (offset) {
        const struct thread_record *thread = object_at(reader, offset, sizeof *thread);
        if (!thread || thread->index >= MAX_THREADS)
            return fail(reader, "is damaged: thread record at byte %llu", (unsigned long long)offset);
        if (!object_at(reader, thread->events_cell, sizeof(uint64_t)))
            return fail(reader, "is damaged: event counter of thread %u", thread->index);
        if (thread->index >= reader->thread_count) {
            size_t count = thread->index + 1u;
            const struct thread_record **threads = realloc(reader->threads, count * sizeof *threads);
            if (!threads)
                return fail(reader, "has more threads than memory can hold");
            memset(threads + reader->thread_count, 0, (count - reader->thread_count) * sizeof *threads);
            reader->threads = threads;
            reader->thread_count = count;
        }
        if (reader->threads[thread->index])
            return fail(reader, "is damaged: thread %u stands twice", thread->index);
        reader->threads[thread->index] = thread;
        offset = thread->next;
    }
    return 0;
}

static int comms_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_comm;
    while (offset) {
        const struct comm_record *comm = object_at(reader, offset, sizeof *comm);
        if (!comm || comm->slot == 0 || comm->slot >= MAX_SLOTS || !text_ends(comm->name, sizeof comm->name))
            return fail(reader, "is damaged: communicator record at byte %llu", (unsigned long long)offset);
        if (comm->slot >= reader->comm_count) {
            size_t count = comm->slot + 1u;
            const struct comm_record **comms = realloc(reader->comms, count * sizeof *comms);
            if (!comms)
                return fail(reader, "has more communicators than memory can hold");
            memset(comms + reader->comm_count, 0, (count - reader->comm_count) * sizeof *comms);
            reader->comms = comms;
            reader->comm_count = count;
        }
        if (reader->comms[comm->slot])
            return fail(reader, "is damaged: communicator slot %u stands twice", comm->slot);
        reader->comms[comm->slot] = comm;
        offset = comm->next;
    }
    return 0;
}

static int blocks_find(struct run_reader *reader)
{
    uint64_t offset = reader->header.first_block;
    size_t most = reader->bytes / sizeof(struct tally_block); /* more can only be a loop */
    while (offset) {
        const struct tally_block *block = object_at(reader, offset, sizeof *block);
        if (!block || block->kind < BLOCK_THREAD || block->kind > BLOCK_SHARED ||
            !object_at(reader, offset + sizeof *block, block->cells * UINT64_C(8)) || reader->block_count >= most)
            return fail(reader, "is damaged: tally block at byte %llu", (unsigned long long)offset);
        if (block->thread >= reader->thread_count ||
            (block->comm && (block->comm >= reader->comm_count || !reader->comms[block->comm])))
            return fail(reader, "is damaged: tally block at byte %llu belongs to nobody", (unsigned long long)offset);
        const struct tally_block **blocks = grow(reader->blocks, reader->block_count, sizeof *blocks);
        if (!blocks)
            return fail(reader, "has more tally blocks than memory can hold");
        reader->blocks = blocks;
        reader->blocks[reader->block_count++] = block;
        offset = block->next;
    }
    return 0;
}

static int tables_find(struct run_reader *reader)
{
    const struct run_header *header = &reader->header;
    if (header->variable_count > 10000 || header->call_count > EVENT_KIND_MASK)
        return fail(reader, "is damaged: its tables have impossible lengths");
    if (header->variable_count) {
        reader->variables = object_at(reader, header->variables, header->variable_count * sizeof *reader->variables);
        if (!reader->variables)
            return fail(reader, "is damaged: its table of variables lies outside of it");
        reader->variable_count = header->variable_count;
    }
    for (size_t i = 0; i < reader->variable_count; i++)
        if (!text_ends(reader->variables[i].name, VARIABLE_NAME_BYTES) ||
            !text_ends(reader->variables[i].unit, VARIABLE_UNIT_BYTES))
            return fail(reader, "is damaged: the name of variable %zu does not end", i);
    if (header->call_count) {
        reader->calls = object_at(reader, header->calls, header->call_count * sizeof *reader->calls);
        if (!reader->calls)
            return fail(reader, "is damaged: its table of calls lies outside of it");
        reader->call_count = header->call_count;
    }
    for (size_t i = 0; i < reader->call_count; i++)
        if (!text_ends(reader->calls[i].name, CALL_NAME_BYTES))
            return fail(reader, "is damaged: the name of call %zu does not end", i);
    return 0;
}

static int file_map(struct run_reader *reader, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fail(reader, "cannot be opened: %s", strerror(errno));
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        close(fd);
        return fail(reader, "is no regular file");
    }
    if ((uint64_t)st.st_size < RUN_PAGE_BYTES) {
        close(fd);
        return fail(reader, "is no mpit run file (only %lld bytes long)", (long long)st.st_size);
    }
    reader->bytes = reader->mapped_bytes = (size_t)st.st_size;
    void *base = mmap(NULL, reader->bytes, PROT_READ, MAP_SHARED, fd, 0);
    close(fd);
    if (base == MAP_FAILED)
        return fail(reader, "cannot be mapped: %s", strerror(errno));
    reader->base = base;
    return 0;
}

/* How far the file goes is read last: it covers everything that the heads of the lists lead to. */
static void header_copy(struct run_reader *reader)
{
    const struct run_header *header = (const struct run_header *)reader->base;
    memcpy(&reader->header, header, sizeof reader->header);
    reader->header.first_block = __atomic_load_n(&header->first_block, __ATOMIC_ACQUIRE);
    reader->header.first_comm = __atomic_load_n(&header->first_comm, __ATOMIC_ACQUIRE);
    reader->header.first_thread = __atomic_load_n(&header->first_thread, __ATOMIC_ACQUIRE);
    reader->header.file_bytes = __atomic_load_n(&header->file_bytes, __ATOMIC_ACQUIRE);
}

/* A file of a process that is alive may grow between the look at its length and the look at its header. */
static bool file_has_grown(const struct run_reader *reader, const char *path)
{
    struct stat st;
    return reader->header.file_bytes > reader->mapped_bytes && stat(path, &st) == 0 &&
           (uint64_t)st.st_size >= reader->header.file_bytes;
}

enum { GROWTH_ATTEMPTS = 100 };

int run_reader_open(struct run_reader *reader, const char *path)
{
    for (int i = 0; i < GROWTH_ATTEMPTS; i++) {
        *reader = (struct run_reader){0};
        if (file_map(reader, path) != 0)
            return -1;
        header_copy(reader);
        if (!file_has_grown(reader, path))
            break;
        if (i + 1 < GROWTH_ATTEMPTS)
            run_reader_close(reader);
    }
    if (header_check(reader) != 0 || chunks_find(reader) != 0 || threads_find(reader) != 0 || comms_find(reader) != 0 ||
        blocks_find(reader) != 0 || tables_find(reader) != 0) {
        run_reader_close(reader);
        return -1;
    }
    return 0;
}

void run_reader_close(struct run_reader *reader)
{
    if (reader->base)
        munmap((void *)(uintptr_t)reader->base, reader->mapped_bytes);
    free(reader->chunks);
    free(reader->threads);
    free(reader->comms);
    free(reader->blocks);
    reader->base = NULL;
    reader->chunks = NULL;
    reader->threads = NULL;
    reader->comms = NULL;
    reader->blocks = NULL;
    reader->chunk_count = reader->thread_count = reader->comm_count = reader->block_count = 0;
}

struct clock_scale run_reader_scale(const struct run_reader *reader)
{
    return (struct clock_scale){reader->header.clock_mult ? reader->header.clock_mult : UINT64_C(1) << 32};
}

const uint64_t *tally_cells(const struct tally_block *block)
{
    return (const uint64_t *)(block + 1);
}

const char *run_reader_call_name(const struct run_reader *reader, unsigned kind)
{
    return kind < reader->call_count ? reader->calls[kind].name : "?";
}

static void cursor_enter(struct event_cursor *cursor, const struct chunk_header *chunk, uint64_t first, uint64_t end)
{
    cursor->current = chunk;
    cursor->current_first = chunk->kind == CHUNK_RING ? 0 : first;
    cursor->current_end = end < cursor->end ? end : cursor->end;
    if (first > cursor->next) {
        cursor->missing += first - cursor->next;
        cursor->next = first;
    }
}

/* Moves to the chunk that holds event `next`, or the first one behind it: those of the trace, which lie in the file in
 * order, and then the ring. */
static bool cursor_seek(struct event_cursor *cursor)
{
    const struct run_reader *reader = cursor->reader;
    if (cursor->next >= cursor->end)
        return false;
    for (; cursor->chunk < reader->chunk_count; cursor->chunk++) {
        const struct chunk_header *chunk = reader->chunks[cursor->chunk];
        if (chunk->kind != CHUNK_TRACE || chunk->thread != cursor->thread)
            continue;
        uint64_t first = chunk->first_event, end = first + chunk->capacity;
        if (end < first || cursor->next >= end || first >= cursor->end)
            continue;
        cursor_enter(cursor, chunk, first, end);
        return true;
    }
    for (size_t i = 0; i < reader->chunk_count; i++) {
        const struct chunk_header *ring = reader->chunks[i];
        if (ring->kind != CHUNK_RING || ring->thread != cursor->thread)
            continue;
        cursor_enter(cursor, ring, cursor->end > ring->capacity ? cursor->end - ring->capacity : 0, cursor->end);
        return true;
    }
    cursor->missing += cursor->end - cursor->next;
    return false;
}

void event_cursor_open(struct event_cursor *cursor, const struct run_reader *reader, uint32_t thread)
{
    *cursor = (struct event_cursor){.reader = reader, .thread = thread};
    if (thread >= reader->thread_count || !reader->threads[thread])
        return;
    const uint64_t *cell = object_at(reader, reader->threads[thread]->events_cell, sizeof *cell);
    cursor->end = __atomic_load_n(cell, __ATOMIC_ACQUIRE); /* pairs with the release in event_commit */
}

const struct event *event_cursor_next(struct event_cursor *cursor)
{
    if (cursor->current && cursor->next >= cursor->current_end)
        cursor->current = NULL;
    if (!cursor->current && !cursor_seek(cursor)) {
        cursor->next = cursor->end;
        return NULL;
    }
    const struct event *events = (const struct event *)(cursor->current + 1);
    uint64_t place = cursor->current->kind == CHUNK_RING ? cursor->next % cursor->current->capacity
                                                         : cursor->next - cursor->current_first;
    cursor->next++;
    return &events[place];
}
