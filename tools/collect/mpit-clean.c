/*
 * mpit-clean: removes what is old. In a log tree these are the results of jobs. In the spools of this node these are live
 * files of processes that are gone, which nobody has collected.
 */
#define _GNU_SOURCE
#include "base/age.h"
#include "base/options.h"
#include "base/text.h"
#include "base/processlife.h"
#include "jobfile/resultfile.h"
#include "base/spools.h"
#include "format/label.h"
#include "reader/regularfile.h"
#include "writer/spool.h"

#include <dirent.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct cleaning {
    time_t before; /* files that were written to since then stay */
    bool dry;
    size_t files, failed, staying; /* of live files that nobody has collected, not of results */
    uint64_t bytes;
};

static struct cleaning cleaning;
static const char *older;

static const struct tool_option options[] = {
    {"older", "AGE", 'o', "only what was not written to for so long: 12h, 90d, 8w\n(30m: minutes)", &older},
    {"dry-run", NULL, 'n', "remove nothing, and list what would go", &cleaning.dry},
    {.name = NULL},
};

static const struct command_line command_line = {
    .version = "mpit-clean " MPIT_VERSION "\n",
    .shorts = ":h",
    .head = "Usage: mpit-clean --older AGE [--dry-run] [DIR...]\n"
            "Removes old results of jobs in the log tree DIR, and folders that become empty.\n"
            "Without DIR: old live files on this node whose processes are gone. root removes\n"
            "those of all users. mpit-collect keeps their contents.\n"
            "\n",
    .options = options,
    .column = 16,
    .tail = "\n"
            "Exit status: 0; 1: something could not be read or removed; 2: bad options\n"
            "Example:  mpit-clean --older 90d /logs      (man mpit-clean)\n",
};

/* A name may have anything in it. */
static const char *clean_path(const char *path)
{
    static char clean[PATH_MAX];
    label_clean(clean, sizeof clean, path, strlen(path) + 1);
    return clean;
}

static void removal_count(struct cleaning *cleaning, const char *path, const struct stat *st)
{
    cleaning->files++;
    cleaning->bytes += (uint64_t)st->st_blocks * 512;
    if (cleaning->dry)
        printf("%s\n", clean_path(path));
}

enum { FAILURES_TOLD = 10 };

static void failure_tell(struct cleaning *cleaning, const char *path, const char *what, int problem)
{
    if (cleaning->failed++ < FAILURES_TOLD)
        warnx("%s cannot be %s: %s", clean_path(path), what, strerror(problem));
}

/* ---- a log tree -------------------------------------------------------------------------------------------------- */

/* Other programs have files with such names, too. All of mpit's begin alike. One that was not completed may be empty. */
static bool is_result(struct cleaning *cleaning, const FTSENT *entry)
{
    char begin[5] = "";
    bool part;
    if (!result_has_name(entry->fts_name, &part))
        return false;
    struct stat st;
    int fd = regular_open(entry->fts_accpath, regular_file(entry->fts_statp), &st);
    ssize_t got = fd >= 0 ? read(fd, begin, sizeof begin) : -1;
    if (got < 0 && errno != ENOENT && errno != ESTALE)
        failure_tell(cleaning, entry->fts_path, "read", errno);
    if (fd >= 0)
        close(fd);
    return (got == sizeof begin && memcmp(begin, "mpit-", sizeof begin) == 0) || (got >= 0 && part && !begin[0]);
}

static void result_remove(struct cleaning *cleaning, FTSENT *entry)
{
    if (!cleaning->dry && unlink(entry->fts_accpath) != 0) {
        failure_tell(cleaning, entry->fts_path, "removed", errno);
        return;
    }
    removal_count(cleaning, entry->fts_path, entry->fts_statp);
    entry->fts_parent->fts_number = 1;
}

static void entry_clean(struct cleaning *cleaning, FTSENT *entry)
{
    bool old = entry->fts_info == FTS_F && entry->fts_statp->st_mtime < cleaning->before;
    bool emptied = entry->fts_info == FTS_DP && entry->fts_number && entry->fts_level > FTS_ROOTLEVEL;
    if (old && is_result(cleaning, entry))
        result_remove(cleaning, entry);
    else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR)
        failure_tell(cleaning, entry->fts_path, "read", entry->fts_errno);
    else if (emptied && !cleaning->dry && rmdir(entry->fts_accpath) == 0)
        entry->fts_parent->fts_number = 1;
}

/* Follows no link below the path. The walk changes the working directory, so that nobody can put a link into the path
 * meanwhile. */
static void tree_clean(struct cleaning *cleaning, char *path)
{
    char *const roots[] = {path, NULL};
    struct stat st = {.st_mode = 0};
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode)) {
        failure_tell(cleaning, path, "read", st.st_mode ? ENOTDIR : errno);
        return;
    }
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_XDEV, NULL);
    if (!walk)
        err(1, "%s", path);
    for (FTSENT *entry; (errno = 0, entry = fts_read(walk));)
        entry_clean(cleaning, entry);
    if (errno)
        failure_tell(cleaning, path, "read", errno);
    fts_close(walk);
}

/* ---- spools ------------------------------------------------------------------------------------------------------ */

/* The last time in the file of a process that has died, as stores to a mapped file may leave its own time as it was.
 * 0: it cannot be read. */
