#include "base/spools.h"

#include "base/array.h"
#include "base/text.h"
#include "format/runfile.h"
#include "writer/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The search key. A NULL path means all. */
struct wanted {
    const char *path;        /* as it was named, */
    char absolute[PATH_MAX]; /* and absolute */
    char real[PATH_MAX];     /* without links, or "" if it does not exist yet */
    bool exists;
    dev_t device;
    ino_t inode;
};

static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* A directory with another name is not opened, because its file system may not answer. */
static bool is_wanted_output(const struct wanted *wanted, const char *output)
{
    struct stat st;
    if (!wanted->path || strcmp(wanted->absolute, output) == 0)
        return true;
    if (strcmp(last_part(wanted->absolute), last_part(output)) != 0 &&
        strcmp(last_part(wanted->real), last_part(output)) != 0)
        return false;
    return wanted->exists && stat(output, &st) == 0 && st.st_dev == wanted->device && st.st_ino == wanted->inode;
}

/* Adds a directory that is a spool. Its link names the output directory. Returns -1 without memory. */
static int spool_take(struct spool_list *spools, const struct wanted *wanted, const char *path, uid_t owner)
{
    char link[PATH_MAX], output[PATH_MAX];
    if (snprintf(link, sizeof link, "%s/" SPOOL_OUTPUT, path) >= (int)sizeof link)
        return 0;
    ssize_t bytes = readlink(link, output, sizeof output - 1);
    if (bytes <= 0)
        return 0;
    output[bytes] = '\0';
    spool_path_clean(output);
    if (!is_wanted_output(wanted, output))
        return 0;
    if (!ARRAY_GROWN(spools->list, spools->count))
        return -1;
    struct spool *spool = &spools->list[spools->count++];
    snprintf(spool->path, sizeof spool->path, "%s", path);
    snprintf(spool->home, sizeof spool->home, "%s", output);
    memcpy(spool->output, spool->home, sizeof spool->output);
    spool->owner = owner;
    return 0;
}

static int user_look(struct spool_list *spools, const struct wanted *wanted, const char *path, uid_t owner)
{
    int result = 0;
    DIR *directory = opendir(path);
    for (struct dirent *entry; result == 0 && directory && (entry = readdir(directory));) {
        char spool[PATH_MAX];
        if (entry->d_name[0] != '.' && snprintf(spool, sizeof spool, "%s/%s", path, entry->d_name) < (int)sizeof spool)
            result = spool_take(spools, wanted, spool, owner);
    }
    if (directory)
        closedir(directory);
    return result;
}

/* BASE/mpit-UID, if it belongs to that user. In a directory that all may write, any user can make one of this name. */
static int base_look(struct spool_list *spools, const struct wanted *wanted, const char *base)
{
    int result = 0;
    DIR *directory = opendir(base);
    for (struct dirent *entry; result == 0 && directory && (entry = readdir(directory));) {
        unsigned uid;
        char path[PATH_MAX], end;
        struct stat st;
        if (sscanf(entry->d_name, "mpit-%u%c", &uid, &end) != 1 || (geteuid() != 0 && uid != geteuid()) ||
            snprintf(path, sizeof path, "%s/%s", base, entry->d_name) >= (int)sizeof path)
            continue;
        if (lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == uid)
            result = user_look(spools, wanted, path, st.st_uid);
    }
    if (directory)
        closedir(directory);
    return result;
}

static void absolute_make(char absolute[PATH_MAX], const char *path)
{
    char here[PATH_MAX];
    if (path[0] == '/' || !getcwd(here, sizeof here))
        here[0] = '\0';
    if (snprintf(absolute, PATH_MAX, "%s%s%s", here, here[0] ? "/" : "", path) >= PATH_MAX)
        absolute[0] = '\0';
    spool_path_clean(absolute);
}

