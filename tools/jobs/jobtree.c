#include "jobs/jobtree.h"

#include "cures/cures.h"
#include "cures/tracefigures.h"
#include "base/text.h"
#include "format/packedrun.h"
#include "format/label.h"
#include "jobfile/jobindex.h"
#include "job/rundir.h"
#include "jobfile/summaryfile.h"
#include "reader/regularfile.h"

#include <err.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROBLEMS_TOLD = 10 };

/* A file's name may have anything in it. */
static void tree_problem_tell(struct job_tree *tree, const char *path, const char *reason)
{
    char clean[PATH_MAX];
    label_clean(clean, sizeof clean, path, strlen(path) + 1);
    if (tree->problems++ < PROBLEMS_TOLD)
        warnx("%s %s", clean, reason);
}

/* The figures of one process. */
static int run_read(struct summary *summary, const char *path, struct run_extent which, uid_t *owner, char error[128])
{
    struct run_reader run;
    if (run_reader_open_part(&run, path, which) != 0) {
        snprintf(error, 128, "%.127s", run.error);
        return -1;
    }
    *owner = run_reader_owner(&run);
    if (summary_of_run(summary, &run) != 0)
        errx(1, "no memory");
    run_reader_close(&run);
    return 0;
}

/* A file whose writer was killed may lack the summary of its job. */
static int sections_sum(struct summary *summary, const char *path, struct run_extent which, char error[128])
{
    struct run_dir dir;
    char problem[512];
    int result = run_dir_open(&dir, path, problem);
    const struct run_extent *read = result == 0 && dir.jobs[0].piece_count ? &dir.jobs[0].pieces[0].extent : NULL;
    bool same = read && (!which.inode || (read->device == which.device && read->inode == which.inode));
    struct summary *whole = same ? dir.jobs[0].summary : NULL;
    if (whole) {
        *summary = *whole;
        *whole = (struct summary){.ranks = 0};
    } else {
        snprintf(error, 128, "%.127s",
                 result == 0         ? "was replaced by another file while it was read"
                 : dir.problem_count ? dir.problems[0]
                                     : problem);
    }
    run_dir_close(&dir);
    return whole ? 0 : -1;
}

/* A job file has the summary of its job. A live file is one process. */
static int mpit_read(struct summary *summary, const char *path, struct run_extent which, uid_t *owner, char error[128])
{
    switch (job_summary_read(summary, path, which, owner, error)) {
    case JOB_SUMMARY_READ:
        return 0;
    case JOB_SUMMARY_BROKEN: /* it can be made again */
        return sections_sum(summary, path, which, error);
    default:
        return job_file_parts(path, which) ? sections_sum(summary, path, which, error)
                                           : run_read(summary, path, which, owner, error);
    }
}

/* A trace can tell another finding than the counters. Traces of others are not read: they could keep the tool busy. */
static void trace_add(struct summary *summary, const char *path)
{
    struct run_dir dir;
    char error[512];
    if (run_dir_open(&dir, path, error) == 0) {
        trace_figures_fill(&dir);
        for (size_t i = 0; i < dir.job_count; i++)
            if (dir.jobs[i].job == summary->job && dir.jobs[i].summary)
                summary_traced_take(summary, dir.jobs[i].summary);
    }
    run_dir_close(&dir);
}

/* Returns a summary that the caller frees, or NULL with the problem told. */
static struct summary *job_file_read(struct job_tree *tree, const char *path, struct run_extent which, uid_t *owner)
{
    char error[128] = "";
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        errx(1, "no memory");
    if (mpit_read(summary, path, which, owner, error) == 0)
        return summary;
    tree_problem_tell(tree, path, error);
    free(summary);
    return NULL;
}

static void summary_free(struct summary *summary)
{
    summary_release(summary);
    free(summary);
}

static struct summary *parts_sum(struct job_parts *parts)
{
    struct summary *sum = summary_sums_end(&parts->sums);
    *parts = (struct job_parts){.count = 0};
    return sum;
}

