#define _GNU_SOURCE
#include "job/compaction.h"

#include "calls.h"
#include "collect/resultfile.h"
#include "collect/spools.h"
#include "format/compact.h"
#include "job/container.h"
#include "reader/runmap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* A reader keeps the image of a compact file in memory, some 400 KiB. So in a directory with more files those that have
 * only counters stay as they are. */
enum { ERROR_BYTES = 512, PIECE_BYTES = 16 << 20, COUNTERS_MOST = 2048 };

/* One file in progress. */
struct work {
    const struct run_job *job;
    const struct run_reader *run;
    const char *path;
    char target[PATH_MAX];         /* the same without links, which stay */
    char temporary[PATH_MAX + 32]; /* temporary name of the new file, or "" if it has none yet */
    FILE *out;
    struct compact_header header;
    struct compact_writer *writer;
    struct columns *columns;
    char *packed; /* of a piece or of a column */
    size_t room;
    struct event *events; /* of the block that is collected */
    uint32_t event_count;
    uint64_t first_event;
    struct compaction sum;
    char error[ERROR_BYTES];
};

__attribute__((format(printf, 2, 3))) static int compaction_fail(struct work *work, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(work->error, sizeof work->error, format, args);
    va_end(args);
    return -1;
}

static int bytes_put(struct work *work, const void *bytes, size_t count)
{
    if (count && fwrite(bytes, count, 1, work->out) != 1)
        return compaction_fail(work, "%s cannot be compressed: %s", work->path, strerror(errno));
    work->header.bytes += count;
    return 0;
}

static int pad(struct work *work)
{
    static const char zeros[COMPACT_ALIGN];
    return bytes_put(work, zeros, (0 - work->header.bytes) % COMPACT_ALIGN);
}

static uint64_t padded(uint64_t bytes)
{
    return (bytes + COMPACT_ALIGN - 1) / COMPACT_ALIGN * COMPACT_ALIGN;
}

/* ---- the image: everything but chunks of events */

static bool holds_events(const struct chunk_header *chunk)
{
    return chunk->kind == CHUNK_TRACE || chunk->kind == CHUNK_PACKED || chunk->kind == CHUNK_RING ||
           chunk->kind == CHUNK_FREE;
}

static int piece_put(struct work *work, uint64_t at, const void *bytes, size_t count)
{
    size_t packed = compact_pack(work->writer, bytes, count, work->packed, work->room);
    if (!packed)
        return compaction_fail(work, "%s cannot be compressed", work->path);
    struct chunk_header chunk = {.magic = CHUNK_MAGIC,
                                 .kind = CHUNK_IMAGE,
                                 .bytes = padded(sizeof chunk + packed),
                                 .packed_bytes = packed,
                                 .reserved = {at, count}};
    compact_seal(&chunk, NULL);
    work->header.piece_count++;
    return bytes_put(work, &chunk, sizeof chunk) || bytes_put(work, work->packed, packed) || pad(work) ? -1 : 0;
}

static int range_put(struct work *work, uint64_t from, uint64_t to)
{
    for (uint64_t at = from; at < to;) {
        size_t count = to - at < PIECE_BYTES ? (size_t)(to - at) : PIECE_BYTES;
        if (piece_put(work, at, work->run->base + at, count) != 0)
            return -1;
        at += count;
    }
    return 0;
}

static int gone_put(struct work *work, uint64_t from, uint64_t to)
{
    struct chunk_header gone = {.magic = CHUNK_MAGIC, .kind = CHUNK_GONE, .bytes = to - from};
    return to > from ? piece_put(work, from, &gone, sizeof gone) : 0;
}

/* Writes the kept parts and, for each part that is left out, a header that leads over it. */
static int image_put(struct work *work)
{
    const struct run_reader *run = work->run;
    uint64_t kept = 0, gone = 0, at = RUN_PAGE_BYTES; /* kept .. gone will be written, gone .. at is left out */
    bool skipping = false;
    for (const struct chunk_header *chunk; at < run->bytes; at += chunk->bytes) { /* in the order of the file */
        chunk = (const void *)(run->base + at);
        if (holds_events(chunk) != skipping) {
            if (skipping) {
                if (range_put(work, kept, gone) != 0 || gone_put(work, gone, at) != 0)
                    return -1;
                kept = at;
            } else {
                gone = at;
            }
            skipping = !skipping;
        }
    }
    return range_put(work, kept, skipping ? gone : at) || (skipping && gone_put(work, gone, at)) ? -1 : 0;
}

