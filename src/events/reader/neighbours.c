#include "reader/neighbours.h"

#include "base/text.h"
#include "base/cancel.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct neighbour *neighbours; /* pushed at the front. Release, pairs with the acquire in neighbours_first */
static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER;

struct neighbour *neighbours_first(void)
{
    return __atomic_load_n(&neighbours, __ATOMIC_ACQUIRE);
}

static bool is_known(const struct stat *st)
{
    for (const struct neighbour *n = neighbours; n; n = n->next)
        if (n->inode == st->st_ino && n->device == st->st_dev)
            return true;
    return false;
}

/* Address space is free unless it is limited. If the system refuses, half of it is tried. */
static const char *room_map(int fd, uint64_t file_bytes, uint64_t *mapped_bytes)
{
    for (uint64_t bytes = UINT64_C(64) << 30;; bytes /= 8) {
        bool last = bytes <= file_bytes || bytes < (UINT64_C(1) << 20);
        uint64_t size = last ? file_bytes : bytes;
        void *base = mmap(NULL, size, PROT_READ, MAP_SHARED | MAP_NORESERVE, fd, 0);
        if (base != MAP_FAILED) {
            *mapped_bytes = size;
            return base;
        }
        if (last)
            return NULL;
    }
}

/* A file that can never matter gets a place in the list without a mapping. */
static void neighbour_add(int fd, const struct stat *st, const struct run_header *mine)
{
    struct run_header header;
    if (st->st_size < RUN_PAGE_BYTES || pread(fd, &header, sizeof header, 0) != (ssize_t)sizeof header ||
        header.phase < RUN_STARTING) {
        close(fd); /* it has only just begun */
        return;
    }
    struct neighbour *fresh = calloc(1, sizeof *fresh);
    if (!fresh) {
        close(fd);
        return;
    }
    fresh->device = st->st_dev;
    fresh->inode = st->st_ino;
    fresh->fd = -1;
    bool fits = memcmp(header.magic, RUN_MAGIC, sizeof header.magic) == 0 && header.version == RUN_VERSION &&
                header.byte_order == RUN_BYTE_ORDER && header.phase <= RUN_RUNNING &&
                memcmp(header.boot, mine->boot, sizeof header.boot) == 0 && mine->boot[0];
    fresh->base = fits ? room_map(fd, (uint64_t)st->st_size, &fresh->mapped_bytes) : NULL;
    if (fresh->base) {
        fresh->fd = fd;
        fresh->file_bytes = (uint64_t)st->st_size;
    } else {
        close(fd);
    }
    fresh->next = neighbours;
    __atomic_store_n(&neighbours, fresh, __ATOMIC_RELEASE);
}

/* Looks at a file that may be a run file. Opens it if it is neither known nor our own. */
static void neighbour_look(int directory, const char *name, int flags, const struct run *run)
{
    struct stat st, own;
    bool link = (flags & O_NOFOLLOW) == 0;
    if (fstatat(directory, name, &st, link ? 0 : AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
        st.st_uid != geteuid() || is_known(&st) ||
        (fstat(run->fd, &own) == 0 && own.st_ino == st.st_ino && own.st_dev == st.st_dev))
        return;
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | flags);
    if (fd < 0)
        return;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        neighbour_add(fd, &st, run->header);
    else
        close(fd);
}

static void directory_look(const struct run *run)
{
    char path[sizeof run->path];
    memcpy(path, run->path, sizeof path);
    char *slash = strrchr(path, '/');
    if (!slash)
        return;
    *slash = '\0';
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory && (entry = readdir(directory));)
        if (text_ends(entry->d_name, RUN_FILE_SUFFIX))
            neighbour_look(dirfd(directory), entry->d_name, O_NOFOLLOW, run);
    if (directory)
        closedir(directory);
}

/* Looks at the open files of one process. */
static void process_look(const char *pid, const struct run *run)
{
    static const char wanted[] = "/memfd:" RUN_MEMORY_NAME " (deleted)";
    char path[64], target[sizeof wanted];
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; open_files && (entry = readdir(open_files));)
        if (readlinkat(dirfd(open_files), entry->d_name, target, sizeof target) == (ssize_t)sizeof target - 1 &&
            memcmp(target, wanted, sizeof target - 1) == 0)
            neighbour_look(dirfd(open_files), entry->d_name, 0, run);
    if (open_files)
        closedir(open_files);
}

static void processes_look(const struct run *run)
{
    DIR *processes = opendir("/proc");
    struct stat st;
    for (struct dirent *entry; processes && (entry = readdir(processes));)
        if (isdigit((unsigned char)entry->d_name[0]) && fstatat(dirfd(processes), entry->d_name, &st, 0) == 0 &&
            st.st_uid == geteuid())
            process_look(entry->d_name, run);
    if (processes)
        closedir(processes);
}

void neighbours_look(const struct run *run)
{
    if (run->fd < 0)
        return;
    int cancel = cancel_hold(); /* it opens files */
    pthread_mutex_lock(&look_lock);
    if (run_has_file(run))
        directory_look(run);
    else
        processes_look(run);
    pthread_mutex_unlock(&look_lock);
    cancel_release(cancel);
}

bool neighbour_is_mine(struct neighbour *neighbour, const struct run_header *header)
{
    uint32_t kinship = __atomic_load_n(&neighbour->kinship, __ATOMIC_RELAXED);
    const struct run_header *theirs = (const struct run_header *)(const void *)neighbour->base;
    if (kinship != KINSHIP_UNKNOWN || !theirs)
        return kinship == KINSHIP_MINE;
    int32_t size = __atomic_load_n(&theirs->world_size, __ATOMIC_ACQUIRE); /* set when job and rank are */
    if (size == 0 || header->world_size == 0)
        return false;
    bool mine = theirs->job == header->job && size == header->world_size && theirs->world_rank != header->world_rank;
    __atomic_store_n(&neighbour->kinship, mine ? KINSHIP_MINE : KINSHIP_NONE, __ATOMIC_RELAXED);
    return mine;
}

/* The header gives the new size of the file, and the kernel confirms it. */
static uint64_t neighbour_grown(struct neighbour *neighbour)
{
    struct stat st;
    uint64_t known = __atomic_load_n(&neighbour->file_bytes, __ATOMIC_RELAXED);
    if (fstat(neighbour->fd, &st) != 0 || st.st_ino != neighbour->inode || st.st_dev != neighbour->device)
        return known; /* the program has closed the descriptor. The mapped part stays valid */
    uint64_t bytes = (uint64_t)st.st_size < neighbour->mapped_bytes ? (uint64_t)st.st_size : neighbour->mapped_bytes;
    if (bytes > known)
        __atomic_store_n(&neighbour->file_bytes, bytes, __ATOMIC_RELAXED);
    return bytes;
}

const void *neighbour_at(struct neighbour *neighbour, uint64_t offset, uint64_t bytes)
{
    if (!neighbour->base || offset < RUN_PAGE_BYTES || offset % 8 || offset + bytes < offset)
        return NULL;
    if (offset + bytes > __atomic_load_n(&neighbour->file_bytes, __ATOMIC_RELAXED) &&
        offset + bytes > neighbour_grown(neighbour))
        return NULL;
    return neighbour->base + offset;
}
