#define _GNU_SOURCE
#include "run/outputdir.h"

#include "base/spools.h"
#include "job/rundir.h"
#include "base/username.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { NUMBER_MOST = 10000 };

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

/* Only a write shows whether one is possible. Permissions do not apply to root, and do not show a full or read-only
 * disk. */
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

/* Returns false if the directory has no name, which it has reported. */
static bool name_choose(struct output_dir *dir, const struct output_wish *wish)
{
    char stamp[32];
    time_t now = time(NULL);
    struct tm local;
    const struct launched *launched = wish->launched;
    const char *wanted = wish->directory;
    strftime(stamp, sizeof stamp, "%Y%m%d-%H%M%S", localtime_r(&now, &local));
    if (!wanted && launched && !launched->id[0]) {
        refusal_say(&wish->refusal,
                    "a launcher started %d processes like this one, but their job is unknown: name the directory for "
                    "all of them with --output, or put mpit-run before the launcher",
                    launched->size);
        return false;
    }
    int length = wanted     ? snprintf(dir->given, sizeof dir->given, "%s", wanted)
                 : launched ? snprintf(dir->given, sizeof dir->given, "mpit-run-%s", launched->id)
                            : snprintf(dir->given, sizeof dir->given, "mpit-run-%s-%ld", stamp, (long)getpid());
    if (length > 0 && length < (int)sizeof dir->given)
        return true;
    refusal_say(&wish->refusal, "'%.60s' is not a name for an output directory", wanted);
    return false;
}

/* Returns 0, or the errno that a write of the file would give. */
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

/* Removes the new directories of a strict run that does not take place. */
static void refused_drop(const struct output_dir *dir, const struct output_wish *wish)
{
    if (wish->refusal.strict)
        output_dir_drop(dir);
}

static void summary_check(const struct output_dir *dir, const struct output_wish *wish)
{
    const char *path = wish->summary;
    int problem = path && strcmp(path, "-") != 0 ? file_problem(path) : 0;
    if (!problem)
        return;
    refused_drop(dir, wish);
    refusal_warn(&wish->refusal, "the summary cannot be written to %s: %s", path, strerror(problem));
}

/* A collector that is at work there has until then to bring them: it flushes results to the disk after mpit-run has shown them. */
static bool recordings_wait(const char *spool)
{
    enum { COLLECTOR_MS = 2000 };
    int lock = run_dir_count(spool) > 0 ? spool_lock(spool, COLLECTOR_MS) : -1;
    if (lock >= 0)
        close(lock);
    return run_dir_count(spool) > 0;
}

/* Returns text if recordings of an earlier job wait in a spool of the directory. They would be a job of this run, too. */
static const char *waiting_find(const struct output_dir *dir)
{
    static char text[2 * PATH_MAX + 128];
    struct spool_list spools;
    size_t at = 0;
    bool found = spools_find(&spools, dir->path) == 0;
    while (found && at < spools.count && !recordings_wait(spools.list[at].path))
        at++;
    found = found && at < spools.count;
    if (found)
        snprintf(text, sizeof text,
                 "gets the recordings of an earlier job, which wait in %s (mpit-collect %s brings them)",
                 spools.list[at].path, dir->given);
    spools_release(&spools);
    return found ? text : NULL;
}

/* Makes and tries dir->given. Returns 0, or EEXIST with the `reason` if it belongs to another run, or another errno. */
static int candidate_take(struct output_dir *dir, const struct output_wish *wish, const char **reason)
{
    char archive[PATH_MAX + 8];
    struct stat st;
    const struct launched *launched = wish->launched;
    int problem = directories_make(dir);
    if (!problem && !realpath(dir->given, dir->path))
        problem = errno;
    if (problem)
        return problem;
    *reason = "belongs to another user";
    if (geteuid() != 0 && stat(dir->path, &st) == 0 && st.st_uid != geteuid() && st.st_uid != 0)
        return EEXIST; /* mpit-collect would not write into it */
    bool empty = run_dir_count(dir->path) <= 0;
    *reason = "already has a recorded run";
    const char *waiting = empty ? waiting_find(dir) : NULL;
    *reason = waiting ? waiting : *reason;
    if (waiting && !launched)
        output_dir_drop(dir);
    if (!empty || waiting) /* the job's other processes may have begun */
        return launched ? launched_claim(launched, dir->path, false) : EEXIST;
    if ((problem = directory_try(dir->given)) != 0)
        return problem;
    if (launched && launched_claim(launched, dir->path, false) == 0)
        return 0;
    snprintf(archive, sizeof archive, "%s/otf2", dir->given);
    *reason = "already has an archive";
    if (wish->archive && access(archive, F_OK) == 0)
        return EEXIST;
    *reason = "belongs to another job";
    return launched ? launched_claim(launched, dir->path, true) : 0;
}

