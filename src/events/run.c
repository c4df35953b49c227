#define _GNU_SOURCE
#include "run.h"

#include "clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ARENA_CHUNK_BYTES = 256 << 10, CREATE_ATTEMPTS = 1000, DESCRIPTOR_LEAST = 200 };

static size_t pages(size_t bytes)
{
    return (bytes + RUN_PAGE_BYTES - 1) / RUN_PAGE_BYTES * RUN_PAGE_BYTES;
}

int run_directory_make(const char *dir)
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
        if (mkdir(path, 0777) != 0 && errno != EEXIST && errno != EISDIR)
            return errno;
        *p = end;
        if (end == '\0')
            break;
    }
    struct stat st;
    if (stat(dir, &st) != 0)
        return errno;
    return S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
}

/* Going over the limit would raise SIGXFSZ in the program. */
static bool file_may_be(uint64_t bytes)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* Still what we opened? */
static bool file_is_ours(const struct run *run)
{
    struct stat st;
    return fstat(run->fd, &st) == 0 && st.st_dev == run->device && st.st_ino == run->inode;
}

/* Takes the descriptor out of the way of programs that close all low ones, and remembers what it is. */
static void file_keep(struct run *run)
{
    struct stat st = {0};
    int high = fcntl(run->fd, F_DUPFD_CLOEXEC, DESCRIPTOR_LEAST);
    if (high >= 0) {
        close(run->fd);
        run->fd = high;
    }
    fstat(run->fd, &st);
    run->device = st.st_dev;
    run->inode = st.st_ino;
}

/* Space is allocated before it is touched, so that a full disk is an answer here and not a SIGBUS later. */
static int file_extend(struct run *run, uint64_t end, uint64_t bytes)
{
    if (!file_is_ours(run))
        return EBADF;
    if (!file_may_be(end + bytes))
        return EFBIG;
    int error;
    do
        error = posix_fallocate(run->fd, (off_t)end, (off_t)bytes);
    while (error == EINTR);
    return error;
}

static void *memory_map(struct run *run, uint64_t offset, size_t bytes, bool in_file)
{
    int flags = in_file ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
    void *memory =
        mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, in_file ? run->fd : -1, in_file ? (off_t)offset : 0);
    return memory == MAP_FAILED ? NULL : memory;
}

/* Memory at the end of the run; *offset = 0 where the file could not take it. The caller holds the lock. */
static void *run_grow(struct run *run, size_t bytes, uint64_t *offset)
{
    *offset = 0;
    if (run->memory_bytes + bytes > run->memory_limit) {
        run_lost(run, LOSS_NO_MEMORY, 1);
        return NULL;
    }
    bool in_file = run->fd >= 0 && !run->broken;
    if (in_file && file_extend(run, run->virtual_bytes, bytes) != 0) {
        run_lost(run, LOSS_DISK_FULL, 1);
        run->broken = true;
        in_file = false;
    }
    void *memory = memory_map(run, run->virtual_bytes, bytes, in_file);
    if (!memory) {
        run_lost(run, LOSS_NO_MEMORY, 1);
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
    bool fits = run->memory_bytes + bytes <= run->memory_limit;
    run->memory_bytes += fits ? bytes : 0;
    pthread_mutex_unlock(&run->lock);
    return fits;
}

void run_memory_give(struct run *run, size_t bytes)
{
    pthread_mutex_lock(&run->lock);
    run->memory_bytes -= bytes;
    pthread_mutex_unlock(&run->lock);
}

static void file_create(struct run *run, const char *dir, struct run_problem *problem)
{
    int error = run_directory_make(dir);
    if (error) {
        snprintf(problem->text, sizeof problem->text, "cannot make the run directory %s: %s", dir, strerror(error));
        return;
    }
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
        snprintf(problem->text, sizeof problem->text, "cannot write into the run directory %s: %s", dir,
                 strerror(errno));
        run->path[0] = '\0';
        return;
    }
    file_keep(run);
    error = file_extend(run, 0, RUN_PAGE_BYTES);
    if (error) {
        snprintf(problem->text, sizeof problem->text, "cannot write %s: %s", run->path, strerror(error));
        unlink(run->path);
        close(run->fd);
        run->fd = -1;
        run->path[0] = '\0';
    }
}

