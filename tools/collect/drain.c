#define _GNU_SOURCE
#include "collect/drain.h"

#include "base/text.h"
#include "base/processlife.h"
#include "jobfile/resultfolder.h"
#include "base/spools.h"
#include "jobfile/drained.h"
#include "jobfile/packing.h"
#include "reader/readercomms.h"
#include "reader/regularfile.h"
#include "writer/room.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_MS = 20, REST_MS = 200, DRAINED = 1, BEGIN_SECONDS = 10, GROWS_SECONDS = 600 };

/* So much of a live file is drained at a time, and then its memory is freed. */
enum { STEP_BYTES = 1 << 20, STEP_CHUNKS = 256 };

/* A live file that is drained. */
struct draining {
    int live, part;
    struct run_header *header; /* of the live file, mapped */
    struct job_writer writer;  /* of the part */
    struct packing *packing;
    uint64_t chunks[STEP_CHUNKS]; /* offsets of the chunks of this step */
    size_t count, freed;
    uint64_t bytes;             /* of these chunks */
    struct chunk_header *chunk; /* memory for one */
    size_t room;
    uint64_t last; /* offset of the drained chunk just before this one, or 0 if that was another chunk */
    struct chunk_header last_chunk;
};

static void draining_close(struct draining *draining)
{
    packing_free(draining->packing);
    job_writer_release(&draining->writer);
    if (draining->header)
        munmap(draining->header, RUN_PAGE_BYTES);
    if (draining->live >= 0)
        close(draining->live);
    if (draining->part >= 0)
        close(draining->part);
    free(draining->chunk);
}

/* Opens the file, or makes it. If the user has removed it, its chunks are lost. Later chunks keep their places. */
static int drained_file_open(struct draining *draining, const char *path)
{
    struct run_header *header = draining->header;
    const bool begun = header->drained != 0;
    if (!begun) {
        room_in(header)->drained_end = sizeof(struct job_header); /* first: with it the collector removes the file */
        unlink(path);
    }
    draining->part = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_CREAT | (begun ? 0 : O_EXCL), 0600);
    if (draining->part < 0)
        return -1;
    if (begun)
        return job_writer_open(&draining->writer, draining->part, room_in(header)->drained_end);
    result_share(draining->part);
    return job_writer_begin(&draining->writer, draining->part, header->job, 1);
}

/* Returns 0, or -1. */
static int draining_open(struct draining *draining, const char *live, const char *part)
{
    *draining = (struct draining){.live = open(live, O_RDWR | O_NOFOLLOW | O_CLOEXEC), .part = -1};
    void *page = draining->live < 0 ? MAP_FAILED
                                    : mmap(NULL, RUN_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, draining->live, 0);
    draining->header = page == MAP_FAILED ? NULL : page;
    if (draining->header && drained_file_open(draining, part) == 0 && (draining->packing = packing_make()))
        return 0;
    draining_close(draining);
    return -1;
}

/* Returns whether the chunk is finished: any chunk of the trace, or a chunk of samples that is not being filled. */
static bool is_movable(const struct chunk_header *chunk)
{
    bool finished = chunk->kind == CHUNK_TRACE || chunk->kind == CHUNK_PACKED ||
                    (chunk->kind == CHUNK_SAMPLES && chunk->reserved[0] == 0);
    return finished && chunk->bytes <= PACKING_CHUNK_MOST && reader_chunk_fits(chunk);
}

/* Reads a chunk into draining->chunk, with the header that was checked. Returns 0, or -1. */
static int chunk_read(struct draining *draining, uint64_t offset, const struct chunk_header *head)
{
    if (head->bytes > draining->room) {
        void *memory = realloc(draining->chunk, head->bytes);
        if (!memory)
            return -1;
        draining->chunk = memory;
        draining->room = head->bytes;
    }
    if (pread(draining->live, draining->chunk, head->bytes, (off_t)offset) != (ssize_t)head->bytes)
        return -1; /* it is tried again */
    *draining->chunk = *head;
    return 0;
}

static int chunk_head_write(const struct draining *draining, uint64_t offset, const struct chunk_header *chunk)
{
    return pwrite(draining->live, chunk, sizeof *chunk, (off_t)offset) == (ssize_t)sizeof *chunk ? 0 : -1;
}

static void memory_give_back(const struct draining *draining, uint64_t offset, uint64_t bytes)
{
    if (bytes)
        fallocate(draining->live, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes);
}