/* The part belongs to this function. */
static void parts_add(struct job_parts *parts, const char *part_of, const char *path, struct summary *part, uid_t owner)
{
    if (parts->count && (strcmp(parts->part_of, part_of) != 0 || strcmp(parts->last, path) >= 0))
        summary_free(parts_sum(parts));
    summary_sums_add_once(&parts->sums, part);
    parts->count++;
    parts->owner = owner;
    snprintf(parts->part_of, sizeof parts->part_of, "%s", part_of);
    snprintf(parts->last, sizeof parts->last, "%s", path);
}

/* Returns whether these are all parts of the job. */
static bool parts_are_all(const struct job_parts *parts, struct job_table *table, const char *part_of)
{
    if (!parts->count || strcmp(parts->part_of, part_of) != 0)
        return false;
    sqlite3_stmt *ask = job_table_ask(table, "SELECT count(*) FROM files WHERE part_of = ? AND part = 1", NULL);
    sqlite3_bind_text(ask, 1, part_of, -1, SQLITE_TRANSIENT);
    bool all = job_row_next(ask) && (uint64_t)sqlite3_column_int64(ask, 0) == parts->count;
    sqlite3_finalize(ask);
    return all;
}

static void job_file_note(struct job_tree *tree, struct job_table *table, const char *path, const struct stat *st)
{
    char part_of[JOB_PART_BYTES];
    uid_t owner = 0;
    tree->files++;
    if (job_table_has_file(table, path, st))
        return;
    tree->read++;
    struct summary *summary = job_file_read(tree, path, regular_file(st), &owner);
    if (!summary)
        return; /* the next time it is tried again */
    bool whole = !summary->world_size || summary->ranks >= summary->world_size;
    bool told = summary->traced.replayed && summary->traced.engine == CURES_ENGINE;
    if (whole && !told && owner == geteuid() && text_ends(path, RUN_FILE_SUFFIX))
        trace_add(summary, path);
    snprintf(part_of, sizeof part_of, "%016" PRIx64 " of user %u", summary->job, (unsigned)owner);
    if (whole)
        job_table_add(table, path, summary, owner);
    job_table_add_file(table, path, st, part_of, !whole);
    if (whole)
        summary_free(summary);
    else
        parts_add(&tree->parts, part_of, path, summary, owner);
}

static int tree_entry_order(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

int job_tree_read(struct job_tree *tree, struct job_table *table, const char *path)
{
    char root_path[PATH_MAX]; /* the same for each way to the directory: it is in the index */
    char *const roots[] = {root_path, NULL};
    packed_enable();
    run_reader_guard(); /* files of others may become shorter at any time */
    FTS *walk = realpath(path, root_path) ? fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, tree_entry_order) : NULL;
    int error = walk ? 0 : errno;
    for (FTSENT *entry; walk && (errno = 0, entry = fts_read(walk));) {
        bool root = entry->fts_level == FTS_ROOTLEVEL;
        if (entry->fts_info == FTS_F && run_dir_owns(entry->fts_name))
            job_file_note(tree, table, entry->fts_accpath, entry->fts_statp);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR) {
            error = root ? entry->fts_errno : error;
            if (!root)
                tree_problem_tell(tree, entry->fts_path, strerror(entry->fts_errno));
        }
    }
    if (walk && !error)
        error = errno; /* of fts_read, which has ended */
    if (walk)
        fts_close(walk);
    errno = error;
    return error ? -1 : 0;
}

/* Reads all parts of a job, of this and of earlier times, in the order of their paths. *gone: one is not there, and no
 * joined file has it. */