/* Writes the name to which the numbers are appended. */
static void numbers_base(const struct output_dir *dir, char base[PATH_MAX])
{
    snprintf(base, PATH_MAX, "%s", dir->given);
    for (size_t bytes = strlen(base); bytes > 1 && base[bytes - 1] == '/';)
        base[--bytes] = '\0';
    const char *slash = strrchr(base, '/'), *name = slash ? slash + 1 : base;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        snprintf(base, PATH_MAX, "%s", dir->path);
}

/* Takes the first free one of DIR.1, DIR.2, ... If the processes of a job share it, it takes the one with the job's
 * name. Returns 0 or an errno. */
static int numbered_take(struct output_dir *dir, const struct output_wish *wish)
{
    char base[PATH_MAX];
    const char *reason;
    int problem = EEXIST;
    numbers_base(dir, base);
    for (int number = 1; problem == EEXIST && number <= NUMBER_MOST; number++) {
        dir->made = 0;
        if (snprintf(dir->given, sizeof dir->given, "%s.%d", base, number) >= (int)sizeof dir->given)
            return ENAMETOOLONG;
        problem = candidate_take(dir, wish, &reason);
        if (!problem && !wish->launched && !dir->made) /* another process is just making it, or left it */
            problem = EEXIST;
    }
    return problem;
}

/* Another user who can change the directory can remove run files, and add others. */
static void output_owner_check(const struct output_dir *dir, const struct output_wish *wish)
{
    struct stat st;
    char user[USER_BYTES];
    if (stat(dir->path, &st) != 0)
        return;
    bool others = st.st_uid != geteuid() && st.st_uid != 0;
    bool everybody = (st.st_mode & S_IWOTH) && !(st.st_mode & S_ISVTX);
    if (!others && !everybody)
        return;
    refused_drop(dir, wish);
    user_name(user, st.st_uid);
    refusal_warn(&wish->refusal, "%sthe output directory %s %s%s: others can replace the recordings in it",
                 wish->refusal.strict ? "" : "note: ", dir->given,
                 everybody ? "can be written by every user" : "belongs to user ", everybody ? "" : user);
}

bool output_dir_make(struct output_dir *dir, const struct output_wish *wish)
{
    char wanted[PATH_MAX];
    const char *reason = "";
    *dir = (struct output_dir){.made = 0};
    if (!name_choose(dir, wish))
        return false;
    memcpy(wanted, dir->given, sizeof wanted);
    int problem = candidate_take(dir, wish, &reason);
    if (problem == EEXIST && wish->refusal.strict)
        refusal_say(&wish->refusal, "the output directory %s %s; name a new one with --output", wanted, reason);
    bool taken = problem == EEXIST;
    if (taken)
        problem = numbered_take(dir, wish);
    if (problem) {
        output_dir_drop(dir);
        refusal_say(&wish->refusal, "the output directory %s cannot be %s: %s%s", dir->given,
                    dir->made ? "written" : "used", strerror(problem),
                    wish->directory ? "" : "; name another one with --output");
        return false;
    }
    dir->shared = wish->launched;
    if (taken)
        refusal_warn(&wish->refusal, "note: the output directory %s %s, so this run is written to %s", wanted, reason,
                     dir->given);
    output_owner_check(dir, wish);
    summary_check(dir, wish);
    return true;
}

void output_dir_drop(const struct output_dir *dir)
{
    char path[PATH_MAX];
    if (dir->shared)
        return;
    snprintf(path, sizeof path, "%s", dir->given);
    /* each stays unless it is empty */
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
