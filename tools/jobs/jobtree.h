/*
 * Reads the files of a log tree into the table of jobs: summaries, containers, and run files of single processes.
 *
 *   a file with all ranks of its job    its row at once
 *   a file with a part of them          noted. At the end all parts of its job are joined to one row, and for that read
 *                                       again if they were not the last ones. Files of several users are never joined
 *
 * A file that is in the table already, and has not changed, is not read again.
 */
#ifndef MPIT_TOOLS_JOBTREE_H
#define MPIT_TOOLS_JOBTREE_H

#include "job/summarysums.h"
#include "jobs/jobtable.h"

#include <limits.h>

/* The parts that were read last: of one job, in the order of their paths. */
struct job_parts {
    struct summary_sums sums;
    size_t count;
    char part_of[JOB_PART_BYTES];
    char last[PATH_MAX]; /* path of the last one */
    uid_t owner;
};

struct job_tree {
    size_t files, read, problems; /* found, read now, and unreadable ones */
    struct job_parts parts;
};

/* Reads all summaries below a directory, or a single one. Unreadable ones are named on standard error, the first few of
 * them. Returns 0, or -1 with errno: the directory cannot be read. */
int job_tree_read(struct job_tree *tree, struct job_table *table, const char *path);
/* Joins the parts. Once, after all trees were read. */
void job_tree_join(struct job_tree *tree, struct job_table *table);

#endif
