#include "writer/run.h"

#include "base/cancel.h"
#include "base/invariant.h"
#include "base/processes.h"
#include "writer/filesize.h"
#include "writer/runguard.h"
#include "writer/runtrace.h"
#include "writer/spool.h"
#include "format/samples.h"

#include "clock/clock.h"
#include "site/hide.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ARENA_CHUNK_BYTES = 256 << 10, CREATE_ATTEMPTS = 1000, DESCRIPTOR_LEAST = 200, DESCRIPTOR_SPARE = 56 };

void (*run_say)(const char *text);

int run_directory_make(const char *dir, void (*made)(char *path, bool last))
{
    char path[PATH_MAX];
    size_t n = strlen(dir);
    if (n == 0 || n >= sizeof path)
        return ENAMETOOLONG;
    memcpy(path, dir, n + 1);
    for (char *p = path + 1;; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(path, 0777) != 0) {
            if (errno != EEXIST && errno != EISDIR)
                return errno;
        } else if (made) {
            made(path, end == '\0');
        }
        *p = end;
        if (end == '\0')
            break;
    }
    struct stat st;
    if (stat(dir, &st) != 0)
        return errno;
    return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

bool run_is_valid(const struct run *run)
{
    return run->arena_used <= run->arena_size && run->memory_bytes <= run->memory_limit &&
           run->trace_bytes <= run->appended_bytes && run->fd >= -1 &&
           (!run->arena_offset || run->arena_offset + run->arena_size <= run->virtual_bytes);
}

/* True if the descriptor is still the file that we opened. */
static bool file_is_ours(const struct run *run, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && st.st_dev == run->device && st.st_ino == run->inode;
}

static int file_hold(struct run *run)
{
    if (run->fd >= 0) {
        if (file_is_ours(run, run->fd))
            return run->fd;
        errno = EBADF;
        return -1;
    }
    int fd = run->reopens ? open(run->path, O_RDWR | O_NOFOLLOW | O_CLOEXEC) : -1;
    if (fd < 0 || file_is_ours(run, fd))
        return fd;
    close(fd);
    errno = ENOENT; /* another file has its name now */
    return -1;
}

int run_file_hold(struct run *run)
{
    int cancel = cancel_hold(), fd = file_hold(run), error = errno;
    cancel_release(cancel);
    errno = error;
    return fd;
}

void run_file_release(const struct run *run, int fd)
{
    int cancel = cancel_hold();
    if (fd >= 0 && fd != run->fd)
        close(fd);
    cancel_release(cancel);
}

void run_tear(struct run *run, int error)
{
    run->broken = run->torn = true;
    run->broken_by = error;
}

int run_broken_by(const struct run *run)
{
    return run->broken_by ? run->broken_by : ENOSPC;
}

enum loss_cause run_file_trouble(struct run *run, int error)
{
    char text[sizeof run->path + 128];
    bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
    const char *slash = strrchr(run->path, '/'); /* without the name, as the processes of a job share one message */
    snprintf(text, sizeof text, "live files in %.*s cannot grow: %s; events without room are counted as lost",
             slash ? (int)(slash - run->path) : 0, run->path, strerror(error));
    if (run_has_file(run))
        run_tell(run, text);
    return full ? LOSS_DISK_FULL : LOSS_NO_FILE;
}

void run_tell(struct run *run, const char *text)
{
    if (!run->said && run_say)
        run_say(text);
    run->said = true;
}

/* Moves the descriptor away from programs that close all low descriptors, and stores its identity. If descriptors
 * are scarce, all are left to the program. Then the file is opened again each time it grows. */
static void file_keep(struct run *run)
{
    struct stat st = {0};
    fstat(run->fd, &st);
    run->device = st.st_dev;
    run->inode = st.st_ino;
    int high = fcntl(run->fd, F_DUPFD_CLOEXEC, DESCRIPTOR_LEAST);
    if (high >= 0) {
        close(run->fd);
        run->fd = high;
    }
}

static bool descriptors_are_few(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= DESCRIPTOR_LEAST + DESCRIPTOR_SPARE;
}

/* Allocates space before it is touched. So a full disk is an error here, and not a SIGBUS later. */
static int file_extend(int fd, uint64_t end, uint64_t bytes)
{
    return filesize_permits(end + bytes) ? filesize_allocate(fd, end, bytes) : EFBIG;
}

