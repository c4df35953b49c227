#define _GNU_SOURCE
#include "jobs/jobtree.h"

#include "base/text.h"
#include "job/summaryfile.h"

#include <err.h>
#include <errno.h>
#include <fts.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PROBLEMS_TOLD = 10 };

static void problem_tell(struct job_tree *tree, const char *path, const char *reason)
{
    if (tree->problems++ < PROBLEMS_TOLD)
        warnx("%s %s", path, reason);
}

/* Returns a summary that the caller frees, or NULL with the problem told. */
static struct summary *file_read(struct job_tree *tree, const char *path, uid_t *owner)
{
    char error[128] = "";
    struct summary *summary = calloc(1, sizeof *summary);
    if (!summary)
        errx(1, "no memory");
    if (summary_file_read(summary, path, owner, error) == 0)
        return summary;
    problem_tell(tree, path, error);
    free(summary);
    return NULL;
}

static void summary_free(struct summary *summary)
{
    summary_release(summary);
    free(summary);
}

static void file_take(struct job_tree *tree, struct job_table *table, const char *path, const struct stat *st)
{
    char number[24] = "";
    uid_t owner = 0;
    tree->files++;
    if (job_table_has_file(table, path, st))
        return;
    tree->read++;
    struct summary *summary = file_read(tree, path, &owner);
    if (!summary)
        return; /* the next time it is tried again */
    if (summary->world_size && summary->ranks < summary->world_size)
        snprintf(number, sizeof number, "%016" PRIx64, summary->job);
    else
        job_table_add(table, path, summary, owner);
    job_table_add_file(table, path, st, number[0] ? number : NULL);
    summary_free(summary);
}

int job_tree_read(struct job_tree *tree, struct job_table *table, const char *path)
{
    char *const roots[] = {(char *)(uintptr_t)path, NULL};
    FTS *walk = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
    int error = walk ? 0 : errno;
    for (FTSENT *entry; walk && (entry = fts_read(walk));) {
        bool root = entry->fts_level == FTS_ROOTLEVEL;
        if (entry->fts_info == FTS_F && text_ends(entry->fts_name, SUMMARY_SUFFIX))
            file_take(tree, table, entry->fts_accpath, entry->fts_statp);
        else if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR) {
            error = root ? entry->fts_errno : error;
            if (!root)
                problem_tell(tree, entry->fts_path, strerror(entry->fts_errno));
        }
    }
    if (walk)
        fts_close(walk);
    errno = error;
    return error ? -1 : 0;
}

/* All parts of a job, of this and of earlier times. */
static void parts_join(struct job_tree *tree, struct job_table *table, const char *number)
{
    struct summary *whole = NULL;
    char source[64];
    uid_t owner = 0;
    sqlite3_stmt *ask = job_table_ask(table, "SELECT file FROM files WHERE part_of = ? ORDER BY file", NULL);
    sqlite3_bind_text(ask, 1, number, -1, SQLITE_TRANSIENT);
    while (job_row_next(ask)) {
        struct summary *part = file_read(tree, (const char *)sqlite3_column_text(ask, 0), &owner);
        if (!whole || !part) {
            whole = whole ? whole : part;
            continue;
        }
        if (summary_merge(whole, part) != 0)
            errx(1, "no memory");
        summary_free(part);
    }
    sqlite3_finalize(ask);
    if (!whole)
        return;
    snprintf(source, sizeof source, "job %s", number);
    job_table_add(table, source, whole, owner);
    summary_free(whole);
}

void job_tree_join(struct job_tree *tree, struct job_table *table)
{
    sqlite3_stmt *next = job_table_ask(table, "SELECT part_of FROM files WHERE joined = 0 LIMIT 1", NULL);
    sqlite3_stmt *done = job_table_ask(table, "UPDATE files SET joined = 1 WHERE part_of = ?", NULL);
    while (job_row_next(next)) {
        char number[24];
        snprintf(number, sizeof number, "%s", (const char *)sqlite3_column_text(next, 0));
        sqlite3_reset(next);
        parts_join(tree, table, number);
        sqlite3_bind_text(done, 1, number, -1, SQLITE_TRANSIENT);
        job_row_next(done);
        sqlite3_reset(done);
    }
    sqlite3_finalize(next);
    sqlite3_finalize(done);
}
