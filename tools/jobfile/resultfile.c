#include "jobfile/resultfile.h"

#include "base/text.h"
#include "jobfile/resultfolder.h"
#include "format/runfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

int result_path(const char *directory, const char *stem, unsigned number, char path[PATH_MAX])
{
    char text[16] = "";
    if (number)
        snprintf(text, sizeof text, ".%u", number);
    if (snprintf(path, PATH_MAX, "%s/%s%s" RUN_FILE_SUFFIX, directory, stem, text) < PATH_MAX)
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

int result_begin(struct result *result, const char *directory, const char *stem)
{
    result->fd = -1;
    if (result_path(directory, stem, 0, result->path) != 0)
        return -1;
    if (snprintf(result->temporary, PATH_MAX, "%s.part-XXXXXX", result->path) >= PATH_MAX) {
        errno = ENAMETOOLONG;
        return -1;
    }
    result->fd = part_make(result->temporary);
    if (result->fd >= 0)
        result_share(result->fd);
    return result->fd >= 0 ? 0 : -1;
}

int result_name(const char *old, const char *path)
{
    if (renameat2(AT_FDCWD, old, AT_FDCWD, path, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL && errno != ENOSYS)
        return -1;
    if (link(old, path) == 0) /* a file system without such renames */
        return unlink(old);
    if (errno == EEXIST || access(path, F_OK) == 0) {
        errno = EEXIST;
        return -1;
    }
    return rename(old, path); /* and without links */
}

int result_show(struct result *result, const char *directory, const char *stem)
{
    enum { NUMBERS_MOST = 1 << 16 };
    int named = -1;
    for (unsigned number = 0; named != 0 && number < NUMBERS_MOST; number++) {
        if (result_path(directory, stem, number, result->path) != 0)
            return -1;
        named = result_name(result->temporary, result->path);
        if (named != 0 && errno != EEXIST)
            return -1;
    }
    return named;
}

/* Another process may have joined a file that was shown, or removed it (join.h). */
static bool is_there(const struct result *result, const char *path)
{
    struct stat own, there;
    return fstat(result->fd, &own) == 0 && lstat(path, &there) == 0 && own.st_dev == there.st_dev &&
           own.st_ino == there.st_ino;
}

void result_drop(const struct result *result)
{
    int error = errno;
    if (is_there(result, result->path))
        unlink(result->path);
    else if (is_there(result, result->temporary))
        unlink(result->temporary);
    close(result->fd);
    errno = error;
}

/* Locks a new file. Returns false if another process has taken it for one of a killed process, and removes it. */
static bool part_lock(int fd)
{
    struct stat st;
    bool locked =
        flock(fd, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK; /* where there are none, nobody removes it */
    return locked && (fstat(fd, &st) != 0 || st.st_nlink > 0);
}

int part_make(char *template)
{
    enum { TRIES = 100 };
    char *end = template + strlen(template) - strlen("XXXXXX");
    for (int i = 0; i < TRIES; i++) {
        memcpy(end, "XXXXXX", strlen("XXXXXX"));
        int fd = mkostemp(template, O_CLOEXEC);
        if (fd < 0 || part_lock(fd))
            return fd;
        close(fd);
    }
    errno = EAGAIN;
    return -1;
}

bool result_has_name(const char *name, bool *part)
{
    char whole[NAME_MAX + 1];
    snprintf(whole, sizeof whole, "%s", name);
    char *end = strrchr(whole, '.');
    *part = end && strncmp(end, ".part", 5) == 0 && (!end[5] || end[5] == '-');
    if (*part)
        *end = '\0';
    return text_ends(whole, RUN_FILE_SUFFIX);
}

void parts_remove(const char *directory)
{
    bool part;
    DIR *stream = opendir(directory);
    for (struct dirent *entry; stream && (entry = readdir(stream));) {
        if (!result_has_name(entry->d_name, &part) || !part || text_ends(entry->d_name, ".part"))
            continue;
        int fd = openat(dirfd(stream), entry->d_name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            unlinkat(dirfd(stream), entry->d_name, 0);
        if (fd >= 0)
            close(fd);
    }
    if (stream)
        closedir(stream);
}