/* Maps memory of the file. fd < 0: of this process. */
static void *memory_map(int fd, uint64_t offset, size_t bytes)
{
    int flags = fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, fd, fd >= 0 ? (off_t)offset : 0);
    if (memory == MAP_FAILED)
        return NULL;
    if (fd >= 0)
        run_guard_add(memory, bytes);
    return memory;
}

/* Grows the file by `bytes`. -1: it cannot grow, and will not be tried again. */
static int file_grow(struct run *run, size_t bytes)
{
    if ((run->fd < 0 && !run->reopens) || run->broken)
        return -1;
    int fd = run_file_hold(run), error = fd < 0 ? errno : file_extend(fd, run->virtual_bytes, bytes);
    if (error == 0)
        return fd;
    run->no_room = run_file_trouble(run, error);
    run_lost(run, run->no_room, 1); /* stored in the file, however the process ends */
    run->unfiled = 1;
    run->broken = true;
    run->broken_by = error;
    run_file_release(run, fd);
    return -1;
}

/* Memory at the end of the run. *offset = 0 if the file could not take it. The caller holds the lock. */
static void *run_grow(struct run *run, size_t bytes, uint64_t *offset)
{
    *offset = 0;
    MPIT_ASSERT(run_is_valid(run));
    if (run->memory_bytes + bytes > run->memory_limit) {
        run_lost(run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    int fd = file_grow(run, bytes);
    bool in_file = fd >= 0;
    void *memory = memory_map(fd, run->virtual_bytes, bytes);
    run_file_release(run, fd);
    if (!memory) {
        run_lost(run, LOSS_NO_MEMORY, 1);
        run_tell(run, "the recorder has no more memory; events without room are counted as lost");
        return NULL;
    }
    run->memory_bytes += bytes;
    if (in_file) {
        *offset = run->virtual_bytes;
        run->virtual_bytes += bytes;
    }
    return memory;
}

bool run_memory_take(struct run *run, size_t bytes)
{
    pthread_mutex_lock(&run->lock);
    MPIT_ASSERT(run_is_valid(run));
    bool fits = run->memory_bytes + bytes <= run->memory_limit;
    run->memory_bytes += fits ? bytes : 0;
    pthread_mutex_unlock(&run->lock);
    return fits;
}

void run_memory_give(struct run *run, size_t bytes)
{
    pthread_mutex_lock(&run->lock);
    MPIT_ASSERT(run_is_valid(run) && bytes <= run->memory_bytes);
    run->memory_bytes -= bytes;
    pthread_mutex_unlock(&run->lock);
}

static void file_create(struct run *run, const char *dir, struct run_problem *problem)
{
    int error = 0;
    char host[64] = "localhost";
    gethostname(host, sizeof host - 1);
    for (int i = 0; i < CREATE_ATTEMPTS; i++) {
        char again[16] = ""; /* hosts in containers may share name and pid */
        if (i)
            snprintf(again, sizeof again, ".%d", i);
        int n = snprintf(run->path, sizeof run->path, "%s/%s.%d%s%s", dir, host, (int)getpid(), again, RUN_FILE_SUFFIX);
        if (n < 0 || (size_t)n >= sizeof run->path) {
            errno = ENAMETOOLONG;
            break;
        }
        /* O_EXCL and O_NOFOLLOW: never into a file or through a link that somebody else prepared */
        run->fd = open(run->path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (run->fd >= 0 || errno != EEXIST)
            break;
    }
    if (run->fd < 0) {
        problem->error = errno;
        snprintf(problem->text, sizeof problem->text, "cannot write into the directory of live files %s: %s", dir,
                 strerror(errno));
        run->path[0] = '\0';
        return;
    }
    file_keep(run);
    error = file_extend(run->fd, 0, RUN_PAGE_BYTES);
    if (error) {
        problem->error = error;
        snprintf(problem->text, sizeof problem->text, "cannot write %s: %s", run->path, strerror(error));
        unlink(run->path);
        close(run->fd);
        run->fd = -1;
        run->path[0] = '\0';
    }
}

/* Makes memory instead of a file. The neighbors on this node find it by its name in /proc. */
static void memory_create(struct run *run)
{
    if (descriptors_are_few() || (run->fd = memfd_create(RUN_MEMORY_NAME, MFD_CLOEXEC)) < 0)
        return;
    file_keep(run);
    if (file_extend(run->fd, 0, RUN_PAGE_BYTES) != 0) {
        close(run->fd);
        run->fd = -1;
    }
}

static void line_read(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[n > 0 ? n : 0] = '\0';
    text[strcspn(text, "\n")] = '\0';
}

static void header_fill(struct run_header *header, uint64_t file_bytes)
{
    memcpy(header->magic, RUN_MAGIC, sizeof header->magic);
    header->version = RUN_VERSION;
    header->recorder = MPIT_RECORDER_NUMBER;
    header->byte_order = RUN_BYTE_ORDER;
    header->header_bytes = sizeof *header;
    header->page_bytes = RUN_PAGE_BYTES;
    header->file_bytes = file_bytes;
    header->process_start = process_start(0);
    header->pid = (uint32_t)getpid();
    struct stat st;
    header->pid_namespace = stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
    header->world_rank = -1;
    header->clock_kind = clock_kind();
    struct clock_pair now = clock_pair_read();
    header->begin_ticks = now.ticks;
    header->begin_realtime_ns = now.realtime_ns;
    gethostname(header->host, sizeof header->host - 1);
    line_read("/proc/sys/kernel/random/boot_id", header->boot, sizeof header->boot);
    ssize_t n = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    header->program[n > 0 ? n : 0] = '\0';
    if (hides(HIDE_PROGRAM))
        hide_path(header->program, sizeof header->program, header->program);
    __atomic_store_n(&header->phase, RUN_STARTING, __ATOMIC_RELEASE);
}

/* The file system does not support shared mappings. Uses memory that others can find, or else private memory. */
static void map_refused(struct run *run, struct run_problem *problem)
{
    problem->error = errno;
    snprintf(problem->text, sizeof problem->text, "%s cannot be mapped: %s", run_has_file(run) ? run->path : "memory",
             strerror(errno));
    if (run_has_file(run))
        unlink(run->path);
    run->path[0] = '\0';
    close(run->fd);
    run->fd = -1;
    memory_create(run);
    run->header = memory_map(run->fd, 0, RUN_PAGE_BYTES);
    if (run->header || run->fd < 0)
        return;
    close(run->fd);
    run->fd = -1;
    run->header = memory_map(-1, 0, RUN_PAGE_BYTES);
}

void run_abandon(struct run *run)
{
    if (run->fd >= 0)
        close(run->fd);
    if (run_has_file(run))
        unlink(run->path);
    munmap(run->header, RUN_PAGE_BYTES);
    pthread_mutex_destroy(&run->lock);
    *run = (struct run){.fd = -1};
}

int run_open(struct run *run, const char *dir, uint64_t memory_limit, uint64_t trace_limit, struct run_problem *problem)
{
    *run = (struct run){.fd = -1, .memory_limit = memory_limit, .trace_limit = trace_limit, .no_room = LOSS_NO_FILE};
    pthread_mutex_init(&run->lock, NULL);
    *problem = (struct run_problem){.error = 0};
    if (dir)
        file_create(run, dir, problem);
    if (!run_has_file(run))
        memory_create(run);
    run->header = memory_map(run->fd, 0, RUN_PAGE_BYTES);
    if (!run->header && run->fd >= 0)
        map_refused(run, problem);
    if (!run->header)
        return -1;
    run->reopens = run_has_file(run) && descriptors_are_few();
    if (run_has_file(run))
        spool_file_hold(run->fd, !run->reopens);
    if (run->fd >= 0 && run->reopens) {
        close(run->fd);
        run->fd = -1;
    }
    run->virtual_bytes = run->memory_bytes = RUN_PAGE_BYTES;
    header_fill(run->header, RUN_PAGE_BYTES);
    if (problem->text[0]) {
        run_lost(run, LOSS_NO_FILE, 1);
        run->unfiled = 1;
    }
    return 0;
}

void run_unfiled(struct run *run, uint64_t events)
{
    if (!run->unfiled || events <= run->unfiled)
        return;
    run_lost(run, run->no_room, events - run->unfiled);
    run->unfiled = events;
}

void run_lost(struct run *run, enum loss_cause cause, uint64_t count)
{
    if (!run->header || run->detached)
        return;
    if (run->header->trace_policy == TRACE_BRIEF && (cause == LOSS_TRACE_LIMIT || cause == LOSS_SPOOL_FULL))
        run->header->trace_bytes_over = 1; /* its end is no loss */
    else
        __atomic_fetch_add(&run->header->lost[cause], count, __ATOMIC_RELAXED);
}

/* The chunk's header is complete before file_bytes covers it, so a reader never sees half a chunk. */
static void chunk_publish(struct run *run, struct chunk_header *chunk, uint64_t offset)
{
    __atomic_store_n(&chunk->magic, CHUNK_MAGIC, __ATOMIC_RELEASE);
    if (offset)
        __atomic_store_n(&run->header->file_bytes, run->virtual_bytes, __ATOMIC_RELEASE);
}

static bool arena_renew(struct run *run, size_t bytes)
{
    size_t size = run_pages(bytes + sizeof(struct chunk_header));
    if (size < ARENA_CHUNK_BYTES)
        size = ARENA_CHUNK_BYTES;
    uint64_t offset;
    struct chunk_header *chunk = run_grow(run, size, &offset);
    if (!chunk)
        return false;
    chunk->kind = CHUNK_ARENA;
    chunk->bytes = size;
    chunk_publish(run, chunk, offset);
    run->arena = (char *)chunk;
    run->arena_offset = offset;
    run->arena_used = sizeof *chunk;
    run->arena_size = size;
    return true;
}

void *run_alloc(struct run *run, size_t bytes, uint64_t *offset)
{
    bytes = (bytes + RUN_ALIGN - 1) / RUN_ALIGN * RUN_ALIGN;
    void *object = NULL;
    *offset = 0;
    if (run->detached) { /* the arena is the parent's, which goes on to use it */
        object = aligned_alloc(RUN_ALIGN, bytes);
        return object ? memset(object, 0, bytes) : NULL;
    }
    pthread_mutex_lock(&run->lock);
    MPIT_ASSERT(run_is_valid(run));
    if (run->arena_size - run->arena_used >= bytes || arena_renew(run, bytes)) {
        object = run->arena + run->arena_used;
        *offset = run->arena_offset ? run->arena_offset + run->arena_used : 0;
        run->arena_used += bytes;
    }
    pthread_mutex_unlock(&run->lock);
    return object;
}

bool run_fits(struct run *run, size_t bytes)
{
    size_t chunk = run_pages(bytes + sizeof(struct chunk_header));
    pthread_mutex_lock(&run->lock);
    bool fits = run->arena_size - run->arena_used >= bytes ||
                run->memory_bytes + (chunk < ARENA_CHUNK_BYTES ? ARENA_CHUNK_BYTES : chunk) <= run->memory_limit;
    pthread_mutex_unlock(&run->lock);
    return fits;
}

bool run_has_room(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    bool room = run->memory_bytes < run->memory_limit / 2;
    pthread_mutex_unlock(&run->lock);
    return room;
}

enum { RING_TOUCHED = 1 << 20 };

/* Touches the pages before the first calls write into them. A fault of a mapped file takes some microseconds.
 * Kernels before 5.14 do not support this, and a large buffer may never be filled. */
static void ring_touch(void *ring, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    if (bytes <= RING_TOUCHED)
        madvise(ring, bytes, MADV_POPULATE_WRITE);
#endif
}

/* True if half of the memory is left for counters: a thread without a buffer still counts, one without cells does not. */
static bool buffer_fits(const struct run *run, size_t size)
{
    return run->memory_bytes + size <= run->memory_limit / 2;
}

/*
 * Makes a chunk that is written while it is mapped. The caller holds the lock and fills in the fields that describe it.
 */
static struct chunk_header *buffer_make(struct run *run, size_t size, uint64_t *offset)
{
    struct chunk_header *chunk = run_grow(run, size, offset);
    if (chunk) {
        ring_touch(chunk, size);
        chunk->bytes = size;
    }
    return chunk;
}

struct chunk_header *run_ring_open(struct run *run, uint32_t thread, uint32_t capacity)
{
    size_t size = run_pages(sizeof(struct chunk_header) + (size_t)capacity * sizeof(struct event));
    uint64_t offset = 0;
    pthread_mutex_lock(&run->lock);
    bool fits = buffer_fits(run, size);
    struct chunk_header *chunk = fits ? buffer_make(run, size, &offset) : NULL;
    if (!fits)
        run_lost(run, LOSS_NO_MEMORY, 1);
    if (chunk) {
        chunk->kind = CHUNK_RING;
        chunk->thread = thread;
        chunk->capacity = capacity;
        chunk_publish(run, chunk, offset);
    }
    if ((!chunk || !offset) && !run->closed)
        run_gap_note(run, chunk ? run->no_room : LOSS_NO_MEMORY, thread, 0, UINT64_MAX);
    pthread_mutex_unlock(&run->lock);
    return chunk;
}

struct chunk_header *run_samples_open(struct run *run, uint32_t stream)
{
    uint64_t offset = 0;
    pthread_mutex_lock(&run->lock);
    bool fits = buffer_fits(run, SAMPLE_BUFFER_BYTES); /* else no event is lost for it */
    struct chunk_header *chunk = fits ? buffer_make(run, SAMPLE_BUFFER_BYTES, &offset) : NULL;
    if (chunk) {
        chunk->kind = CHUNK_SAMPLES;
        chunk->thread = stream;
        chunk->reserved[0] = 1;
        chunk_publish(run, chunk, offset);
    }
    pthread_mutex_unlock(&run->lock);
    return chunk;
}

bool run_limits_set(struct run *run, uint64_t memory_limit, uint64_t trace_limit)
{
    pthread_mutex_lock(&run->lock);
    bool good = memory_limit >= run->memory_bytes && (!trace_limit || trace_limit >= run->trace_bytes);
    if (good) {
        run->memory_limit = memory_limit;
        run->trace_limit = trace_limit;
    }
    pthread_mutex_unlock(&run->lock);
    return good;
}

void run_link(struct run *run, uint64_t *head, uint64_t *next, uint64_t offset)
{
    if (!offset)
        return;
    pthread_mutex_lock(&run->lock);
    *next = *head;
    __atomic_store_n(head, offset, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&run->lock);
}

/* True if the file still has its name. */
static bool file_is_there(const struct run *run)
{
    struct stat st;
    return lstat(run->path, &st) == 0 && st.st_dev == run->device && st.st_ino == run->inode;
}

/* Cuts off the room for the rest of the trace. */
static void file_cut(struct run *run)
{
    int fd = run_file_hold(run);
    if (fd >= 0 && filesize_set(fd, run->virtual_bytes) == 0)
        run->length = run->virtual_bytes;
    run_file_release(run, fd);
}

void run_close(struct run *run, enum run_phase phase, bool keep)
{
    if (!run->header)
        return;
    struct clock_pair now = clock_pair_read();
    run->header->end_ticks = now.ticks;
    run->header->end_realtime_ns = now.realtime_ns;
    __atomic_store_n(&run->header->phase, phase, __ATOMIC_RELEASE);
    pthread_mutex_lock(&run->lock);
    if (run_has_file(run) && !keep) {
        unlink(run->path);
        run->path[0] = '\0';
        run->gone = true;
    } else if (run_has_file(run) && !file_is_there(run)) {
        run_tell(run, "the output directory was removed: the recording of this process is lost");
    } else if (run_has_file(run) && run->length > run->virtual_bytes)
        file_cut(run);
    run->closed = true;
    run->broken = true; /* later records are in memory. The descriptor stays, as a thread may be writing */
    pthread_mutex_unlock(&run->lock);
}

bool run_reopen(struct run *run)
{
    if (!run->header)
        return false;
    pthread_mutex_lock(&run->lock);
    run->closed = false;
    run->gone = run->gone || (run_has_file(run) && !file_is_there(run)); /* its results were collected */
    run->broken = run->gone || run->torn; /* data in a file without a name would be lost */
    pthread_mutex_unlock(&run->lock);
    run->header->end_ticks = run->header->end_realtime_ns = run->header->finalize_ticks = 0;
    __atomic_store_n(&run->header->phase, RUN_RUNNING, __ATOMIC_RELEASE);
    return !run->gone;
}

void run_leave(struct run *run)
{
    uint32_t closed = RUN_CLOSED;
    if (run->header && !run->detached && run->header->pid == (uint32_t)getpid())
        __atomic_compare_exchange_n(&run->header->phase, &closed, RUN_FINALIZED, false, __ATOMIC_RELEASE,
                                    __ATOMIC_RELAXED);
}
