#define _GNU_SOURCE
#include "job/livefind.h"

#include "base/array.h"
#include "collect/processlife.h"
#include "collect/spools.h"
#include "base/text.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A scan takes at most 1 / SCAN_SHARE of the time. */
enum { SCAN_SHARE = 20, HOME_LOOKS_MOST = 3, ENVIRONMENT_BYTES_MOST = 1 << 20 };

/* A process may become another program. So its environment is read by the first scans that find it. */
struct home {
    struct keyed keyed; /* pid, inode of /proc/PID */
    uint64_t scan;
    unsigned looks;
    char *directory; /* NULL: none */
};

uint64_t live_monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

void live_file_release(struct live_file *file)
{
    if (file->open)
        run_reader_close(&file->process.run);
    free(file->path);
    free(file);
}

/* Adds a file that was found at `path`, which is copied. Returns 0, or -1 without memory. */
static int file_found(struct live_finder *finder, const char *path, const struct stat *st)
{
    struct live_file *file = keytable_make(&finder->files, st->st_dev, st->st_ino, sizeof *file);
    if (!file)
        return -1;
    file->scan = finder->scan;
    bool other = file->changed.tv_sec != st->st_ctim.tv_sec || file->changed.tv_nsec != st->st_ctim.tv_nsec;
    if (other && !file->open) { /* perhaps another file in its place */
        file->changed = st->st_ctim;
        file->peeked = file->ended = false;
    }
    if (file->path && (strcmp(file->path, path) == 0 || strncmp(path, "/proc/", 6) == 0))
        return 0;
    free(file->path);
    file->path = strdup(path);
    return file->path ? 0 : -1;
}

static int live_directory_look(struct live_finder *finder, const char *path)
{
    DIR *directory = opendir(path);
    int result = 0;
    for (struct dirent *entry; result == 0 && directory && (entry = readdir(directory));) {
        char name[PATH_MAX];
        struct stat st;
        int length = snprintf(name, sizeof name, "%s/%s", path, entry->d_name);
        if (!text_ends(entry->d_name, RUN_FILE_SUFFIX) || length < 0 || (size_t)length >= sizeof name)
            continue;
        if (fstatat(dirfd(directory), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode))
            result = file_found(finder, name, &st);
    }
    if (directory)
        closedir(directory);
    return result;
}

/* Adds a directory, and the spools of this node for it. */
static int place_look(struct live_finder *finder, const char *path)
{
    struct spool_list spools;
    int result = live_directory_look(finder, path);
    if (result == 0)
        result = spools_find(&spools, path);
    else
        spools = (struct spool_list){.list = NULL};
    for (size_t i = 0; result == 0 && i < spools.count; i++)
        result = live_directory_look(finder, spools.list[i].path);
    spools_release(&spools);
    return result;
}

/* ---- processes --------------------------------------------------------------------------------------------------- */

/* Adds a directory whose files are to be read, too. */
static int directory_add(struct live_finder *finder, const char *path)
{
    for (size_t i = 0; i < finder->directory_count; i++)
        if (strcmp(finder->directories[i], path) == 0)
            return 0;
    char **list = array_grow(finder->directories, finder->directory_count, sizeof *list), *copy = strdup(path);
    finder->directories = list ? list : finder->directories;
    if (!list || !copy) {
        free(copy);
        return -1;
    }
    list[finder->directory_count++] = copy;
    return 0;
}

/* Process `pid` holds the file open. Its owner may have a different number there, in another PID namespace. */
static void holder_find(struct live_finder *finder, const struct stat *st, const char *pid, const char *path)
{
    struct live_file *file = keytable_find(&finder->files, st->st_dev, st->st_ino);
    struct run_header header;
    if (!file || file->holder || (file->open && process_is_here(&file->process.run.header)))
        return;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd >= 0 && pread(fd, &header, sizeof header, 0) == (ssize_t)sizeof header &&
        memcmp(header.magic, RUN_MAGIC, sizeof header.magic) == 0) {
        header.boot[sizeof header.boot - 1] = '\0';
        pid_t number = (pid_t)strtol(pid, NULL, 10);
        if (!process_is_here(&header) && process_is_at(&header, number))
            file->holder = number;
    }
    if (fd >= 0)
        close(fd);
}

/* Descriptor `number` of a process points to `target`. Returns 1 if that is a run file, 0 if not, -1 without memory. */
static int descriptor_take(struct live_finder *finder, const char *pid, const char *number, char *target)
{
    static const char memory[] = "/memfd:" RUN_MEMORY_NAME " (deleted)", gone[] = RUN_FILE_SUFFIX " (deleted)";
    bool named = text_ends(target, RUN_FILE_SUFFIX);
    char path[PATH_MAX];
    struct stat st, there;
    if (!named && strcmp(target, memory) != 0 && !text_ends(target, gone))
        return 0;
    snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, number);
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode))
        return 0;
    /* by its name, unless the name is gone or means another file here */
    bool elsewhere = !named || stat(target, &there) != 0 || there.st_dev != st.st_dev || there.st_ino != st.st_ino;
    int result = file_found(finder, elsewhere ? path : target, &st);
    if (result == 0)
        holder_find(finder, &st, pid, path);
    char *slash = strrchr(target, '/');
    if (result == 0 && !elsewhere && slash && slash > target) {
        *slash = '\0';
        result = directory_add(finder, target);
    }
    return result == 0 ? 1 : -1;
}

