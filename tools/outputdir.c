#define _GNU_SOURCE
#include "outputdir.h"

#include "archive.h"
#include "options.h"
#include "rundir.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Makes the directory and its parents. Returns 0 or an errno. */
static int directories_make(struct output_dir *dir)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s", dir->given);
    for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return errno;
        *slash = '/';
    }
    struct stat st;
    if (mkdir(path, 0777) == 0)
        dir->made = true;
    else if (errno != EEXIST)
        return errno;
    else if (stat(path, &st) == 0 && !S_ISDIR(st.st_mode))
        return ENOTDIR;
    return 0;
}

/* Only writing tells whether one can: permissions say little to root, and nothing about a full or read-only disk. */
static int directory_try(const char *path)
{
    char probe[PATH_MAX + 32];
    snprintf(probe, sizeof probe, "%s/.mpit-probe-XXXXXX", path);
    int fd = mkstemp(probe);
    if (fd < 0)
        return errno;
    close(fd);
    unlink(probe);
    return 0;
}

static void name_choose(struct output_dir *dir, const char *wanted)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    int length = wanted ? snprintf(dir->given, sizeof dir->given, "%s", wanted)
                        : snprintf(dir->given, sizeof dir->given, "mpit-run-%s-%ld", stamp, (long)getpid());
    if (length == 0 || length >= (int)sizeof dir->given)
        errx(EXIT_USAGE, "'%.60s' is no name for an output directory", wanted);
}

void output_dir_make(struct output_dir *dir, const char *wanted, bool with_archive)
{
    char archive[PATH_MAX + 8], error[512];
    *dir = (struct output_dir){.made = false};
    name_choose(dir, wanted);
    int problem = directories_make(dir);
    if (!problem)
        problem = directory_try(dir->given);
    if (problem)
        errx(EXIT_USAGE, "the output directory %s cannot be %s: %s%s", dir->given, dir->made ? "written" : "used",
             strerror(problem), wanted ? "" : "; --output names another one");
    if (!realpath(dir->given, dir->path))
        err(EXIT_USAGE, "the output directory %s", dir->given);
    if (run_dir_count(dir->path) > 0)
        errx(EXIT_USAGE, "the output directory %s holds a recorded run already; --output names a new one", dir->given);
    snprintf(archive, sizeof archive, "%s/otf2", dir->given);
    if (with_archive && archive_target_check(archive, error) != 0)
        errx(EXIT_USAGE, "%s", error);
}

void output_dir_drop(const struct output_dir *dir)
{
    if (dir->made)
        rmdir(dir->path); /* stays if there is anything in it */
}

void output_file_check(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0)
        return;
    bool exists = stat(path, &st) == 0;
    if (exists && S_ISDIR(st.st_mode))
        errx(EXIT_USAGE, "the summary cannot be written to %s: it is a directory", path);
    char *directory = strdup(path);
    if (!directory)
        err(EXIT_USAGE, "no memory");
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[slash == directory] = '\0';
    if (access(exists ? path : slash ? directory : ".", W_OK) != 0)
        err(EXIT_USAGE, "the summary cannot be written to %s", path);
    free(directory);
}