/* Joins a drained chunk to the chunk before it, if that is drained, too. */
static int chunk_join(struct draining *draining, uint64_t offset, const struct chunk_header *chunk)
{
    if (!draining->last) {
        draining->last = offset;
        draining->last_chunk = *chunk;
        memory_give_back(draining, offset + RUN_PAGE_BYTES, chunk->bytes - RUN_PAGE_BYTES);
        return 0;
    }
    draining->last_chunk.bytes += chunk->bytes;
    if (chunk_head_write(draining, draining->last, &draining->last_chunk) != 0)
        return -1;
    memory_give_back(draining, offset, chunk->bytes);
    return 0;
}

/* Visitors of chunks return 0, 1 to stop behind the chunk, or -1. */
typedef int visitor(struct draining *draining, uint64_t offset, struct chunk_header chunk);

/* Adds a finished chunk to the step. */
static int chunk_pack(struct draining *draining, uint64_t offset, struct chunk_header chunk)
{
    if (!is_movable(&chunk))
        return 0;
    if (chunk_read(draining, offset, &chunk) != 0 || packing_chunk(draining->packing, draining->chunk, offset) != 0)
        return -1;
    draining->chunks[draining->count++] = offset;
    draining->bytes += chunk.bytes;
    return draining->bytes >= STEP_BYTES || draining->count == STEP_CHUNKS;
}

/* Marks a chunk of the step, and frees its memory. */
static int chunk_free(struct draining *draining, uint64_t offset, struct chunk_header chunk)
{
    if (draining->freed < draining->count && draining->chunks[draining->freed] == offset) {
        draining->freed++;
        chunk.kind = CHUNK_FREE;
        chunk.reserved[1] = DRAINED;
        return chunk_head_write(draining, offset, &chunk) == 0 ? chunk_join(draining, offset, &chunk) : -1;
    }
    if (chunk.kind == CHUNK_FREE && chunk.reserved[1] == DRAINED)
        return chunk_join(draining, offset, &chunk);
    draining->last = 0;
    return 0;
}

/* Visits the chunks from *at to before `end`, and moves *at behind them. Returns the result of the last visit, or -1. */
static int chunks_visit(struct draining *draining, uint64_t *at, uint64_t end, visitor *visit)
{
    int result = 0;
    while (result == 0 && *at < end) {
        struct chunk_header chunk;
        bool read = pread(draining->live, &chunk, sizeof chunk, (off_t)*at) == (ssize_t)sizeof chunk;
        if (!read || chunk.magic != CHUNK_MAGIC || chunk.bytes < RUN_PAGE_BYTES || chunk.bytes > end - *at)
            return -1; /* it is damaged */
        result = visit(draining, *at, chunk);
        *at += chunk.bytes;
    }
    return result;
}

/* Completes the step, and tells the process that there is room. Returns 0, or -1. */
static int step_end(struct draining *draining)
{
    if (packing_end(draining->packing) != 0 || job_writer_flush(&draining->writer) != 0)
        return -1;
    room_in(draining->header)->drained_end = job_writer_place(&draining->writer);
    __atomic_fetch_add(&draining->header->drained, draining->bytes, __ATOMIC_RELEASE);
    return 0;
}

/* Drains the finished chunks. A chunk gets its mark when it is written and counted. Without its mark it is drained again. */
static void chunks_drain(struct draining *draining)
{
    uint64_t at = RUN_PAGE_BYTES, freed = RUN_PAGE_BYTES;
    const uint64_t end = __atomic_load_n(&draining->header->file_bytes, __ATOMIC_ACQUIRE);
    for (int result = 1; result > 0;) {
        draining->count = draining->freed = draining->bytes = 0;
        packing_begin(draining->packing, &draining->writer);
        result = chunks_visit(draining, &at, end, chunk_pack);
        if (result < 0 || (draining->count && step_end(draining) != 0) ||
            chunks_visit(draining, &freed, at, chunk_free) != 0)
            return;
    }
}

void drain_file(const char *live, const char *part)
{
    struct draining draining;
    if (draining_open(&draining, live, part) != 0)
        return; /* the excess is lost, and counted there */
    chunks_drain(&draining);
    draining_close(&draining);
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

/* Takes the lock, because collectors use the same files. */
static void live_drain(const struct spool *spool, const char *name, const char *live)
{
    char part[PATH_MAX];
    int lock = spool_lock(spool->path, 0);
    drained_path(spool->output, name, part);
    if (lock >= 0 && result_folder_make(spool->output) == 0)
        drain_file(live, part);
    if (lock >= 0)
        close(lock);
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
    if (header->phase == RUN_FINALIZED || process_is_of_earlier_boot(header))
        return false;
    enum process_life life = process_life(header);
    return life == LIFE_HERE ||
           (life == LIFE_UNSEEN && !process_has_let_go(header, path) && file_is_young(path, GROWS_SECONDS));
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
            look->working += file_is_young(live, BEGIN_SECONDS); /* an older file without a header is damaged */
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
        live_drain(spool, entry->d_name, live);
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
