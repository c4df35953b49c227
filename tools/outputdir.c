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
    for (char *end = path; *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char next = *end;
        *end = '\0';
        if (mkdir(path, 0777) == 0)
            dir->made = dir->made ? dir->made : (size_t)(end - path);
        else if (errno != EEXIST)
            return errno;
        *end = next;
    }
    struct stat st;
    return stat(path, &st) != 0 ? errno : S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
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

static void name_choose(struct output_dir *dir, const char *wanted, const struct launched *launched)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    if (!wanted && launched && !launched->id[0])
        errx(EXIT_USAGE,
             "this is one of %d processes that a launcher started, and nothing tells of which job: --output names the "
             "directory for all of them; or put mpit-run in front of the launcher",
             launched->size);
    int length = wanted     ? snprintf(dir->given, sizeof dir->given, "%s", wanted)
                 : launched ? snprintf(dir->given, sizeof dir->given, "mpit-run-%s", launched->id)
                            : snprintf(dir->given, sizeof dir->given, "mpit-run-%s-%ld", stamp, (long)getpid());
    if (length == 0 || length >= (int)sizeof dir->given)
        errx(EXIT_USAGE, "'%.60s' is no name for an output directory", wanted);
}

/* 0, or the errno that writing the file would end with. */
static int file_problem(const char *path)
{
    struct stat st;
    if (!*path)
        return ENOENT;
    if (stat(path, &st) == 0)
        return S_ISDIR(st.st_mode) ? EISDIR : access(path, W_OK) != 0 ? errno : 0;
    char directory[PATH_MAX];
    if (snprintf(directory, sizeof directory, "%s", path) >= (int)sizeof directory)
        return ENAMETOOLONG;
    char *slash = strrchr(directory, '/');
    if (slash)
        slash[slash == directory] = '\0';
    return access(slash ? directory : ".", W_OK | X_OK) != 0 ? errno : 0;
}

/* Ends the tool if it cannot be written. `dir` NULL: what is missing may be going to be made. */
static void summary_check(const char *path, const struct output_dir *dir)
{
    int problem = path && strcmp(path, "-") != 0 ? file_problem(path) : 0;
    if (!problem || (!dir && problem == ENOENT))
        return;
    if (dir)
        output_dir_drop(dir);
    errx(EXIT_USAGE, "the summary cannot be written to %s: %s", path, strerror(problem));
}

/* Run files of an earlier run are not mixed with those of this one. */
static void emptiness_check(struct output_dir *dir, const struct launched *launched)
{
    bool empty = run_dir_count(dir->path) <= 0;
    int problem = launched ? launched_claim(launched, dir->path, empty) : empty ? 0 : EEXIST;
    if (problem == EEXIST)
        errx(EXIT_USAGE, "the output directory %s %s already; --output names a new one", dir->given,
             empty ? "belongs to another job" : "holds a recorded run");
    if (problem) {
        output_dir_drop(dir);
        errx(EXIT_USAGE, "the output directory %s cannot be written: %s", dir->given, strerror(problem));
    }
    dir->shared = launched;
}

void output_dir_make(struct output_dir *dir, const char *wanted, bool with_archive, const char *summary,
                     const struct launched *launched)
{
    char archive[PATH_MAX + 8], error[512];
    *dir = (struct output_dir){.made = 0};
    name_choose(dir, wanted, launched);
    summary_check(summary, NULL);
    int problem = directories_make(dir);
    if (!problem)
        problem = directory_try(dir->given);
    if (!problem && !realpath(dir->given, dir->path))
        problem = errno;
    if (problem) {
        output_dir_drop(dir);
        errx(EXIT_USAGE, "the output directory %s cannot be %s: %s%s", dir->given, dir->made ? "written" : "used",
             strerror(problem), wanted ? "" : "; --output names another one");
    }
    emptiness_check(dir, launched);
    snprintf(archive, sizeof archive, "%s/otf2", dir->given);
    if (with_archive && archive_target_check(archive, error) != 0) {
        output_dir_drop(dir);
        errx(EXIT_USAGE, "%s", error);
    }
    summary_check(summary, dir);
}

void output_dir_drop(const struct output_dir *dir)
{
    char path[PATH_MAX];
    if (dir->shared)
        return;
    snprintf(path, sizeof path, "%s", dir->given);
    /* each stays if there is anything in it */
    for (size_t bytes = strlen(path); dir->made && bytes >= dir->made && rmdir(path) == 0;) {
        while (bytes > 0 && path[bytes - 1] == '/')
            bytes--;
        while (bytes > 0 && path[bytes - 1] != '/')
            bytes--;
        while (bytes > 0 && path[bytes - 1] == '/')
            bytes--;
        path[bytes] = '\0';
    }
}
