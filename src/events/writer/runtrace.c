/*
 * The trace's part of a run file: appended chunks. With TRACE_RING a trace at its limit uses the places of its oldest
 * chunks again. With TRACE_BRIEF the chunks of its first part stay, and have no place in the list.
 *
 *   places   | 7 | 8 | free | 3 | 4 | 5 | 6 | (9) |    in the order of the file; numbers: the order of writing
 *                     ^ hand                 ^ taken
 *
 * Writing has three steps. First the header is written with the kind CHUNK_FREE. Then the data follow, in as many
 * pieces as the caller likes. Last the real kind is written. Readers skip a CHUNK_FREE, so they never see half a chunk,
 * whenever the process is killed. Meanwhile other threads append chunks after it.
 *
 * The oldest chunks begin at the hand. A new chunk takes as many adjacent places as it needs, but no taken one. The
 * rest of these places becomes free, and the hand moves there.
 *
 * With a limit of time a new chunk first frees the places of all chunks that are too old, wherever they are. Then it takes
 * free places, or else appends.
 */
#include "writer/runtrace.h"

#include "base/array.h"
#include "base/invariant.h"
#include "clock/clock.h"
#include "writer/filesize.h"
#include "writer/room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

struct trace_place {
    uint64_t offset, bytes;
    uint32_t events; /* in the chunk there. 0: free, or communicators */
    uint32_t thread; /* the thread whose event first_event is the first */
    uint64_t first_event;
    uint64_t written; /* ticks when the chunk was complete. 0: free */
    bool taken;       /* a thread is writing there */
};

struct trace_places {
    struct trace_place *list;
    size_t count, capacity, hand;
    bool full; /* the file cannot grow any more */
};

static bool trace_places_is_valid(const struct trace_places *places)
{
    return places->count <= places->capacity && places->hand <= places->count && !places->list == !places->capacity;
}

enum { BRIEF_PARTS = 4 }; /* of a brief trace: the last one is a ring */

void run_trace_policy(struct run *run, enum trace_policy policy)
{
    pthread_mutex_lock(&run->lock);
    if (run->places)
        free(run->places->list);
    free(run->places);
    run->places = policy == TRACE_STOP ? NULL : calloc(1, sizeof *run->places);
    run->trace_kept = policy == TRACE_BRIEF ? run->trace_limit / BRIEF_PARTS * (BRIEF_PARTS - 1) : 0;
    if (run->places || policy == TRACE_STOP)
        run->header->trace_policy = policy;
    pthread_mutex_unlock(&run->lock);
}

void run_time_limit(struct run *run, uint64_t ns, uint64_t ticks)
{
    pthread_mutex_lock(&run->lock);
    if (ticks && !run->trace_ticks) {
        run->header->trace_limit_ns = ns;
        run->trace_ticks = ticks;
        __atomic_store_n(&run->trace_end, clock_now() + ticks, __ATOMIC_RELAXED);
    }
    pthread_mutex_unlock(&run->lock);
}

/* What the process may have of the spool. 0: any. mpit-collect changes it while the process runs. */
static uint64_t spool_most(const struct run *run)
{
    uint64_t share = __atomic_load_n(&room_in(run->header)->share, __ATOMIC_RELAXED);
    uint64_t most = run->header->spool_limit;
    return share && share < most ? share : most;
}

bool run_spool_fits(const struct run *run, uint64_t bytes)
{
    uint64_t drained = __atomic_load_n(&run->header->drained, __ATOMIC_RELAXED), most = spool_most(run);
    return !most || run->appended_bytes + bytes <= most + drained;
}

/* Writes `head` and then data, usually with one call. Returns 0, or an errno. */
static int file_write(int fd, const void *head, size_t head_bytes, const void *data, size_t bytes, uint64_t offset)
{
    size_t whole = head_bytes + bytes;
    if (!filesize_permits(offset + whole)) /* also when it writes over old data */
        return EFBIG;
    for (size_t done = 0; done < whole;) {
        size_t skip = done < head_bytes ? done : head_bytes;
        struct iovec rest[] = {{head ? (char *)(uintptr_t)head + skip : NULL, head_bytes - skip},
                               {data ? (char *)(uintptr_t)data + (done - skip) : NULL, bytes - (done - skip)}};
        ssize_t n = filesize_write(fd, rest, 2, offset + done);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 ? errno : ENOSPC;
        done += (size_t)n;
    }
    return 0;
}