/* ---- the events */

static int thread_events_put(struct work *work, uint32_t thread)
{
    if (!work->event_count)
        return 0;
    columns_write(work->columns, work->events, work->event_count);
    struct column_sizes sizes = {{0}, {0}, {0}};
    size_t used = 0;
    for (int i = 0; i < COLUMN_COUNT; i++) {
        size_t plain = work->columns->bytes[i], packed = 0;
        if (plain && !(packed = compact_pack(work->writer, column_bytes(work->columns, i), plain, work->packed + used,
                                             work->room - used)))
            return compaction_fail(work, "%s cannot be compressed", work->path);
        sizes.plain[i] = (uint32_t)plain;
        sizes.packed[i] = (uint32_t)packed;
        used += packed;
    }
    struct chunk_header chunk = {.magic = CHUNK_MAGIC,
                                 .kind = CHUNK_COLUMNS,
                                 .bytes = padded(sizeof chunk + sizeof sizes + used),
                                 .packed_bytes = sizeof sizes + used,
                                 .thread = thread,
                                 .capacity = work->event_count,
                                 .first_event = work->first_event};
    compact_seal(&chunk, &sizes);
    work->header.block_count++;
    work->event_count = 0;
    return bytes_put(work, &chunk, sizeof chunk) || bytes_put(work, &sizes, sizeof sizes) ||
                   bytes_put(work, work->packed, used) || pad(work)
               ? -1
               : 0;
}

static int thread_put(struct work *work, uint32_t thread)
{
    struct event_cursor cursor;
    int result = 0;
    event_cursor_open(&cursor, work->run, thread);
    cursor.whole = cursor.raw = true;
    for (const struct event *event; result == 0 && (event = event_cursor_next(&cursor));) {
        uint64_t number = cursor.next - 1;
        if (work->event_count == COLUMNS_EVENTS || number != work->first_event + work->event_count)
            result = thread_events_put(work, thread);
        if (!work->event_count)
            work->first_event = number;
        work->events[work->event_count++] = *event;
        work->sum.events++;
        work->sum.calls += event_kind(event) < CALL_COUNT && event_kind(event) > CALL_NONE;
    }
    event_cursor_close(&cursor);
    return result == 0 ? thread_events_put(work, thread) : -1;
}

/* ---- read back */

static bool thread_is_same(const struct run_reader *run, const struct run_reader *made, uint32_t thread)
{
    struct event_cursor old, new;
    bool same = true;
    event_cursor_open(&old, run, thread);
    event_cursor_open(&new, made, thread);
    old.whole = new.whole = old.raw = new.raw = true;
    while (same) {
        const struct event *a = event_cursor_next(&old), *b = event_cursor_next(&new);
        same = a && b ? memcmp(a, b, sizeof *a) == 0 && old.next == new.next : a == b;
        if (!a)
            break;
    }
    same = same && old.missing == new.missing;
    event_cursor_close(&old);
    event_cursor_close(&new);
    return same;
}

static bool image_is_same(const struct run_reader *run, const struct run_reader *made)
{
    uint64_t at = RUN_PAGE_BYTES;
    if (run->bytes != made->bytes || memcmp(run->base, made->base, RUN_PAGE_BYTES) != 0)
        return false;
    for (const struct chunk_header *chunk; at < run->bytes; at += chunk->bytes) { /* in the order of the file */
        chunk = (const void *)(run->base + at);
        if (!holds_events(chunk) && memcmp(chunk, made->base + at, chunk->bytes) != 0)
            return false;
    }
    return true;
}

static int read_back(struct work *work)
{
    char path[64];
    struct run_reader made;
    snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(work->out));
    if (run_reader_open(&made, path) != 0)
        return compaction_fail(work, "%s: its compact form %s", work->path, made.error);
    run_reader_hold(&made); /* other threads release theirs meanwhile */
    bool same = image_is_same(work->run, &made);
    for (uint32_t thread = 0; same && thread < work->run->thread_count; thread++)
        same = thread_is_same(work->run, &made, thread);
    run_reader_close(&made);
    return same ? 0 : compaction_fail(work, "%s is unchanged: its compact form would not be the same", work->path);
}

/* ---- one file */