static time_t last_sign(const char *path, struct run_extent which, bool *lives)
{
    struct run_reader run;
    if (run_reader_open_tables(&run, path, which) != 0)
        return 0;
    uint64_t ticks = run_reader_last_ticks(&run) - run.header.begin_ticks;
    uint64_t ns = run.header.begin_realtime_ns + clock_ns(run_reader_scale(&run), ticks);
    if (run.header.end_realtime_ns > ns)
        ns = run.header.end_realtime_ns;
    *lives = process_life(&run.header) != LIFE_GONE && !process_is_of_earlier_boot(&run.header);
    run_reader_close(&run);
    return (time_t)(ns / 1000000000);
}

/* Returns whether all live files of the spool are old, and their processes are gone. One that lives may need the files of
 * the others. */
static bool is_left_over(const struct cleaning *cleaning, const struct spool *spool, int directory, DIR *stream)
{
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[PATH_MAX + NAME_MAX];
        struct stat st;
        bool lives = false;
        if (!text_ends(entry->d_name, RUN_FILE_SUFFIX))
            continue;
        snprintf(path, sizeof path, "%s/%s", spool->path, entry->d_name);
        if (fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(st.st_mode) ||
            st.st_mtime >= cleaning->before || last_sign(path, regular_file(&st), &lives) >= cleaning->before || lives)
            return false;
    }
    return true;
}

static void live_files_remove(struct cleaning *cleaning, const struct spool *spool, int directory, DIR *stream)
{
    for (struct dirent *entry; (entry = readdir(stream));) {
        char path[PATH_MAX + NAME_MAX];
        struct stat st;
        if (!text_ends(entry->d_name, RUN_FILE_SUFFIX) ||
            fstatat(directory, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) != 0 || st.st_mtime >= cleaning->before)
            continue; /* a process may begin just now */
        snprintf(path, sizeof path, "%s/%s", spool->path, entry->d_name);
        if (!cleaning->dry && unlinkat(directory, entry->d_name, 0) != 0)
            failure_tell(cleaning, path, "removed", errno);
        else
            removal_count(cleaning, path, &st);
    }
}

static size_t live_files_count(DIR *stream)
{
    size_t count = 0;
    for (struct dirent *entry; (entry = readdir(stream));)
        count += text_ends(entry->d_name, RUN_FILE_SUFFIX);
    return count;
}

/* With the lock of the spool, so that nobody collects it meanwhile. */
static void spool_clean(struct cleaning *cleaning, const struct spool *spool)
{
    struct stat st;
    int directory = open(spool->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool good = directory >= 0 && fstat(directory, &st) == 0 && st.st_uid == spool->owner;
    int lock = good ? spool_lock(spool->path, 0) : -1;
    DIR *stream = good ? fdopendir(dup(directory)) : NULL;
    bool old =
        stream && lock >= 0 && !spool_is_watched(spool->path) && is_left_over(cleaning, spool, directory, stream);
    if (stream)
        rewinddir(stream);
    if (old) {
        live_files_remove(cleaning, spool, directory, stream);
        if (!cleaning->dry && st.st_mtime < cleaning->before) {
            spool_join_forget(spool->path, NULL);
            spool_remove(spool);
        }
    } else if (stream) {
        cleaning->staying += live_files_count(stream);
    }
    if (stream)
        closedir(stream);
    if (lock >= 0)
        close(lock);
    if (directory >= 0)
        close(directory);
}

/* Takes the rights of a user, who may have put links into the spool. Returns false if that is not allowed. */
static bool rights_take(uid_t owner)
{
    const struct passwd *user = getpwuid(owner);
    gid_t group = user ? user->pw_gid : (gid_t)owner;
    return owner == geteuid() || (setegid(group) == 0 && seteuid(owner) == 0);
}

static void spools_clean(struct cleaning *cleaning)
{
    struct spool_list spools;
    uid_t own = geteuid();
    gid_t group = getegid();
    if (own == 0 && setgroups(0, NULL) != 0)
        warn("the groups of root stay");
    if (spools_find(&spools, NULL) != 0)
        errx(1, "no memory");
    for (size_t i = 0; i < spools.count; i++) {
        if (rights_take(spools.list[i].owner))
            spool_clean(cleaning, &spools.list[i]);
        if (seteuid(own) != 0 || setegid(group) != 0)
            err(1, "the rights of root are lost");
    }
    spools_release(&spools);
}

static void cleaning_tell(const struct cleaning *cleaning)
{
    char before[32];
    strftime(before, sizeof before, "%Y-%m-%d %H:%M", localtime(&cleaning->before));
    printf("%zu file%s from before %s %s, %.1f MiB\n", cleaning->files, cleaning->files == 1 ? "" : "s", before,
           cleaning->dry ? "would be removed" : "removed", (double)cleaning->bytes / (1 << 20));
    if (cleaning->staying)
        printf("%zu live file%s: younger, or a process with the same output directory runs\n", cleaning->staying,
               cleaning->staying == 1 ? " stays" : "s stay");
    if (cleaning->failed > FAILURES_TOLD)
        warnx("%zu more cannot be read or removed", cleaning->failed - FAILURES_TOLD);
}

int main(int argc, char *argv[])
{
    double age;
    command_line_next(&command_line, argc, argv);
    if (!older)
        usage_reject("--older is missing: it says what is old, for example --older 90d");
    if (!age_read(older, &age))
        usage_reject("--older %.40s cannot be used: allowed are ages such as " AGE_EXAMPLES, older);
    cleaning.before = time(NULL) - (time_t)age;
    run_reader_guard();
    for (int i = optind; i < argc; i++)
        tree_clean(&cleaning, argv[i]);
    if (optind == argc)
        spools_clean(&cleaning);
    cleaning_tell(&cleaning);
    output_close();
    return cleaning.failed != 0;
}