static int free_write(int fd, uint64_t bytes, uint64_t offset)
{
    struct chunk_header chunk = {.magic = CHUNK_MAGIC, .kind = CHUNK_FREE, .bytes = bytes};
    return file_write(fd, &chunk, sizeof chunk, NULL, 0, offset);
}

/* The size of the next part: `bytes`, or slightly more, so that the part after it begins on a page. */
static size_t part_bytes(const struct trace_move *move, size_t bytes)
{
    uint64_t begin = sizeof move->chunk + move->done;
    size_t rest = move->bytes - move->done;
    return bytes < rest && run_pages(begin + bytes) - begin < rest ? run_pages(begin + bytes) - begin : rest;
}

/* Writes the header with the kind CHUNK_FREE, and the first data. Returns 0, or an errno. */
static int place_write(int fd, struct trace_move *move, uint64_t offset, size_t bytes)
{
    struct chunk_header chunk = move->chunk;
    chunk.kind = CHUNK_FREE;
    move->done = 0;
    size_t part = part_bytes(move, bytes);
    int error = file_write(fd, &chunk, sizeof chunk, move->data, part, offset);
    move->done = error ? 0 : part;
    return error;
}

static bool place_insert(struct trace_places *places, size_t at, struct trace_place place)
{
    MPIT_ASSERT(trace_places_is_valid(places) && at <= places->count);
    if (!ARRAY_RESERVED(places->list, &places->capacity, places->count))
        return false;
    memmove(&places->list[at + 1], &places->list[at], (places->count - at) * sizeof *places->list);
    places->list[at] = place;
    places->count++;
    return true;
}

static void places_remove(struct trace_places *places, size_t at)
{
    MPIT_ASSERT(trace_places_is_valid(places) && at < places->count);
    memmove(&places->list[at], &places->list[at + 1], (--places->count - at) * sizeof *places->list);
    places->hand -= places->hand > at;
}

enum { LENGTH_AHEAD = 1 << 20 };

/* Not an error of the file: the trace has no place for the chunk, and may not grow. */
enum { NO_PLACE = ENOBUFS };

/* Makes the file at least `end` bytes long. The part after the used bytes takes no space. Returns 0, or an errno:
 * NO_PLACE if the reserve begins before. */
static int file_lengthen(struct run *run, int fd, uint64_t end)
{
    uint64_t ahead = end + LENGTH_AHEAD;
    if (end <= run->length)
        return 0;
    if (!filesize_permits(end))
        return EFBIG;
    if (!filesize_permits(ahead) || run->trace_limit)
        ahead = end;
    if (room_of_files(fd, NULL) < ahead - run->length)
        return NO_PLACE;
    int error = filesize_set(fd, ahead);
    run->length = error ? run->length : ahead;
    return error;
}

/* The first part of a brief trace is full, or has its part of the spool. */
static bool ring_begins(const struct run *run, uint64_t bytes)
{
    uint64_t most = spool_most(run) / BRIEF_PARTS * (BRIEF_PARTS - 1);
    return run->trace_bytes + bytes > run->trace_kept || (most && run->appended_bytes + bytes > most);
}

/* Appends a place at the end of the file, which grows. Returns 0, or an errno: NO_PLACE if it may not grow now. */
static int place_append(struct run *run, int fd, struct trace_move *move, size_t part)
{
    uint64_t offset = run->virtual_bytes, bytes = move->chunk.bytes;
    struct trace_places *places = ring_begins(run, bytes) ? run->places : NULL;
    if (!filesize_permits(offset + bytes))
        return EFBIG;
    if (!run_spool_fits(run, bytes))
        return NO_PLACE;
    if (places &&
        !place_insert(places, places->count, (struct trace_place){.offset = offset, .bytes = bytes, .taken = true}))
        return ENOMEM;
    int error = file_lengthen(run, fd, offset + bytes);
    if (!error)
        error = place_write(fd, move, offset, part);
    if (error) {
        if (places)
            places->count--;
        /* A part of the chunk may be in the file. It is cut off, and the next chunk starts at this place. */
        if (filesize_set(fd, offset) != 0)
            run_tear(run, error);
        run->length = offset;
        return error;
    }
    run->virtual_bytes += bytes;
    run->trace_bytes += bytes;
    room_in(run->header)->appended = run->appended_bytes += bytes;
    __atomic_store_n(&run->header->file_bytes, run->virtual_bytes, __ATOMIC_RELEASE);
    move->offset = offset;
    move->fresh = true;
    return 0;
}

