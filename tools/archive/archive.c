#include "archive/archive.h"

#include "base/interrupt.h"
#include "archive/otf2.h"
#include "archive/team.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the directory in which the target is to be made, if it does not exist or cannot be written. */
static int parent_check(const char *target, char error[512])
{
    char *parent = strdup(target);
    if (!parent) {
        snprintf(error, 512, "no memory");
        return -1;
    }
    size_t bytes = strlen(parent);
    while (bytes > 1 && parent[bytes - 1] == '/')
        parent[--bytes] = '\0';
    char *slash = strrchr(parent, '/');
    if (slash)
        slash[slash == parent] = '\0';
    const char *directory = slash ? parent : ".";
    struct stat st;
    int problem = stat(directory, &st) != 0             ? errno
                  : !S_ISDIR(st.st_mode)                ? ENOTDIR
                  : access(directory, W_OK | X_OK) != 0 ? errno
                                                        : 0;
    if (problem)
        snprintf(error, 512, "the archive %.200s cannot be created: %.200s: %s", target, directory, strerror(problem));
    free(parent);
    return problem ? -1 : 0;
}

int archive_target_check(const char *target, char error[512])
{
    struct stat st;
    if (lstat(target, &st) == 0) {
        snprintf(error, 512, "%.300s exists already; allowed is a new directory", target);
        return -1;
    }
    if (!target[0]) {
        snprintf(error, 512, "'' is not a name for the directory of an archive");
        return -1;
    }
    if (errno == ENOENT)
        return parent_check(target, error);
    snprintf(error, 512, "the archive %.200s cannot be created: %s", target, strerror(errno));
    return -1;
}

/* One process of the team warns for all. `path` names one archive of several, or is NULL if there is only one. */
static void warnings_print(const struct otf2_report *report, const struct team *team, const char *path)
{
    size_t kept = report->warning_count < OTF2_WARNINGS_MAX ? report->warning_count : OTF2_WARNINGS_MAX;
    if (team->rank)
        return;
    for (size_t i = 0; i < kept; i++)
        warnx("%s%s%s", path ? path : "", path ? ": " : "", report->warnings[i]);
    if (kept < report->warning_count)
        warnx("... and %zu more", report->warning_count - kept);
    if (!report->error[0] && report->clocks[0])
        warnx("note: %s", report->clocks);
}

/* `several`: messages name the archive. *signal: the signal that came meanwhile. */
static int job_archive_make(const struct run_job *job, const char *path, bool several, const struct otf2_manner *manner,
                            int *signal, char error[512])
{
    struct otf2_report *report = calloc(1, sizeof *report);
    snprintf(error, 512, "out of memory for the conversion");
    if (team_failed(manner->team, !report, error, 512))
        return -1;
    struct otf2_manner own = *manner;
    own.names = job->names;
    int result = otf2_convert(job->files, job->file_count, path, &own, report);
    warnings_print(report, manner->team, several ? path : NULL);
    snprintf(error, 512, "%.511s", report->error);
    *signal = (int)team_largest(manner->team, (uint64_t)report->signal);
    free(report);
    return result;
}

/* Returns the place of the archives of several jobs. */
static int parent_make(const char *target, const struct team *team, char error[512])
{
    int result = team->rank == 0 ? mkdir(target, 0777) : 0;
    if (result != 0)
        snprintf(error, 512, "%.300s cannot be created: %s", target, strerror(errno));
    return team_failed(team, result != 0, error, 512) ? -1 : 0;
}

static int jobs_convert(const struct run_dir *dir, const char *target, bool several, const struct otf2_manner *manner,
                        int *signal, char error[512])
{
    int result = 0;
    for (size_t i = 0; i < dir->job_count && result == 0 && !*signal; i++) {
        const struct run_job *job = &dir->jobs[i];
        char path[PATH_MAX];
        if (!run_job_converts(job))
            continue;
        int length = several ? snprintf(path, sizeof path, "%s/%016" PRIx64, target, job->job)
                             : snprintf(path, sizeof path, "%s", target);
        if (length >= (int)sizeof path) {
            snprintf(error, 512, "the path of the archive is too long");
            return -1;
        }
        result = job_archive_make(job, path, several, manner, signal, error);
    }
    return result;
}

int archive_write(const struct run_dir *dir, const char *target, const struct otf2_manner *manner, char error[512])
{
    struct otf2_manner shared = *manner;
    int signal = 0;
    if (!shared.team)
        shared.team = &team_of_one;
    if (team_failed(shared.team, shared.team->rank == 0 && archive_target_check(target, error) != 0, error, 512))
        return -1;
    size_t left_out, converted = run_dir_converts(dir, &left_out, error);
    if (!team_same(shared.team, converted)) {
        snprintf(error, 512, "%.200s " TEAM_DIFFERS, dir->path);
        return -1;
    }
    if (!converted)
        return -1;
    if (left_out && shared.team->rank == 0)
        warnx("note: %zu of %zu jobs have no archive: MPI_Init returned in none of their processes", left_out,
              left_out + converted);
    if (converted > 1 && parent_make(target, shared.team, error) != 0)
        return -1;
    int result = jobs_convert(dir, target, converted > 1, &shared, &signal, error);
    if (converted > 1 && (result != 0 || signal) && shared.team->rank == 0)
        otf2_directory_remove(target);
    team_meet(shared.team);
    if (signal) {
        if (shared.team->rank == 0 && result != 0)
            warnx("%s", error);
        interrupt_die(signal);
    }
    return result;
}
