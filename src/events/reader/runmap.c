#include "reader/runmap.h"

#include "base/invariant.h"
#include "reader/reader.h"
#include "reader/regularfile.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static struct run_map **resting;
static size_t resting_next; /* the oldest, which goes next */
/* Protects these, and the places stored in maps. Threads put their own files to rest. */
static pthread_mutex_t resting_lock = PTHREAD_MUTEX_INITIALIZER;

static struct run_map *maps;
static struct sigaction unguarded;
static size_t page_bytes;

/* The caller holds the lock. */
static bool run_map_is_valid(const struct run_map *map)
{
    return (map->base || !map->awake) && map->fd >= -1 &&
           (!map->place || (map->place <= RUN_MAPS_MOST && resting[map->place - 1] == map));
}

/* The file's descriptor, or -1 with a reason. */
static int map_file_open(const char *path, struct run_extent which, struct stat *st, char *error, size_t room)
{
    int fd = regular_open(path, which, st);
    if (fd < 0)
        regular_problem(errno, error, room);
    return fd;
}

static void map_link(struct run_map *map)
{
    pthread_mutex_lock(&resting_lock);
    map->next = maps;
    map->link = &maps;
    if (maps)
        maps->link = &map->next;
    __atomic_store_n(&maps, map, __ATOMIC_RELEASE); /* the guard may look at any time */
    pthread_mutex_unlock(&resting_lock);
}

/* The caller holds the lock. */
static void map_unlink(struct run_map *map)
{
    __atomic_store_n(map->link, map->next, __ATOMIC_RELEASE);
    if (map->next)
        map->next->link = map->link;
}