/* Turns several places into one free place. Their data are lost. */
static int places_free(struct run *run, int fd, size_t first, size_t end)
{
    struct trace_places *places = run->places;
    uint64_t bytes = 0;
    MPIT_ASSERT(trace_places_is_valid(places) && first < end && end <= places->count);
    for (size_t i = first; i < end; i++)
        bytes += places->list[i].bytes;
    int error = free_write(fd, bytes, places->list[first].offset);
    if (error)
        return error;
    for (size_t i = first; i < end; i++) {
        const struct trace_place *place = &places->list[i];
        run_lost(run, LOSS_TRACE_LIMIT, place->events);
        run_gap_note(run, LOSS_TRACE_LIMIT, place->thread, place->first_event, place->events);
    }
    places->list[first].bytes = bytes;
    places->list[first].events = 0;
    places->list[first].written = 0;
    memmove(&places->list[first + 1], &places->list[end], (places->count - end) * sizeof *places->list);
    places->count -= end - first - 1;
    return 0;
}

/* True if there are adjacent places, none of them taken, with `bytes` in total. */
static bool places_hold(const struct trace_places *places, uint64_t bytes)
{
    uint64_t found = 0, end = 0;
    for (size_t i = 0; i < places->count && found < bytes; i++) {
        const struct trace_place *place = &places->list[i];
        found = place->taken ? 0 : place->offset == end ? found + place->bytes : place->bytes;
        end = place->offset + place->bytes;
    }
    return found >= bytes;
}

/*
 * Moves the hand to a free place of at least `bytes`. Returns 0, or an errno: NO_PLACE if the trace has no such place.
 */
static int free_place_find(struct run *run, int fd, uint64_t bytes)
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
        if (places->list[end].taken) {
            places->hand++;
            continue;
        }
        do
            found += places->list[end++].bytes;
        while (found < bytes && end < places->count && !places->list[end].taken &&
               places->list[end].offset == places->list[end - 1].offset + places->list[end - 1].bytes);
        int error = places_free(run, fd, places->hand, end);
        if (error || found >= bytes)
            return error;
        places->hand++; /* too small, but its data are older than the data that are dropped next */
    }
    return NO_PLACE;
}

/* Takes the place of the oldest chunks. Returns 0, or an errno. */
static int place_reuse(struct run *run, int fd, struct trace_move *move, size_t part)
{
    struct trace_places *places = run->places;
    uint64_t bytes = move->chunk.bytes;
    if (!places_hold(places, bytes))
        return NO_PLACE;
    int error = free_place_find(run, fd, bytes);
    if (error)
        return error;
    struct trace_place place = places->list[places->hand];
    uint64_t rest = place.bytes - bytes;
    if (rest &&
        !place_insert(places, places->hand + 1, (struct trace_place){.offset = place.offset + bytes, .bytes = rest}))
        return ENOMEM;
    if (rest)
        error = free_write(fd, rest, place.offset + bytes);
    if (!error)
        error = place_write(fd, move, place.offset, part);
    if (error) { /* the whole place is still free */
        if (rest)
            places_remove(places, places->hand + 1);
        return error;
    }
    places->list[places->hand].bytes = bytes;
    places->list[places->hand].taken = true;
    places->hand++;
    move->offset = place.offset;
    move->fresh = false;
    return 0;
}

/* NULL: the chunk there has no place in the list, since it stays. */
static struct trace_place *place_at(const struct trace_places *places, uint64_t offset)
{
    size_t count = places ? places->count : 0, at = ARRAY_FIRST(i, 0, count, places->list[i].offset >= offset);
    return at < count && places->list[at].offset == offset ? &places->list[at] : NULL;
}

