/*
 * Brings what the processes of this node recorded from their spool (spools.h) to the output directory.
 *
 *   live files of processes that reached their end      merged into one summary, OUTPUT/HOST.PID.summary
 *   of others, with a trace, samples or MPIT_REDUCE=0   each copied to OUTPUT/HOST.PID.mpit
 *
 * A job is collected when none of its processes on this node is at work any more. One process collects at a time: it
 * holds a lock.
 *
 *   1  the results are written beside their places
 *   2  the live files get a mark (header.collected): readers leave them out from now on
 *   3  the results are renamed. A process that finds marked live files and results without a name renames these.
 *   4  wish.visible is called: nobody has to wait for the disk
 *   5  the results are brought to the disk, and the live files go. Where the disk fails, the results go instead, and the
 *      marks with them.
 *
 * Whoever collects what earlier jobs left (wish.idle_seconds) meets output directories whose place is gone, too. Their
 * live files are removed after a day.
 */
#ifndef MPIT_TOOLS_COLLECT_H
#define MPIT_TOOLS_COLLECT_H

#include "collect/spools.h"

#include <stdint.h>

enum { COLLECT_PROBLEM_BYTES = 2 * PATH_MAX };

struct collect_wish {
    int wait_ms;           /* for the lock, at most */
    int idle_seconds;      /* only files that nobody has written for so long */
    void (*visible)(void); /* NULL: nobody waits */
    void (*waiting)(void); /* another process has the lock; NULL: nobody is told */
};

struct collected {
    size_t merged, kept; /* live files */
    size_t at_work;      /* live files of jobs that have not ended */
    size_t left;         /* live files that could not be brought */
};

/* Takes the lock of a spool: a descriptor to be closed, or -1 with errno; EWOULDBLOCK: another process has it. */
int collect_lock(const char *spool, int wait_ms);

/* Collects one spool. Adds to `sum`. Returns 0, or -1 with what failed in problem[]. */
int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                  char problem[COLLECT_PROBLEM_BYTES]);

/* Collects the spools of an output directory. Likewise. */
int collect_output(const char *output, const struct collect_wish *wish, struct collected *sum,
                   char problem[COLLECT_PROBLEM_BYTES]);

#endif