/* What would be the file, in memory: the neighbours on this node find it by its name in /proc. */
static void memory_create(struct run *run)
{
    run->fd = memfd_create(RUN_MEMORY_NAME, MFD_CLOEXEC);
    if (run->fd < 0)
        return;
    file_keep(run);
    if (file_extend(run, 0, RUN_PAGE_BYTES) != 0) {
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
    header->byte_order = RUN_BYTE_ORDER;
    header->header_bytes = sizeof *header;
    header->page_bytes = RUN_PAGE_BYTES;
    header->file_bytes = file_bytes;
    header->pid = (uint32_t)getpid();
    header->world_rank = -1;
    header->clock_kind = clock_kind();
    struct clock_pair now = clock_pair_read();
    header->begin_ticks = now.ticks;
    header->begin_realtime_ns = now.realtime_ns;
    gethostname(header->host, sizeof header->host - 1);
    line_read("/proc/sys/kernel/random/boot_id", header->boot, sizeof header->boot);
    ssize_t n = readlink("/proc/self/exe", header->program, sizeof header->program - 1);
    header->program[n > 0 ? n : 0] = '\0';
    __atomic_store_n(&header->phase, RUN_STARTING, __ATOMIC_RELEASE);
}

int run_open(struct run *run, const char *dir, uint64_t memory_limit, uint64_t trace_limit, struct run_problem *problem)
{
    *run = (struct run){.fd = -1, .memory_limit = memory_limit, .trace_limit = trace_limit};
    pthread_mutex_init(&run->lock, NULL);
    problem->text[0] = '\0';
    if (dir)
        file_create(run, dir, problem);
    if (!run_has_file(run))
        memory_create(run);
    run->header = memory_map(run, 0, RUN_PAGE_BYTES, run->fd >= 0);
    if (!run->header) {
        if (run->fd >= 0)
            close(run->fd);
        run->fd = -1;
        return -1;
    }
    run->virtual_bytes = run->memory_bytes = RUN_PAGE_BYTES;
    header_fill(run->header, RUN_PAGE_BYTES);
    if (problem->text[0])
        run_lost(run, LOSS_NO_FILE, 1);
    return 0;
}

void run_lost(struct run *run, enum loss_cause cause, uint64_t count)
{
    if (run->header && !run->detached)
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
    size_t size = pages(bytes + sizeof(struct chunk_header));
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
    pthread_mutex_lock(&run->lock);
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
    size_t chunk = pages(bytes + sizeof(struct chunk_header));
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

struct chunk_header *run_ring_open(struct run *run, uint32_t thread, uint32_t capacity)
{
    size_t size = pages(sizeof(struct chunk_header) + (size_t)capacity * sizeof(struct event));
    uint64_t offset;
    struct chunk_header *chunk = NULL;
    pthread_mutex_lock(&run->lock);
    if (run->memory_bytes + size <= run->memory_limit / 4 * 3)
        chunk = run_grow(run, size, &offset);
    else
        run_lost(run, LOSS_NO_MEMORY, 1);
    if (chunk) {
        chunk->kind = CHUNK_RING;
        chunk->bytes = size;
        chunk->thread = thread;
        chunk->capacity = capacity;
        chunk_publish(run, chunk, offset);
    }
    pthread_mutex_unlock(&run->lock);
    return chunk;
}

/* Header, events and what fills the last page, with one call as a rule. */
static bool chunk_write(int fd, const struct chunk_header *chunk, const void *data, size_t data_bytes, uint64_t offset)
{
    static const char zeros[RUN_PAGE_BYTES];
    size_t done = 0;
    while (done < chunk->bytes) {
        struct iovec parts[3] = {{(void *)(uintptr_t)chunk, sizeof *chunk},
                                 {(void *)(uintptr_t)data, data_bytes},
                                 {(void *)(uintptr_t)zeros, chunk->bytes - sizeof *chunk - data_bytes}};
        size_t skip = done;
        for (int i = 0; i < 3; i++) {
            size_t gone = skip < parts[i].iov_len ? skip : parts[i].iov_len;
            parts[i].iov_base = (char *)parts[i].iov_base + gone;
            parts[i].iov_len -= gone;
            skip -= gone;
        }
        ssize_t n = pwritev(fd, parts, 3, (off_t)(offset + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* The lock is held over the write: writes into one file wait for each other in the kernel anyhow, and so no reader ever
 * sees a file that is longer than what has been written. */
static bool trace_append(struct run *run, struct chunk_header chunk, const void *data, size_t bytes)
{
    chunk.magic = CHUNK_MAGIC;
    chunk.bytes = pages(sizeof chunk + bytes);
    bool good = false;
    pthread_mutex_lock(&run->lock);
    if (run->trace_limit && run->trace_bytes + chunk.bytes > run->trace_limit)
        run_lost(run, LOSS_TRACE_LIMIT, 1);
    else if (!run_has_file(run))
        run_lost(run, LOSS_NO_FILE, 1);
    else if (run->broken || !file_is_ours(run) || !file_may_be(run->virtual_bytes + chunk.bytes) ||
             !chunk_write(run->fd, &chunk, data, bytes, run->virtual_bytes))
        run_lost(run, LOSS_DISK_FULL, 1);
    else
        good = true;
    if (good) {
        run->virtual_bytes += chunk.bytes;
        run->trace_bytes += chunk.bytes;
        __atomic_store_n(&run->header->file_bytes, run->virtual_bytes, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&run->lock);
    return good;
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
    }
    run->broken = true; /* what is still recorded lives in memory; the descriptor stays, for a thread that is writing */
    pthread_mutex_unlock(&run->lock);
}

bool run_reopen(struct run *run)
{
    if (!run->header)
        return false;
    pthread_mutex_lock(&run->lock);
    run->broken = run->gone; /* what is written into a file without a name nobody finds */
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