/* Drops the chunks that are older than the limit of time. On failure the next write reports the error. */
static void old_drop(struct run *run, int fd)
{
    uint64_t now = clock_now();
    for (size_t i = 0; i < run->places->count; i++) {
        const struct trace_place *place = &run->places->list[i];
        if (place->written && !place->taken && place->written + run->trace_ticks < now)
            places_free(run, fd, i, i + 1);
    }
}

/* With a limit of time the places are not in the order of their age. Moves the hand to free ones of at least `bytes`, and
 * returns true. If there are none, it moves the hand to the oldest chunk. */
static bool free_place_seek(const struct run *run, uint64_t bytes)
{
    struct trace_places *places = run->places;
    uint64_t found = 0, end = 0;
    size_t first = 0, oldest = places->count;
    for (size_t i = 0; i < places->count; i++) {
        const struct trace_place *place = &places->list[i];
        bool is_free = !place->taken && !place->written, goes_on = found && place->offset == end;
        first = goes_on ? first : i;
        found = !is_free ? 0 : goes_on ? found + place->bytes : place->bytes;
        end = place->offset + place->bytes;
        if (found >= bytes) {
            places->hand = first;
            return true;
        }
        if (!place->taken && (oldest == places->count || place->written < places->list[oldest].written))
            oldest = i;
    }
    places->hand = oldest;
    return false;
}

static bool over_limit(const struct run *run, const struct trace_move *move)
{
    return (run->trace_limit && run->trace_bytes + move->chunk.bytes > run->trace_limit) ||
           (!run->places && run_time_over(run, move->begin_ticks));
}

/* Takes a place and writes the first `part` of the data. Returns 0, or an errno. */
static int trace_place_take(struct run *run, int fd, struct trace_move *move, size_t part)
{
    bool found = false;
    if (run->places && run->trace_ticks) {
        old_drop(run, fd);
        found = free_place_seek(run, move->chunk.bytes);
    }
    bool grows = !run->broken && !over_limit(run, move) && !found && !(run->places && run->places->full);
    int error = grows                   ? place_append(run, fd, move, part)
                : run->broken           ? run_broken_by(run)
                : over_limit(run, move) ? NO_PLACE
                                        : EDQUOT;
    if (!found && !run->broken && (!grows || error == NO_PLACE))
        run->header->trace_bytes_over = 1;
    int reuse = error && run->places ? place_reuse(run, fd, move, part) : NO_PLACE;
    if (error && reuse != NO_PLACE)
        error = reuse;
    move->taken = !error;
    return error;
}

/* Releases a place. From now on it holds `events` events. 0: it is free. */
static void place_give(struct run *run, struct trace_move *move, uint32_t events)
{
    struct trace_place *place = place_at(run->places, move->offset);
    move->taken = false;
    if (!place)
        return;
    place->taken = false;
    place->events = events;
    place->thread = move->chunk.thread;
    place->first_event = move->chunk.first_event;
    place->written = move->done < move->bytes ? 0 : clock_now();
}

/* Writes the next part of the data. Returns 0, or an errno. */
static int data_write(struct run *run, int fd, struct trace_move *move, size_t bytes)
{
    size_t part = part_bytes(move, bytes);
    const struct trace_place *place = move->fresh ? place_at(run->places, move->offset) : NULL;
    int error = file_write(fd, NULL, 0, (const char *)move->data + move->done, part,
                           move->offset + sizeof move->chunk + move->done);
    if (!error) {
        move->done += part;
    } else if (place) { /* The disk is full. The chunk takes the place of an older one. */
        places_remove(run->places, (size_t)(place - run->places->list));
        run->places->full = true;
        move->taken = false;
        int again = trace_place_take(run, fd, move, bytes);
        error = again == NO_PLACE ? error : again;
    }
    return error;
}