/* Makes a file without a name until it is complete, if the file system supports that. */
static int out_open(struct work *work, const struct stat *st)
{
    char directory[sizeof work->temporary];
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(work->target, '/') - work->target) + 1, work->target);
    int fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (fd < 0) {
        snprintf(work->temporary, sizeof work->temporary, "%s.part-XXXXXX", work->target);
        fd = part_make(work->temporary);
    }
    if (fd < 0) {
        work->temporary[0] = '\0';
        return compaction_fail(work, "no file can be created in the directory of %s: %s", work->target,
                               strerror(errno));
    }
    if (fchown(fd, st->st_uid, st->st_gid) != 0) /* for root and the run of another user */
        errno = 0;
    fchmod(fd, st->st_mode & 07777);
    flock(fd, LOCK_EX | LOCK_NB); /* as part_make does: it will have a temporary name */
    work->out = fdopen(fd, "w+");
    if (!work->out) {
        close(fd);
        return compaction_fail(work, "no memory");
    }
    return 0;
}

static int out_put(struct work *work)
{
    struct compact_header *header = &work->header;
    *header = (struct compact_header){
        .version = COMPACT_VERSION, .byte_order = RUN_BYTE_ORDER, .image_bytes = work->run->bytes};
    memcpy(header->magic, COMPACT_MAGIC, sizeof header->magic);
    if (bytes_put(work, header, sizeof *header) != 0 || image_put(work) != 0)
        return -1;
    for (uint32_t thread = 0; thread < work->run->thread_count; thread++)
        if (thread_put(work, thread) != 0)
            return -1;
    if (fflush(work->out) != 0 || pwrite(fileno(work->out), header, sizeof *header, 0) != (ssize_t)sizeof *header)
        return compaction_fail(work, "%s cannot be compressed: %s", work->path, strerror(errno));
    return 0;
}

/* Meanwhile another process may have joined the files of the job: the container has the name of one of them. */
static bool is_read_file(const struct work *work, struct stat *st)
{
    const struct run_map *map = work->run->map;
    return stat(work->target, st) == 0 && st->st_dev == map->extent.device && st->st_ino == map->extent.inode &&
           (size_t)st->st_size == map->bytes;
}

/* Replaces the old file in one step. */
static int out_name(struct work *work, const struct stat *st)
{
    char path[64];
    struct stat now;
    const struct timespec times[2] = {st->st_atim, st->st_mtim};
    futimens(fileno(work->out), times);
    if (!work->temporary[0]) {
        snprintf(path, sizeof path, "/proc/self/fd/%d", fileno(work->out));
        snprintf(work->temporary, sizeof work->temporary, "%s.part-%d", work->target, (int)getpid());
        if (linkat(AT_FDCWD, path, AT_FDCWD, work->temporary, AT_SYMLINK_FOLLOW) != 0) {
            work->temporary[0] = '\0';
            return compaction_fail(work, "%s cannot be replaced: %s", work->path, strerror(errno));
        }
    }
    if (!is_read_file(work, &now))
        return compaction_fail(work, "%s was replaced by another file while it was read", work->path);
    if (rename(work->temporary, work->target) != 0)
        return compaction_fail(work, "%s cannot be replaced: %s", work->path, strerror(errno));
    work->temporary[0] = '\0';
    return 0;
}

/* The piece of the job is the new file from now on. */
static void piece_follow(const struct work *work)
{
    struct stat st;
    if (fstat(fileno(work->out), &st) != 0)
        return;
    for (size_t i = 0; i < work->job->piece_count; i++) {
        struct run_piece *piece = &work->job->pieces[i];
        if (strcmp(piece->path, work->path) != 0)
            continue;
        piece->extent.device = st.st_dev;
        piece->extent.inode = st.st_ino;
        piece->file_bytes = (uint64_t)st.st_size;
        piece->modified_ns = modified_ns(&st);
    }
}

static int file_compact(struct work *work)
{
    struct stat st;
    size_t room = compact_bound(PIECE_BYTES);
    if (!realpath(work->path, work->target) || !is_read_file(work, &st))
        return compaction_fail(work, "%s was replaced by another file, or is gone", work->path);
    if (out_open(work, &st) != 0)
        return -1;
    work->writer = compact_writer_make();
    work->columns = malloc(sizeof *work->columns);
    work->events = malloc(COLUMNS_EVENTS * sizeof *work->events);
    work->packed = malloc(room);
    work->room = room;
    if (!work->writer || !work->columns || !work->events || !work->packed)
        return compaction_fail(work, "no memory");
    if (out_put(work) != 0 || read_back(work) != 0 || out_name(work, &st) != 0)
        return -1;
    piece_follow(work);
    work->sum.done = 1;
    work->sum.bytes_before = (uint64_t)st.st_size;
    work->sum.bytes_after = work->header.bytes;
    return 0;
}

