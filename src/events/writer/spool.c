#include "writer/spool.h"

#include "base/hash.h"
#include "site/setting.h"
#include "writer/room.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

size_t spool_bases(const char *bases[SPOOL_BASES_MOST])
{
    static const char *const usual[] = {"/dev/shm", "/tmp"};
    const char *own = setting("MPIT_SPOOL");
    size_t count = 0;
    if (own && own[0] == '/')
        bases[count++] = own;
    for (size_t i = 0; i < sizeof usual / sizeof usual[0]; i++)
        if (!count || strcmp(bases[0], usual[i]) != 0)
            bases[count++] = usual[i];
    return count;
}

/* Makes a directory that only this user can enter. The program's umask may have taken the user's own rights: these are
 * given back to the directory that was looked at, and no other. Returns 0 or an errno. */
static int private_make(const char *path)
{
    struct stat st;
    char same[32];
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return errno;
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno;
    snprintf(same, sizeof same, "/proc/self/fd/%d", fd);
    bool good = fstat(fd, &st) == 0 && st.st_uid == geteuid() && (st.st_mode & 077) == 0 &&
                ((st.st_mode & 0700) == 0700 || chmod(same, 0700) == 0);
    close(fd);
    return good ? 0 : EPERM;
}

/* Makes or checks the link to the output directory that the spool is for. Returns 0 or an errno. */
static int output_claim(const char *path, const char *output)
{
    char name[SPOOL_PATH_BYTES], target[PATH_MAX];
    if (snprintf(name, sizeof name, "%s/" SPOOL_OUTPUT, path) >= (int)sizeof name)
        return ENAMETOOLONG;
    if (symlink(output, name) == 0)
        return 0;
    if (errno != EEXIST)
        return errno;
    ssize_t bytes = readlink(name, target, sizeof target - 1);
    if (bytes < 0)
        return errno;
    target[bytes] = '\0';
    return strcmp(target, output) == 0 ? 0 : EEXIST;
}

enum { TRIES = 5 };

static int base_try(const char *base, const char *output, char path[SPOOL_PATH_BYTES])
{
    int length = snprintf(path, SPOOL_PATH_BYTES, "%s/mpit-%u", base, (unsigned)geteuid());
    if (length < 0 || length + 18 >= SPOOL_PATH_BYTES)
        return ENAMETOOLONG;
    int error = private_make(path);
    if (error)
        return error;
    snprintf(path + length, (size_t)(SPOOL_PATH_BYTES - length), "/%016" PRIx64, hash_text(HASH_BEGIN, output));
    for (int i = 0; i < TRIES; i++) { /* an empty spool may be removed between the two steps */
        error = private_make(path);
        error = error ? error : output_claim(path, output);
        if (error != ENOENT)
            break;
    }
    return error;
}

/* Adds to the problem, if there is one, which base is used instead. */
static void instead_tell(char problem[SPOOL_PROBLEM_BYTES], const char *base)
{
    size_t used = strlen(problem);
    if (used)
        snprintf(problem + used, SPOOL_PROBLEM_BYTES - used, "; recording goes on, with live files in %s", base);
}

int spool_make(const char *output, char path[SPOOL_PATH_BYTES], char problem[SPOOL_PROBLEM_BYTES])
{
    const char *bases[SPOOL_BASES_MOST], *own = setting("MPIT_SPOOL");
    char place[SETTING_PLACE_BYTES];
    size_t count = spool_bases(bases);
    problem[0] = '\0';
    if (own && own[0] && own[0] != '/')
        snprintf(problem, SPOOL_PROBLEM_BYTES, "%sMPIT_SPOOL=%.200s cannot be used: allowed is an absolute path",
                 setting_place("MPIT_SPOOL", place), own);
    for (size_t i = 0; i < count; i++) {
        bool named = bases[i] == own, room = room_is_enough(bases[i], named);
        int error = room ? base_try(bases[i], output, path) : ENOSPC;
        if (!error) {
            instead_tell(problem, bases[i]);
            return 0;
        }
        if (!problem[0] && (room || named))
            snprintf(problem, SPOOL_PROBLEM_BYTES, "no directory for live files can be created in %.500s: %s", bases[i],
                     strerror(error));
    }
    if (!problem[0])
        snprintf(problem, SPOOL_PROBLEM_BYTES, "no directory for live files has enough room; MPIT_SPOOL can name one");
    path[0] = '\0';
    return -1;
}

void spool_path_clean(char *path)
{
    char *to = path;
    for (const char *from = path; *from;) {
        size_t length = strcspn(from + (*from == '/'), "/") + (*from == '/');
        bool empty = *from == '/' && (length == 1 || (length == 2 && from[1] == '.'));
        if (!empty) {
            memmove(to, from, length);
            to += length;
        }
        from += length;
    }
    if (to == path && path[0] == '/')
        to++;
    *to = '\0';
}

void spool_link(const char *path, const char *output)
{
    output_claim(path, output);
}

void spool_file_hold(int fd, bool stays)
{
    bool locked = stays && fcntl(fd, F_SETLK, &(struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET}) == 0;
    fchmod(fd, locked ? 0700 : 0600);
}

bool spool_file_is_held(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    return fstat(fd, &st) != 0 || !(st.st_mode & S_IXUSR) || fcntl(fd, F_GETLK, &lock) != 0 || lock.l_type != F_UNLCK;
}

static bool mark_make(const char *path, const char *name)
{
    char mark[SPOOL_PATH_BYTES + 32];
    snprintf(mark, sizeof mark, "%s/%s", path, name);
    int fd = open(mark, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || (errno != EEXIST && errno != ENOENT); /* ENOENT: it was collected meanwhile */
}

bool spool_speaks_first(const char *path, uint64_t remark)
{
    char name[32];
    snprintf(name, sizeof name, SPOOL_SAID "%016" PRIx64, remark);
    return mark_make(path, name);
}

void spool_watch(const char *path)
{
    char name[32];
    snprintf(name, sizeof name, SPOOL_WATCH "%d", (int)getpid());
    mark_make(path, name);
}

void spool_unwatch(const char *path)
{
    char mark[SPOOL_PATH_BYTES + 32];
    snprintf(mark, sizeof mark, "%s/" SPOOL_WATCH "%d", path, (int)getpid());
    unlink(mark);
}

bool spool_is_watched(const char *path)
{
    bool watched = false;
    DIR *directory = opendir(path);
    for (struct dirent *entry; !watched && directory && (entry = readdir(directory));) {
        bool mark = strncmp(entry->d_name, SPOOL_WATCH, sizeof SPOOL_WATCH - 1) == 0;
        int pid = mark ? atoi(entry->d_name + sizeof SPOOL_WATCH - 1) : 0;
        watched = pid > 0 && pid != (int)getpid() && (kill(pid, 0) == 0 || errno == EPERM);
    }
    if (directory)
        closedir(directory);
    return watched;
}
