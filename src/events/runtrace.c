/*
 * The trace's part of a run file: chunks that are appended, and with TRACE_RING the places of the oldest ones that are
 * used again once the trace has reached its limit.
 *
 *   places   | 7 | 8 | free | 3 | 4 | 5 | 6 |     in the order of the file; numbers: the order in which they were
 * written ^hand
 *
 * From the hand on lie the oldest. A new chunk takes as many places that touch each other as it needs; what is left
 * over of them is free, and the hand stands there. A reader, and a kill at any moment, finds whole chunks only: what is
 * to be written over is first made one CHUNK_FREE, and the header of the new chunk is written last.
 */
#define _GNU_SOURCE
#include "runtrace.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

struct trace_place {
    uint64_t offset, bytes;
    uint32_t events; /* of the chunk there; 0: free, or communicators */
};

struct trace_places {
    struct trace_place *list;
    size_t count, capacity, hand;
};

void run_trace_policy(struct run *run, enum trace_policy policy)
{
    if (policy == TRACE_RING && !(run->places = calloc(1, sizeof *run->places)))
        return;
    run->header->trace_policy = policy;
}

/* Writes all parts, with one call as a rule. 0, or an errno. */
static int parts_write(int fd, const struct iovec *parts, int count, uint64_t offset)
{
    size_t whole = 0, done = 0;
    for (int i = 0; i < count; i++)
        whole += parts[i].iov_len;
    if (!run_file_may_be(offset + whole)) /* also over what is there already */
        return EFBIG;
    while (done < whole) {
        struct iovec rest[3];
        size_t skip = done;
        for (int i = 0; i < count; i++) {
            size_t gone = skip < parts[i].iov_len ? skip : parts[i].iov_len;
            rest[i].iov_base = (char *)parts[i].iov_base + gone;
            rest[i].iov_len = parts[i].iov_len - gone;
            skip -= gone;
        }
        ssize_t n = pwritev(fd, rest, count, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

static const char zeros[RUN_PAGE_BYTES];

/* Header, events and what fills the last page. */
static int chunk_write(int fd, const struct chunk_header *chunk, const void *data, size_t bytes, uint64_t offset)
{
    struct iovec parts[] = {{(void *)(uintptr_t)chunk, sizeof *chunk},
                            {(void *)(uintptr_t)data, bytes},
                            {(void *)(uintptr_t)zeros, chunk->bytes - sizeof *chunk - bytes}};
    return parts_write(fd, parts, 3, offset);
}

static int header_write(int fd, const struct chunk_header *chunk, uint64_t offset)
{
    struct iovec part = {(void *)(uintptr_t)chunk, sizeof *chunk};
    return parts_write(fd, &part, 1, offset);
}

static bool place_insert(struct trace_places *places, size_t at, struct trace_place place)
{
    if (places->count == places->capacity) {
        size_t capacity = places->capacity ? places->capacity * 2 : 64;
        struct trace_place *list = realloc(places->list, capacity * sizeof *list);
        if (!list)
            return false;
        places->list = list;
        places->capacity = capacity;
    }
    memmove(&places->list[at + 1], &places->list[at], (places->count - at) * sizeof *places->list);
    places->list[at] = place;
    places->count++;
    return true;
}

/* At the end of the file. 0, or an errno. */
static int chunk_append(struct run *run, int fd, const struct chunk_header *chunk, const void *data, size_t bytes)
{
    uint64_t offset = run->virtual_bytes;
    struct trace_place place = {offset, chunk->bytes, chunk->kind == CHUNK_COMMS ? 0 : chunk->capacity};
    if (run->places && !place_insert(run->places, run->places->count, place))
        return ENOMEM;
    int error = chunk_write(fd, chunk, data, bytes, offset);
    if (error) {
        if (run->places)
            run->places->count--;
        /* what has been written of it would be found where the file grows next; if it cannot be cut off, that fails */
        if (ftruncate(fd, (off_t)offset) != 0)
            run->broken = true;
        return error;
    }
    run->virtual_bytes += chunk->bytes;
    run->trace_bytes += chunk->bytes;
    __atomic_store_n(&run->header->file_bytes, run->virtual_bytes, __ATOMIC_RELEASE);
    return 0;
}

/* Makes places one free one: what was in them is lost. */
static int places_free(struct run *run, int fd, size_t first, size_t end)
{
    struct trace_places *places = run->places;
    struct chunk_header chunk = {.magic = CHUNK_MAGIC, .kind = CHUNK_FREE};
    for (size_t i = first; i < end; i++)
        chunk.bytes += places->list[i].bytes;
    int error = header_write(fd, &chunk, places->list[first].offset);
    if (error)
        return error;
    for (size_t i = first; i < end; i++)
        run_lost(run, LOSS_TRACE_LIMIT, places->list[i].events);
    places->list[first].bytes = chunk.bytes;
    places->list[first].events = 0;
    memmove(&places->list[first + 1], &places->list[end], (places->count - end) * sizeof *places->list);
    places->count -= end - first - 1;
    return 0;
}

/* Do any that touch each other hold so much together? */
static bool places_hold(const struct trace_places *places, uint64_t bytes)
{
    uint64_t found = 0, end = 0;
    for (size_t i = 0; i < places->count && found < bytes; i++) {
        found = places->list[i].offset == end ? found + places->list[i].bytes : places->list[i].bytes;
        end = places->list[i].offset + places->list[i].bytes;
    }
    return found >= bytes;
}

/* Leaves the hand on one free place of `bytes` or more. 0, or an errno: EFBIG if the trace has no such place. */
static int place_find(struct run *run, int fd, uint64_t bytes)
{
    struct trace_places *places = run->places;
    for (int wraps = 0; wraps < 3;) {
        if (places->hand >= places->count) {
            places->hand = 0;
            wraps++;
            continue;
        }
        size_t end = places->hand;
        uint64_t found = 0;
        do
            found += places->list[end++].bytes;
        while (found < bytes && end < places->count &&
               places->list[end].offset == places->list[end - 1].offset + places->list[end - 1].bytes);
        int error = places_free(run, fd, places->hand, end);
        if (error || found >= bytes)
            return error;
        places->hand++; /* not enough before something else: what lies there is older than what is dropped next */
    }
    return EFBIG;
}

/* In the place of the oldest. 0, or an errno. */
static int chunk_replace(struct run *run, int fd, const struct chunk_header *chunk, const void *data, size_t bytes)
{
    struct trace_places *places = run->places;
    if (!places_hold(places, chunk->bytes))
        return EFBIG;
    int error = place_find(run, fd, chunk->bytes);
    if (error)
        return error;
    struct trace_place place = places->list[places->hand];
    uint64_t rest = place.bytes - chunk->bytes;
    struct chunk_header free_rest = {.magic = CHUNK_MAGIC, .kind = CHUNK_FREE, .bytes = rest};
    if (rest && !place_insert(places, places->hand + 1, (struct trace_place){place.offset + chunk->bytes, rest, 0}))
        return ENOMEM;
    if (rest)
        error = header_write(fd, &free_rest, place.offset + chunk->bytes);
    struct iovec parts[] = {{(void *)(uintptr_t)data, bytes},
                            {(void *)(uintptr_t)zeros, chunk->bytes - sizeof *chunk - bytes}};
    if (!error)
        error = parts_write(fd, parts, 2, place.offset + sizeof *chunk);
    if (!error)
        error = header_write(fd, chunk, place.offset);
    if (error) { /* it is free, still as a whole */
        if (rest)
            memmove(&places->list[places->hand + 1], &places->list[places->hand + 2],
                    (--places->count - places->hand - 1) * sizeof *places->list);
        return error;
    }
    places->list[places->hand].bytes = chunk->bytes;
    places->list[places->hand].events = chunk->kind == CHUNK_COMMS ? 0 : chunk->capacity;
    places->hand++;
    return 0;
}

static int chunk_keep(struct run *run, const struct chunk_header *chunk, const void *data, size_t bytes)
{
    if (run->broken && !run->places)
        return ENOSPC;
    int fd = run_file_hold(run);
    if (fd < 0)
        return errno;
    bool limited = run->trace_limit && run->trace_bytes + chunk->bytes > run->trace_limit;
    int error = limited || run->broken ? EDQUOT : chunk_append(run, fd, chunk, data, bytes);
    if (error && run->places)
        error = chunk_replace(run, fd, chunk, data, bytes);
    run_file_release(run, fd);
    return error;
}

/* The lock is held over the write: writes into one file wait for each other in the kernel anyhow, and so no reader ever
 * sees a file that is longer than what has been written. */
static bool trace_append(struct run *run, struct chunk_header chunk, const void *data, size_t bytes)
{
    chunk.magic = CHUNK_MAGIC;
    chunk.bytes = run_pages(sizeof chunk + bytes);
    int error = 0;
    pthread_mutex_lock(&run->lock);
    if (!run_has_file(run) || run->closed) {
        error = ENOENT;
        run->cause = LOSS_NO_FILE;
    } else if (run->trace_limit && run->trace_bytes + chunk.bytes > run->trace_limit && !run->places) {
        error = EDQUOT;
        run->cause = LOSS_TRACE_LIMIT;
    } else if ((error = chunk_keep(run, &chunk, data, bytes)) != 0) {
        bool limited = run->trace_limit && run->trace_bytes + chunk.bytes > run->trace_limit;
        run->cause = limited ? LOSS_TRACE_LIMIT : run_file_trouble(run, error);
    }
    if (error)
        run_lost(run, run->cause, chunk.capacity);
    pthread_mutex_unlock(&run->lock);
    return error == 0;
}

bool run_trace_append(struct run *run, uint32_t thread, uint64_t first_event, const struct event *events,
                      uint32_t count)
{
    struct chunk_header chunk = {.kind = CHUNK_TRACE, .thread = thread, .capacity = count, .first_event = first_event};
    return trace_append(run, chunk, events, (size_t)count * sizeof *events);
}

bool run_trace_append_packed(struct run *run, uint32_t thread, uint64_t first_event, uint32_t count, const void *packed,
                             size_t bytes)
{
    struct chunk_header chunk = {
        .kind = CHUNK_PACKED, .thread = thread, .capacity = count, .first_event = first_event, .packed_bytes = bytes};
    return trace_append(run, chunk, packed, bytes);
}

bool run_comms_append(struct run *run, uint64_t first, uint32_t count, const void *packed, size_t bytes)
{
    struct chunk_header chunk = {.kind = CHUNK_COMMS, .capacity = count, .first_event = first, .packed_bytes = bytes};
    return trace_append(run, chunk, packed, bytes);
}