int spools_find(struct spool_list *spools, const char *output)
{
    const char *bases[SPOOL_BASES_MOST];
    struct wanted wanted = {.path = output};
    struct stat st;
    size_t count = spool_bases(bases);
    int result = 0;
    *spools = (struct spool_list){.list = NULL};
    if (output)
        absolute_make(wanted.absolute, output);
    if (output && !realpath(output, wanted.real))
        wanted.real[0] = '\0';
    if (output && stat(output, &st) == 0) {
        wanted.exists = true;
        wanted.device = st.st_dev;
        wanted.inode = st.st_ino;
    }
    for (size_t i = 0; result == 0 && i < count; i++)
        result = base_look(spools, &wanted, bases[i]);
    return result;
}

bool spool_at(struct spool *spool, const char *path)
{
    char absolute[PATH_MAX], above[PATH_MAX];
    unsigned uid;
    struct stat st;
    struct spool_list list = {.list = NULL};
    if (!realpath(path, absolute) || lstat(absolute, &st) != 0 || !S_ISDIR(st.st_mode))
        return false;
    snprintf(above, sizeof above, "%s", absolute);
    *strrchr(above, '/') = '\0';
    bool ours = sscanf(last_part(above), "mpit-%u", &uid) == 1 && uid == st.st_uid;
    bool found = ours && spool_take(&list, &(struct wanted){.path = NULL}, absolute, st.st_uid) == 0 && list.count == 1;
    if (found)
        *spool = list.list[0];
    spools_release(&list);
    return found;
}

void spools_release(struct spool_list *spools)
{
    free(spools->list);
    *spools = (struct spool_list){.list = NULL};
}

/* Returns whether the file still has this name. An earlier owner of the lock may have removed the spool. */
static bool lock_is_there(int fd, const char *path)
{
    struct stat held, named;
    return fstat(fd, &held) == 0 && stat(path, &named) == 0 && held.st_ino == named.st_ino &&
           held.st_dev == named.st_dev;
}

int spool_lock(const char *spool, int wait_ms)
{
    enum { STEP_MS = 10 };
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%.4000s/" SPOOL_LOCK, spool);
    for (int waited = 0;; waited += STEP_MS) {
        int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
            return -1;
        if (flock(fd, LOCK_EX | LOCK_NB) == 0 && lock_is_there(fd, path))
            return fd;
        close(fd);
        if (waited >= wait_ms) {
            errno = EWOULDBLOCK;
            return -1;
        }
        nanosleep(&(struct timespec){.tv_nsec = STEP_MS * 1000000L}, NULL);
    }
}

static void join_mark_path(char path[PATH_MAX], const char *spool)
{
    snprintf(path, PATH_MAX, "%.4000s/" SPOOL_JOIN, spool);
}

void spool_join_ask(const char *spool)
{
    char path[PATH_MAX];
    join_mark_path(path, spool);
    int fd = open(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return;
    futimens(fd, NULL); /* it may be there already */
    close(fd);
}

bool spool_join_is_asked(const char *spool, struct timespec *since)
{
    char path[PATH_MAX];
    struct stat st;
    join_mark_path(path, spool);
    if (lstat(path, &st) != 0)
        return false;
    *since = st.st_mtim;
    return true;
}

void spool_join_forget(const char *spool, const struct timespec *since)
{
    char path[PATH_MAX];
    struct timespec now;
    join_mark_path(path, spool);
    bool asked = spool_join_is_asked(spool, &now);
    if (asked && (!since || (now.tv_sec == since->tv_sec && now.tv_nsec == since->tv_nsec)))
        unlink(path);
}

void spool_remove(const struct spool *spool)
{
    struct timespec since;
    bool empty = !spool_is_watched(spool->path) && !spool_join_is_asked(spool->path, &since);
    DIR *directory = opendir(spool->path);
    for (struct dirent *entry; empty && directory && (entry = readdir(directory));)
        empty = !text_ends(entry->d_name, RUN_FILE_SUFFIX);
    if (directory)
        rewinddir(directory);
    for (struct dirent *entry; empty && directory && (entry = readdir(directory));)
        if (entry->d_name[0] != '.' && !text_ends(entry->d_name, RUN_FILE_SUFFIX)) /* a process may begin just now */
            unlinkat(dirfd(directory), entry->d_name, 0);
    if (directory)
        closedir(directory);
    if (empty && rmdir(spool->path) != 0 && errno == ENOTEMPTY)
        spool_link(spool->path, spool->home);
}
