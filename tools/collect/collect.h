/*
 * Collects the recordings of this node's processes from their spool (spools.h) into the output directory.
 *
 *   live files of processes that reached their end      merged into one summary, OUTPUT/HOST.PID.summary
 *   of others, with a trace, samples or MPIT_REDUCE=0   each copied to OUTPUT/HOST.PID.mpit
 *
 * A job is collected when none of its processes on this node is at work. Only one process collects at a time, and holds
 * a lock.
 *
 *   1  the results are written next to their places
 *   2  the live files get a mark (header.collected): readers leave them out from now on
 *   3  the results are renamed. A process that finds marked live files and results without a name renames these.
 *   4  wish.visible is called: the caller need not wait for the disk
 *   5  the results are flushed to the disk, and the live files are removed. If the disk fails, the results and the
 *      marks are removed instead.
 *
 * A process that collects files of earlier jobs (wish.idle_seconds) may also find output directories whose place is
 * gone. Their live files are removed after a day.
 */
#ifndef MPIT_TOOLS_COLLECT_H
#define MPIT_TOOLS_COLLECT_H

#include "collect/spools.h"

#include <stdint.h>

enum { COLLECT_PROBLEM_BYTES = 2 * PATH_MAX };

/* Which spools get a mark if the files of a job should become one (spool_join_ask). */
enum collect_join {
    JOIN_NOT,
    JOIN_OF_SITE, /* those of the site's pattern */
    JOIN_ALL
};

struct collect_wish {
    int wait_ms;      /* for the lock, at most */
    int idle_seconds; /* only files without a write for so many seconds */
    enum collect_join join;
    void (*visible)(void); /* may be NULL */
    void (*waiting)(void); /* called if another process has the lock. May be NULL */
};

struct collected {
    size_t merged, kept; /* live files */
    size_t at_work;      /* live files of jobs that have not ended */
    size_t left;         /* live files that could not be brought */
};

/* Collects one spool. Adds to `sum`. Returns 0, or -1 with the failure in problem[]. */
int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                  char problem[COLLECT_PROBLEM_BYTES]);

/* Collects the spools of an output directory. Returns as above. */
int collect_output(const char *output, const struct collect_wish *wish, struct collected *sum,
                   char problem[COLLECT_PROBLEM_BYTES]);

/* Removes the spool if it has no live file and no mark to join, and mpit-run does not watch it. A process that begins in it
 * prevents this. The caller holds its lock. */
void spool_remove(const struct spool *spool);

#endif
