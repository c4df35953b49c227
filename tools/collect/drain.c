#define _GNU_SOURCE
#include "collect/drain.h"

#include "base/text.h"
#include "collect/processlife.h"
#include "collect/resultfolder.h"
#include "reader/regularfile.h"
#include "writer/room.h"
#include "writer/run.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20, REST_MS = 200, PIECE_BYTES = 256 << 10, DRAINED = 1 };

/* A live file and its counterpart. */
struct pair {
    int live, part;
    struct run_header *header; /* of the live file, mapped */
    char *buffer;              /* PIECE_BYTES */
    uint64_t holes;            /* in the part: drained bytes that are missing now */
    uint64_t last;             /* offset of the drained chunk just before this one, or 0 if that was another chunk */
    struct chunk_header last_chunk;
};

void drain_part_path(const char *output, const char *name, char path[PATH_MAX])
{
    snprintf(path, PATH_MAX, "%.3800s/%.255s.part", output, name);
}

/* Holes stay holes. */
static int bytes_copy(int to, int from)
{
    off_t end = lseek(from, 0, SEEK_END);
    if (end < 0 || ftruncate(to, end) != 0)
        return -1;
    for (off_t at = 0, hole; (at = lseek(from, at, SEEK_DATA)) >= 0; at = hole) {
        hole = lseek(from, at, SEEK_HOLE);
        if (hole < 0 || lseek(to, at, SEEK_SET) < 0)
            return -1;
        for (off_t next = at; next < hole;) {
            ssize_t n = sendfile(to, from, &next, (size_t)(hole - next));
            if (n == 0)
                errno = EIO;
            if (n <= 0 && !(n < 0 && errno == EINTR))
                return -1;
        }
    }
    return errno == ENXIO ? 0 : -1; /* no more data */
}