/* SIGBUS: after the end of a file that has become shorter. The page of zeros stays until the map goes. */
static void map_fault_take(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    int error = errno;
    uintptr_t at = (uintptr_t)info->si_addr;
    for (struct run_map *map = __atomic_load_n(&maps, __ATOMIC_ACQUIRE); map; map = map->next) {
        uintptr_t base = (uintptr_t)map->base;
        if (at < base || at - base >= map->bytes)
            continue;
        void *page = (char *)(at / page_bytes * page_bytes);
        map->torn = true;
        if (mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
            break;
        errno = error;
        return;
    }
    sigaction(SIGBUS, &unguarded, NULL); /* not our fault: it will be raised again */
}

/* Maps the extent at map->base, or anywhere if that is NULL. Some file systems do not support shared mappings. */
static int map_place(struct run_map *map, int fd)
{
    int fixed = map->base ? MAP_FIXED : 0;
    void *at = map->base ? map->base - map->lead : NULL;
    size_t bytes = map->lead + map->bytes;
    off_t begin = (off_t)(map->extent.begin - map->lead);
    void *memory = mmap(at, bytes, PROT_READ, MAP_SHARED | fixed, fd, begin);
    if (memory == MAP_FAILED && errno == ENODEV)
        memory = mmap(at, bytes, PROT_READ, MAP_PRIVATE | fixed, fd, begin);
    if (memory == MAP_FAILED)
        return -1;
    map->base = (char *)memory + map->lead;
    return 0;
}

void run_map_guard(void)
{
    page_bytes = (size_t)sysconf(_SC_PAGESIZE);
    struct sigaction guard = {.sa_sigaction = map_fault_take, .sa_flags = SA_SIGINFO | SA_RESTART}, before;
    sigemptyset(&guard.sa_mask);
    if (sigaction(SIGBUS, &guard, &before) == 0 && before.sa_sigaction != map_fault_take)
        unguarded = before;
}

struct run_map *run_map_open(const char *path, struct run_extent extent, char error[512])
{
    struct stat st;
    int fd = map_file_open(path, extent, &st, error, 512);
    if (fd < 0)
        return NULL;
    size_t length = strlen(path) + 1, end = (size_t)st.st_size;
    struct run_map *map = calloc(1, sizeof *map + length);
    bool inside = extent.begin <= end && extent.bytes <= end - extent.begin, mapped = false;
    if (map)
        *map = (struct run_map){.bytes = extent.bytes ? extent.bytes : end,
                                .lead = extent.begin % (size_t)sysconf(_SC_PAGESIZE),
                                .extent = {extent.begin, extent.bytes, st.st_dev, st.st_ino},
                                .owner = st.st_uid,
                                .awake = true,
                                .fd = -1};
    if (st.st_size == 0)
        snprintf(error, 512, "is not an mpit run file (only 0 bytes long)");
    else if (!inside)
        snprintf(error, 512, "is truncated: its job file has only %zu bytes", end);
    else if (!map || !(mapped = map_place(map, fd) == 0))
        snprintf(error, 512, "cannot be mapped: %s", strerror(errno));
    close(fd);
    if (!mapped) {
        free(map);
        return NULL;
    }
    memcpy(map->path, path, length);
    map_link(map);
    return map;
}

static void map_read_end(struct run_map *map);

void run_map_image(struct run_map *map, void *image, size_t bytes)
{
    map->image = image;
    map->image_bytes = bytes;
}

/* The caller does not hold the lock. */
static void map_take(struct run_map *map)
{
    map_read_end(map);
    if (!map->base)
        return;
    pthread_mutex_lock(&resting_lock);
    if (map->place)
        resting[map->place - 1] = NULL;
    map_unlink(map);
    pthread_mutex_unlock(&resting_lock);
    munmap(map->base - map->lead, map->lead + map->bytes);
}

void run_map_park(struct run_map *map)
{
    map_take(map);
    map->base = map->image = NULL;
    map->awake = false;
    map->place = 0;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

static void map_read_end(struct run_map *map)
{
    if (map->fd >= 0)
        close(map->fd);
    map->fd = -1;
}

void run_map_close(struct run_map *map)
{
    if (!map)
        return;
    map_take(map);
    free(map);
}

/* If the system refuses, the map stays. */
static void map_drop(struct run_map *map)
{
    if (map->image && map->owner != geteuid() && map->owner != 0) {
        map->place = 0;
        return;
    }
    void *base = mmap(map->base - map->lead, map->lead + map->bytes, PROT_NONE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    map->awake = base == MAP_FAILED;
    map->place = 0;
    if (!map->awake && map->image)
        madvise(map->image, map->image_bytes, MADV_DONTNEED);
}

/* Images of files at rest have so many bytes together at most. */
static const size_t images_most = (size_t)1 << 30;

/* The oldest files at rest lose their maps until their images fit. A file of another user keeps its image, since the user
 * may write another one that was not checked. */
static void images_drop(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < RUN_MAPS_MOST; i++)
        bytes += resting[i] ? resting[i]->image_bytes : 0;
    for (size_t k = 0; k < RUN_MAPS_MOST && bytes > images_most; k++) {
        struct run_map **oldest = &resting[(resting_next + k) % RUN_MAPS_MOST];
        if (!*oldest || !(*oldest)->image)
            continue;
        bytes -= (*oldest)->image_bytes;
        map_drop(*oldest);
        *oldest = NULL;
    }
}

/* Without memory the map just stays. */
static void resting_add(struct run_map *map)
{
    if (!resting && !(resting = calloc(RUN_MAPS_MOST, sizeof(struct run_map *))))
        return;
    if (resting[resting_next])
        map_drop(resting[resting_next]);
    resting[resting_next] = map;
    map->place = ++resting_next;
    resting_next %= RUN_MAPS_MOST;
    if (map->image_bytes > images_most / RUN_MAPS_MOST)
        images_drop();
}

void run_map_rest(struct run_map *map)
{
    map_read_end(map);
    pthread_mutex_lock(&resting_lock);
    MPIT_ASSERT(run_map_is_valid(map));
    if (map->awake)
        madvise(map->base - map->lead, map->lead + map->bytes, MADV_DONTNEED);
    if (map->awake && !map->holds && !map->place)
        resting_add(map);
    pthread_mutex_unlock(&resting_lock);
}

void run_map_hold(struct run_map *map, bool held)
{
    pthread_mutex_lock(&resting_lock);
    MPIT_ASSERT(run_map_is_valid(map) && (held || map->holds));
    held ? map->holds++ : map->holds--;
    if (held && map->place)
        resting[map->place - 1] = NULL;
    map->place = held ? 0 : map->place;
    pthread_mutex_unlock(&resting_lock);
}

/* Opens the mapped file again. */
static int map_again(const struct run_map *map, char *error, size_t room)
{
    struct stat st;
    int fd = map_file_open(map->path, map->extent, &st, error, room);
    if (fd < 0 || (size_t)st.st_size >= map->extent.begin + map->bytes)
        return fd;
    snprintf(error, room, "became shorter while it was read");
    close(fd);
    return -1;
}

bool run_map_read(struct run_map *map, const void *at, void *to, size_t bytes)
{
    char error[128];
    size_t offset = (size_t)((const char *)at - map->base);
    if (map->fd < 0)
        map->fd = map_again(map, error, sizeof error);
    for (size_t done = 0; done < bytes;) {
        ssize_t got = map->fd < 0
                          ? -1
                          : pread(map->fd, (char *)to + done, bytes - done, (off_t)(map->extent.begin + offset + done));
        if (got <= 0 && !(got < 0 && map->fd >= 0 && errno == EINTR))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static int map_wake(struct run_map *map, char error[128])
{
    if (map->awake)
        return 0;
    int fd = map_again(map, error, 128);
    if (fd < 0)
        return -1;
    if (map_place(map, fd) != 0)
        snprintf(error, 128, "cannot be mapped again: %s", strerror(errno));
    else
        map->awake = true;
    close(fd);
    if (!map->awake)
        return -1;
    resting_add(map);
    return 0;
}

void run_map_sleep(struct run_map *map)
{
    pthread_mutex_lock(&resting_lock);
    MPIT_ASSERT(run_map_is_valid(map));
    if (map->place)
        resting[map->place - 1] = NULL;
    map_drop(map);
    pthread_mutex_unlock(&resting_lock);
}

int run_map_wake(struct run_map *map, bool *came, char error[128])
{
    pthread_mutex_lock(&resting_lock);
    MPIT_ASSERT(run_map_is_valid(map));
    *came = !map->awake;
    int result = map_wake(map, error);
    pthread_mutex_unlock(&resting_lock);
    return result;
}