static void work_end(struct work *work)
{
    if (work->temporary[0])
        unlink(work->temporary);
    if (work->out)
        fclose(work->out);
    compact_writer_free(work->writer);
    free(work->columns);
    free(work->events);
    free(work->packed);
}

/* ---- all files */

struct crew {
    const struct run_dir *dir;
    pthread_mutex_t lock;
    size_t job, file; /* which comes next */
    size_t end;       /* of the jobs */
    size_t files;     /* of the directory */
    struct compaction *result;
    char *error;
    int failed;
};

static bool next_take(struct crew *crew, struct work *work)
{
    bool some = false;
    pthread_mutex_lock(&crew->lock);
    for (; crew->job < crew->end; crew->job++, crew->file = 0) {
        const struct run_job *job = &crew->dir->jobs[crew->job];
        if (crew->file < job->file_count) {
            work->job = job;
            work->run = run_job_file(job, crew->file++);
            work->path = run_reader_path(work->run);
            run_reader_hold(work->run);
            some = true;
            break;
        }
    }
    pthread_mutex_unlock(&crew->lock);
    return some;
}

static void result_add(struct crew *crew, const struct work *work, int failed)
{
    pthread_mutex_lock(&crew->lock);
    run_reader_let_go(work->run);
    run_reader_rest(work->run);
    crew->result->done += work->sum.done;
    crew->result->already += work->sum.already;
    crew->result->live += work->sum.live;
    crew->result->contained += work->sum.contained;
    crew->result->many += work->sum.many;
    if (!failed) {
        crew->result->bytes_before += work->sum.bytes_before;
        crew->result->bytes_after += work->sum.bytes_after;
        crew->result->events += work->sum.events;
        crew->result->calls += work->sum.calls;
    } else if (!crew->failed) {
        crew->failed = -1;
        memcpy(crew->error, work->error, sizeof work->error);
    }
    pthread_mutex_unlock(&crew->lock);
}

static bool has_only_counters(const struct run_header *header)
{
    return !header->traced && !header->samples_hz;
}

/* A process may still write to its live file. In an output directory are copies. */
static bool may_change(const struct work *work)
{
    char directory[PATH_MAX];
    struct spool spool;
    if (work->run->header.phase == RUN_FINALIZED)
        return false;
    if (!realpath(work->path, directory))
        return true;
    *strrchr(directory, '/') = '\0';
    return spool_at(&spool, directory);
}

static void *crew_member(void *argument)
{
    struct crew *crew = argument;
    for (;;) {
        struct work work = {0};
        int failed = 0;
        if (!next_take(crew, &work))
            return NULL;
        if (work.run->file)
            work.sum.already = 1;
        else if (run_reader_is_part(work.run))
            work.sum.contained = 1;
        else if (may_change(&work))
            work.sum.live = 1;
        else if (crew->files > COUNTERS_MOST && has_only_counters(&work.run->header))
            work.sum.many = 1;
        else
            failed = file_compact(&work);
        work_end(&work);
        result_add(crew, &work, failed);
    }
}

int compaction_run(const struct run_dir *dir, const struct run_job *job, unsigned threads, struct compaction *result,
                   char error[512])
{
    enum { THREADS_MOST = 64 };
    size_t first = job ? (size_t)(job - dir->jobs) : 0;
    struct crew crew = {.dir = dir,
                        .job = first,
                        .end = job ? first + 1 : dir->job_count,
                        .lock = PTHREAD_MUTEX_INITIALIZER,
                        .result = result,
                        .error = error};
    pthread_t members[THREADS_MOST];
    size_t started = 0;
    *result = (struct compaction){0};
    error[0] = '\0';
    signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is an error like a full disk */
    for (size_t i = 0; i < dir->job_count; i++)
        crew.files += dir->jobs[i].file_count;
    if (!threads)
        threads = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
    for (; started + 1 < threads && started + 1 < crew.files && started < THREADS_MOST; started++)
        if (pthread_create(&members[started], NULL, crew_member, &crew) != 0)
            break;
    crew_member(&crew); /* this one works, too */
    for (size_t i = 0; i < started; i++)
        pthread_join(members[i], NULL);
    return crew.failed;
}