/* Writes the real kind, since the chunk is complete. Returns 0, or an errno. */
static int trace_chunk_publish(struct run *run, int fd, struct trace_move *move)
{
    const struct chunk_header *chunk = &move->chunk;
    int error =
        file_write(fd, NULL, 0, &chunk->kind, sizeof chunk->kind, move->offset + offsetof(struct chunk_header, kind));
    if (!error)
        place_give(run, move, chunk->kind == CHUNK_COMMS ? 0 : chunk->capacity);
    return error;
}

enum step { STEP_TAKE, STEP_PUT, STEP_PUBLISH };

static int step_do(struct run *run, struct trace_move *move, enum step step, size_t bytes)
{
    if (step == STEP_TAKE && run->broken && !run->places)
        return run_broken_by(run);
    int fd = run_file_hold(run);
    if (fd < 0)
        return errno;
    int error = step == STEP_TAKE  ? trace_place_take(run, fd, move, bytes)
                : step == STEP_PUT ? data_write(run, fd, move, bytes)
                                   : trace_chunk_publish(run, fd, move);
    run_file_release(run, fd);
    return error;
}

/* The lock is held during the write. Writes into one file wait for each other in the kernel anyway. */
static bool trace_step(struct run *run, struct trace_move *move, enum step step, size_t bytes)
{
    int error = 0;
    pthread_mutex_lock(&run->lock);
    MPIT_ASSERT(run_is_valid(run) && move->done <= move->bytes);
    if (!run_has_file(run) || run->closed) {
        error = ENOENT;
        run->cause = LOSS_NO_FILE;
    } else if (step == STEP_TAKE && over_limit(run, move) && !run->places) {
        error = EDQUOT;
        run->cause = LOSS_TRACE_LIMIT;
        if (!run_time_over(run, move->begin_ticks))
            run->header->trace_bytes_over = 1;
    } else if ((error = step_do(run, move, step, bytes)) != 0) {
        run->cause = error != NO_PLACE ? run_file_trouble(run, error)
                     : run->places     ? LOSS_TRACE_LIMIT
                                       : LOSS_SPOOL_FULL;
    }
    if (error && move->taken)
        place_give(run, move, 0);
    if (error)
        run_lost(run, run->cause, move->chunk.capacity);
    if (error && move->chunk.kind != CHUNK_COMMS)
        run_gap_note(run, run->cause, move->chunk.thread, move->chunk.first_event, move->chunk.capacity);
    pthread_mutex_unlock(&run->lock);
    return error == 0;
}

bool run_trace_take(struct run *run, struct trace_move *move, size_t bytes)
{
    move->chunk.magic = CHUNK_MAGIC;
    move->chunk.bytes = run_pages(sizeof move->chunk + move->bytes);
    move->taken = false;
    return trace_step(run, move, STEP_TAKE, bytes);
}

void run_trace_room(struct run *run, size_t bytes)
{
    pthread_mutex_lock(&run->lock);
    uint64_t end = run->virtual_bytes + run_pages(sizeof(struct chunk_header) + bytes);
    if (end > run->length && run_has_file(run) && !run->closed && !run->broken && !run->trace_limit) {
        int fd = run_file_hold(run);
        if (fd >= 0)
            file_lengthen(run, fd, end); /* on failure the next write reports the error */
        run_file_release(run, fd);
    }
    pthread_mutex_unlock(&run->lock);
}

bool run_trace_put(struct run *run, struct trace_move *move, size_t bytes)
{
    return trace_step(run, move, STEP_PUT, bytes);
}

bool run_trace_publish(struct run *run, struct trace_move *move)
{
    return trace_step(run, move, STEP_PUBLISH, 0);
}

bool run_trace_finish(struct run *run, struct trace_move *move)
{
    if (!move->taken && !run_trace_take(run, move, SIZE_MAX))
        return false;
    while (move->done < move->bytes)
        if (!run_trace_put(run, move, SIZE_MAX))
            return false;
    return run_trace_publish(run, move);
}

bool run_comms_append(struct run *run, uint64_t first, uint32_t count, const void *packed, size_t bytes)
{
    struct trace_move move = {
        .chunk = {.kind = CHUNK_COMMS, .capacity = count, .first_event = first, .packed_bytes = bytes},
        .data = packed,
        .bytes = bytes,
        .begin_ticks = clock_now()};
    return run_trace_finish(run, &move);
}