/* Returns the number of run files that a process holds open, or -1 without memory. */
static int descriptors_look(struct live_finder *finder, const char *pid)
{
    char path[64], target[PATH_MAX];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *open_files = opendir(path);
    for (struct dirent *entry; found >= 0 && open_files && (entry = readdir(open_files));) {
        ssize_t n = readlinkat(dirfd(open_files), entry->d_name, target, sizeof target - 1);
        if (n <= 0 || target[0] != '/')
            continue;
        target[n] = '\0';
        int taken = descriptor_take(finder, pid, entry->d_name, target);
        found = taken < 0 ? -1 : found + taken;
    }
    if (open_files)
        closedir(open_files);
    return found;
}

/* Returns the value of MPIT_OUTPUT in a process's environment, which the caller frees, or NULL for none. */
static char *environment_directory(const char *pid)
{
    static const char wanted[] = "MPIT_OUTPUT=";
    char path[64], *word = NULL, *directory = NULL;
    size_t room = 0, bytes = 0;
    snprintf(path, sizeof path, "/proc/%.20s/environ", pid);
    FILE *environment = fopen(path, "re");
    for (ssize_t n; environment && !directory && bytes < ENVIRONMENT_BYTES_MOST &&
                    (n = getdelim(&word, &room, '\0', environment)) > 0;
         bytes += (size_t)n)
        if (strncmp(word, wanted, sizeof wanted - 1) == 0 && word[sizeof wanted - 1]) {
            const char *value = word + sizeof wanted - 1;
            if (asprintf(&directory, value[0] == '/' ? "%.0s%s" : "/proc/%s/cwd/%s", pid, value) < 0)
                directory = NULL;
        }
    free(word);
    if (environment)
        fclose(environment);
    char *real = directory ? realpath(directory, NULL) : NULL; /* the directory may not exist yet */
    free(directory);
    return real;
}

static int home_look(struct live_finder *finder, const char *pid, ino_t inode)
{
    struct home *home = keytable_make(&finder->homes, strtoull(pid, NULL, 10), inode, sizeof *home);
    if (!home)
        return -1;
    home->scan = finder->scan;
    if (!home->directory && home->looks < HOME_LOOKS_MOST) {
        home->looks++;
        home->directory = environment_directory(pid);
    }
    return home->directory ? directory_add(finder, home->directory) : 0;
}

static int live_processes_look(struct live_finder *finder)
{
    DIR *processes = opendir("/proc");
    pid_t own = getpid();
    int result = 0;
    struct stat st;
    for (struct dirent *entry; result == 0 && processes && (entry = readdir(processes));) {
        if (!isdigit((unsigned char)entry->d_name[0]) || atol(entry->d_name) == own ||
            fstatat(dirfd(processes), entry->d_name, &st, 0) != 0 || !(finder->all_users || st.st_uid == geteuid()))
            continue;
        int found = descriptors_look(finder, entry->d_name);
        result = found < 0 ? -1 : home_look(finder, entry->d_name, st.st_ino);
    }
    if (processes)
        closedir(processes);
    for (size_t i = 0; result == 0 && i < finder->directory_count; i++)
        result = place_look(finder, finder->directories[i]);
    return result;
}

/* ---- a scan ------------------------------------------------------------------------------------------------------ */

static void directories_release(struct live_finder *finder)
{
    for (size_t i = 0; i < finder->directory_count; i++)
        free(finder->directories[i]);
    free(finder->directories);
    finder->directories = NULL;
    finder->directory_count = 0;
}

static void home_release(struct keyed *record)
{
    free(((struct home *)(void *)record)->directory);
    free(record);
}

/* Another file has its name now: the compact version of the same run. */
static bool file_is_replaced(const struct live_file *file)
{
    struct stat st;
    return file->path && stat(file->path, &st) == 0 &&
           (st.st_dev != file->keyed.key[0] || st.st_ino != file->keyed.key[1]);
}

static void forgotten_release(struct live_finder *finder)
{
    struct keyed **files = keytable_sorted(&finder->files), **homes = keytable_sorted(&finder->homes);
    for (size_t i = finder->files.count; files && i-- > 0;) {
        struct live_file *file = (struct live_file *)(void *)files[i];
        if (file->scan == finder->scan || (file->open && !file_is_replaced(file)))
            continue;
        keytable_take(&finder->files, files[i]);
        live_file_release(file);
    }
    for (size_t i = finder->homes.count; homes && i-- > 0;)
        if (((struct home *)(void *)homes[i])->scan != finder->scan) {
            keytable_take(&finder->homes, homes[i]);
            home_release(homes[i]);
        }
    free(files);
    free(homes);
}

static int path_look(struct live_finder *finder, const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0)
        return place_look(finder, path); /* it is made when the job ends */
    return S_ISDIR(st.st_mode) ? place_look(finder, path) : file_found(finder, path, &st);
}

int live_find(struct live_finder *finder, char *const *paths, size_t count)
{
    uint64_t begin = live_monotonic_ns(), pause = SCAN_SHARE * finder->cost_ns;
    if (pause < LIVE_SCAN_NS)
        pause = LIVE_SCAN_NS;
    bool none =
        finder->files.count == 0 && finder->cost_ns < LIVE_SCAN_NS / SCAN_SHARE; /* the user waits for the first */
    if (finder->scan && !none && begin - finder->scanned_ns < pause)
        return 0;
    finder->scan++;
    int result = 0;
    for (size_t i = 0; result == 0 && i < count; i++)
        result = path_look(finder, paths[i]);
    if (result == 0 && !count)
        result = live_processes_look(finder);
    directories_release(finder);
    if (result == 0)
        forgotten_release(finder);
    finder->scanned_ns = begin;
    finder->cost_ns = live_monotonic_ns() - begin;
    return result;
}

static void file_free(struct keyed *record)
{
    live_file_release((struct live_file *)(void *)record);
}

void live_finder_release(struct live_finder *finder)
{
    keytable_release(&finder->files, file_free);
    keytable_release(&finder->homes, home_release);
    directories_release(finder);
    free(finder->seen);
    free(finder);
}