int drain_move(const struct spool *spool, const char *name)
{
    char home[PATH_MAX], here[PATH_MAX];
    if (strcmp(spool->home, spool->output) == 0)
        return 0;
    drain_part_path(spool->home, name, home);
    drain_part_path(spool->output, name, here);
    int from = open(home, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
    int to = from < 0 ? -1 : open(here, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    int result = to < 0 ? -1 : bytes_copy(to, from), problem = errno;
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    errno = problem;
    return result;
}

static void pair_close(struct pair *pair)
{
    int error = errno;
    if (pair->header)
        munmap(pair->header, RUN_PAGE_BYTES);
    if (pair->live >= 0)
        close(pair->live);
    if (pair->part >= 0)
        close(pair->part);
    free(pair->buffer);
    errno = error;
}

/* Returns 0, or -1 with errno. The part is created if no chunk was drained before. */
static int pair_open(struct pair *pair, const char *live, const char *part)
{
    *pair = (struct pair){.live = open(live, O_RDWR | O_NOFOLLOW | O_CLOEXEC), .part = -1};
    pair->buffer = malloc(PIECE_BYTES);
    void *page = pair->live < 0 || !pair->buffer
                     ? MAP_FAILED
                     : mmap(NULL, RUN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, pair->live, 0);
    pair->header = page == MAP_FAILED ? NULL : page;
    if (pair->header) {
        bool begun = __atomic_load_n(&pair->header->drained, __ATOMIC_RELAXED) != 0;
        if (!begun)
            unlink(part);
        pair->part = open(part, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT | (begun ? 0 : O_EXCL), 0600);
        if (pair->part >= 0 && !begun)
            result_share(pair->part);
    }
    if (pair->part >= 0)
        return 0;
    pair_close(pair);
    return -1;
}

static int live_range_copy(const struct pair *pair, uint64_t offset, uint64_t bytes)
{
    for (uint64_t done = 0; done < bytes;) {
        size_t piece = bytes - done < PIECE_BYTES ? (size_t)(bytes - done) : PIECE_BYTES;
        ssize_t n = pread(pair->live, pair->buffer, piece, (off_t)(offset + done));
        if (n <= 0) {
            errno = n < 0 ? errno : EIO;
            return -1;
        }
        for (ssize_t put = 0, m; put < n; put += m)
            if ((m = pwrite(pair->part, pair->buffer + put, (size_t)(n - put), (off_t)(offset + done) + put)) <= 0) {
                errno = m < 0 ? errno : ENOSPC;
                return -1;
            }
        done += (uint64_t)n;
    }
    return 0;
}

static bool is_drained(const struct chunk_header *chunk)
{
    return chunk->kind == CHUNK_FREE && chunk->reserved[1] == DRAINED;
}

/* Returns whether the chunk is finished: any chunk of the trace, or a chunk of samples that is not being filled. */
static bool is_movable(const struct chunk_header *chunk)
{
    return chunk->kind == CHUNK_TRACE || chunk->kind == CHUNK_PACKED ||
           (chunk->kind == CHUNK_SAMPLES && chunk->reserved[0] == 0);
}

static int chunk_head_write(const struct pair *pair, uint64_t offset, const struct chunk_header *chunk)
{
    return pwrite(pair->live, chunk, sizeof *chunk, (off_t)offset) == (ssize_t)sizeof *chunk ? 0 : -1;
}

static void memory_give_back(const struct pair *pair, uint64_t offset, uint64_t bytes)
{
    if (bytes)
        fallocate(pair->live, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
}

/* Joins a drained chunk to the chunk before it, if that is drained, too. */
static int chunk_join(struct pair *pair, uint64_t offset, const struct chunk_header *chunk)
{
    if (!pair->last) {
        pair->last = offset;
        pair->last_chunk = *chunk;
        memory_give_back(pair, offset + RUN_PAGE_BYTES, chunk->bytes - RUN_PAGE_BYTES);
        return 0;
    }
    pair->last_chunk.bytes += chunk->bytes;
    if (chunk_head_write(pair, pair->last, &pair->last_chunk) != 0)
        return -1;
    memory_give_back(pair, offset, chunk->bytes);
    return 0;
}

/* Copies the chunk, marks it, and frees its memory. */
static int chunk_move(struct pair *pair, uint64_t offset, struct chunk_header chunk)
{
    uint64_t bytes = chunk.bytes;
    if (live_range_copy(pair, offset, bytes) != 0)
        return -1;
    chunk.kind = CHUNK_FREE;
    chunk.reserved[1] = DRAINED;
    if (chunk_head_write(pair, offset, &chunk) != 0 || chunk_join(pair, offset, &chunk) != 0)
        return -1;
    __atomic_fetch_add(&pair->header->drained, bytes, __ATOMIC_RELEASE);
    return 0;
}

/* Calls `visit` for each existing chunk. Returns 0, or -1 with errno. EBADMSG means that the file is damaged. */
static int chunks_visit(struct pair *pair, int (*visit)(struct pair *, uint64_t, struct chunk_header))
{
    uint64_t end = __atomic_load_n(&pair->header->file_bytes, __ATOMIC_ACQUIRE);
    for (uint64_t at = RUN_PAGE_BYTES; at < end;) {
        struct chunk_header chunk;
        bool read = pread(pair->live, &chunk, sizeof chunk, (off_t)at) == (ssize_t)sizeof chunk;
        if (!read || chunk.magic != CHUNK_MAGIC || chunk.bytes < RUN_PAGE_BYTES || chunk.bytes > end - at) {
            errno = EBADMSG;
            return -1;
        }
        if (visit(pair, at, chunk) != 0)
            return -1;
        at += chunk.bytes;
    }
    return 0;
}

static int chunk_drain(struct pair *pair, uint64_t offset, struct chunk_header chunk)
{
    if (is_movable(&chunk))
        return chunk_move(pair, offset, chunk);
    if (is_drained(&chunk))
        return chunk_join(pair, offset, &chunk);
    pair->last = 0;
    return 0;
}

/* Checks whether the drained part still exists. If the user has removed it, there is a hole, which gets a chunk
 * header. */
static int drained_check(struct pair *pair, uint64_t begin, uint64_t end)
{
    for (uint64_t at = begin, next; at < end; at = next) {
        struct chunk_header chunk;
        ssize_t n = pread(pair->part, &chunk, sizeof chunk, (off_t)at);
        next = n == (ssize_t)sizeof chunk && chunk.magic == CHUNK_MAGIC ? at + chunk.bytes : at;
        pair->holes += next > at && next <= end && chunk.kind == CHUNK_FREE; /* of an earlier try */
        if (next > at && next <= end)
            continue;
        off_t data = n < 0 ? -1 : lseek(pair->part, (off_t)at, SEEK_DATA);
        if (data < 0 && (n < 0 || errno != ENXIO))
            return -1; /* it may be there */
        next = data > (off_t)at && (uint64_t)data < end ? (uint64_t)data : end;
        chunk = (struct chunk_header){.magic = CHUNK_MAGIC, .kind = CHUNK_FREE, .bytes = next - at};
        if (pwrite(pair->part, &chunk, sizeof chunk, (off_t)at) != (ssize_t)sizeof chunk)
            return -1;
        pair->holes++;
    }
    return 0;
}

static int chunk_keep(struct pair *pair, uint64_t offset, struct chunk_header chunk)
{
    return is_drained(&chunk) ? drained_check(pair, offset, offset + chunk.bytes)
                              : live_range_copy(pair, offset, chunk.bytes);
}

/* Each hole counts once, because the number of its events is not known. */
static int losses_add(const struct pair *pair)
{
    uint64_t lost = pair->header->lost[LOSS_NO_FILE] + pair->holes;
    off_t place = (off_t)(offsetof(struct run_header, lost) + LOSS_NO_FILE * sizeof lost);
    return !pair->holes || pwrite(pair->part, &lost, sizeof lost, place) == (ssize_t)sizeof lost ? 0 : -1;
}

int drain_finish(const char *live, const char *part)
{
    struct pair pair;
    if (pair_open(&pair, live, part) != 0)
        return -1;
    bool good = live_range_copy(&pair, 0, RUN_PAGE_BYTES) == 0 && chunks_visit(&pair, chunk_keep) == 0 &&
                losses_add(&pair) == 0;
    pair_close(&pair);
    return good ? 0 : -1;
}

/* ---- while the program runs -------------------------------------------------------------------------------------- */

enum { FULL = 1, FILLING = 4 };

/* The first page of a live file. */
union page {
    struct run_header header;
    char bytes[RUN_PAGE_BYTES];
};

static uint64_t trace_held(union page *page)
{
    uint64_t appended = room_in(page)->appended, drained = page->header.drained;
    return appended > drained ? appended - drained : 0;
}

/* Returns whether a live file holds this part of the trace that is worth moving. */
static bool is_fuller_than(union page *page, uint64_t part)
{
    uint64_t limit = page->header.spool_limit, share = room_in(page)->share, most = ROOM_MOVE_BYTES;
    limit = share && share < limit ? share : limit;
    most = limit / ROOM_PART < most ? limit / ROOM_PART : most;
    return limit && page->header.trace_policy == TRACE_STOP && trace_held(page) > most / part;
}

/* Tells the process how much of its trace it may hold from now on. */
static void share_tell(const char *live, union page *page, uint64_t share)
{
    uint64_t now = room_in(page)->share, other = now > share ? now - share : share - now;
    if (!share || other < now / 16)
        return;
    int fd = open(live, O_WRONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    (void)!pwrite(fd, &share, sizeof share, (off_t)((char *)&room_in(page)->share - page->bytes));
    close(fd);
}

static bool header_read(const char *path, union page *page)
{
    struct stat st;
    int fd = regular_open(path, (struct run_extent){0}, &st);
    bool read = fd >= 0 && pread(fd, page, sizeof *page, 0) == (ssize_t)sizeof *page &&
                memcmp(page->header.magic, RUN_MAGIC, sizeof page->header.magic) == 0 &&
                page->header.version == RUN_VERSION;
    if (fd >= 0)
        close(fd);
    return read;
}

static void live_drain(const struct spool *spool, const char *name, const char *live)
{
    struct pair pair;
    char part[PATH_MAX];
    drain_part_path(spool->output, name, part);
    if (result_folder_make(spool->output) != 0 || pair_open(&pair, live, part) != 0)
        return; /* the excess is lost, and counted there */
    chunks_visit(&pair, chunk_drain);
    pair_close(&pair);
}

/* Takes the lock, because collectors use the same files. */
static void live_drain_alone(const struct spool *spool, const char *name, const char *live)
{
    int lock = spool_lock(spool->path, 0);
    if (lock < 0)
        return;
    live_drain(spool, name, live);
    close(lock);
}

/* Returns whether the file has no header yet. An older file without a header is damaged. */
static bool file_begins(const char *path)
{
    enum { BEGIN_SECONDS = 10 };
    struct stat st;
    return stat(path, &st) == 0 && time(NULL) - st.st_mtime < BEGIN_SECONDS;
}

/* The results of the reads of all live files. */
struct look {
    size_t working; /* processes that may still write */
    bool moved;     /* something was drained */
    bool fills;     /* a file will soon be full */
    uint64_t held;  /* bytes of traces */
    uint64_t share; /* what each process may hold of its trace (room.h). 0: not yet known */
};

/* A process that cannot be seen from here counts as running as long as it holds its file, and that grows. */
static bool may_write(const struct run_header *header, const char *path)
{
    enum { GROWS_SECONDS = 600 };
    struct stat st;
    if (header->phase == RUN_FINALIZED || process_is_of_earlier_boot(header))
        return false;
    enum process_life life = process_life(header);
    return life == LIFE_HERE || (life == LIFE_UNSEEN && !process_has_let_go(header, path) && stat(path, &st) == 0 &&
                                 time(NULL) - st.st_mtime < GROWS_SECONDS);
}

static void spool_look(const struct spool *spool, struct look *look)
{
    DIR *directory = opendir(spool->path);
    for (struct dirent *entry; directory && (entry = readdir(directory));) {
        char live[PATH_MAX];
        union page page, later;
        if (!text_ends(entry->d_name, RUN_FILE_SUFFIX))
            continue;
        snprintf(live, sizeof live, "%.3800s/%.255s", spool->path, entry->d_name);
        if (!header_read(live, &page)) {
            look->working += file_begins(live);
            continue;
        }
        if (!may_write(&page.header, live))
            continue;
        look->working++;
        look->held += trace_held(&page);
        share_tell(live, &page, look->share);
        look->fills = look->fills || is_fuller_than(&page, FILLING);
        if (!is_fuller_than(&page, FULL))
            continue;
        live_drain_alone(spool, entry->d_name, live);
        look->moved = look->moved || (header_read(live, &later) && later.header.drained > page.header.drained);
    }
    if (directory)
        closedir(directory);
}

int drain_run(const char *output)
{
    enum { LOOKS_IN_VAIN = 50 };
    char name[PATH_MAX];
    struct spool_list spools;
    if (spools_find(&spools, output) != 0 || !spools.count) {
        spools_release(&spools);
        return -1;
    }
    snprintf(name, sizeof name, "%.4000s/drain-lock", spools.list[0].path);
    int lock = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    uint64_t share = 0;
    bool alone = lock >= 0 && flock(lock, LOCK_EX | LOCK_NB) == 0;
    for (int vain = 0; alone && vain < LOOKS_IN_VAIN;) { /* at first a live file has no header yet */
        struct look look = {.share = share};
        for (size_t i = 0; i < spools.count; i++)
            spool_look(&spools.list[i], &look);
        share = room_share(spools.list[0].path, look.held, look.working);
        vain = look.working ? 0 : vain + 1;
        if (!look.moved)
            nanosleep(&(struct timespec){.tv_nsec = (look.fills || vain ? LOOK_MS : REST_MS) * 1000000L}, NULL);
    }
    if (lock >= 0)
        close(lock);
    spools_release(&spools);
    return alone ? 0 : -1;
}