static void parts_read(struct job_tree *tree, struct job_table *table, const char *part_of, bool *gone)
{
    struct job_parts *parts = &tree->parts;
    bool joined = false;
    if (parts->count)
        summary_free(parts_sum(parts));
    sqlite3_stmt *ask =
        job_table_ask(table, "SELECT file FROM files WHERE part_of = ? AND part = 1 ORDER BY file", NULL);
    sqlite3_bind_text(ask, 1, part_of, -1, SQLITE_TRANSIENT);
    while (job_row_next(ask)) {
        const char *path = (const char *)sqlite3_column_text(ask, 0);
        bool here = path && access(path, F_OK) == 0;
        uid_t owner = 0;
        struct summary *part = here ? job_file_read(tree, path, (struct run_extent){0}, &owner) : NULL;
        if (part)
            parts_add(parts, part_of, path, part, owner);
        joined = joined || (part && job_file_parts(path, (struct run_extent){0}) > 1);
        *gone = *gone || !part;
    }
    sqlite3_finalize(ask);
    *gone = *gone && !joined; /* a joined file has the parts that went */
}

/* Returns whether a file in the directory of a part has all processes of the parts: a join was ended before it removed them.
 * A launcher may give one number to two jobs. */
static bool whole_is_beside(struct job_tree *tree, struct job_table *table, const char *part_of, const char *part,
                            const struct summary *parts)
{
    const char *slash = strrchr(part, '/');
    int bytes = slash ? (int)(slash + 1 - part) : 0;
    sqlite3_stmt *ask = job_table_ask(table, "SELECT file FROM files WHERE part_of = ? AND part = 0", NULL);
    sqlite3_bind_text(ask, 1, part_of, -1, SQLITE_TRANSIENT);
    bool found = false;
    while (!found && job_row_next(ask)) {
        const char *path = (const char *)sqlite3_column_text(ask, 0);
        uid_t owner;
        if (!path || strncmp(path, part, (size_t)bytes) != 0 || strchr(path + bytes, '/') || access(path, F_OK) != 0)
            continue;
        struct summary *whole = job_file_read(tree, path, (struct run_extent){0}, &owner);
        found = whole && summary_sums_have(&(struct summary_sums){{whole}}, parts);
        if (whole)
            summary_free(whole);
    }
    sqlite3_finalize(ask);
    return found;
}

/* If a part is gone since an earlier time, the row stays as it is. */
static void parts_join(struct job_tree *tree, struct job_table *table, const char *part_of)
{
    char source[JOB_PART_BYTES + 4];
    bool gone = false;
    snprintf(source, sizeof source, "job %s", part_of);
    if (!parts_are_all(&tree->parts, table, part_of))
        parts_read(tree, table, part_of, &gone);
    uid_t owner = tree->parts.owner;
    char last[PATH_MAX];
    snprintf(last, sizeof last, "%s", tree->parts.last);
    struct summary *whole = parts_sum(&tree->parts);
    bool known =
        (gone && job_table_has(table, source)) || (whole && whole_is_beside(tree, table, part_of, last, whole));
    if (whole && !known)
        job_table_add(table, source, whole, owner);
    if (whole)
        summary_free(whole);
}

void job_tree_join(struct job_tree *tree, struct job_table *table)
{
    sqlite3_stmt *next = job_table_ask(table, "SELECT part_of, rowid FROM files WHERE joined = 0 LIMIT 1", NULL);
    sqlite3_stmt *done = job_table_ask(table, "UPDATE files SET joined = 1 WHERE part_of = ? OR rowid = ?", NULL);
    while (job_row_next(next)) {
        char part_of[JOB_PART_BYTES];
        const char *text = (const char *)sqlite3_column_text(next, 0);
        sqlite3_int64 row = sqlite3_column_int64(next, 1);
        snprintf(part_of, sizeof part_of, "%s", text ? text : "");
        sqlite3_reset(next);
        parts_join(tree, table, part_of);
        sqlite3_bind_text(done, 1, part_of, -1, SQLITE_TRANSIENT);
        sqlite3_bind_int64(done, 2, row); /* in an index that somebody else has written the text may be any */
        job_row_next(done);
        sqlite3_reset(done);
    }
    sqlite3_finalize(next);
    sqlite3_finalize(done);
}
