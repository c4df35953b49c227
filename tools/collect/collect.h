/*
 * Collects the recordings of this node's processes from their spool (spools.h) into the output directory.
 *
 *   live files of one job ──> OUTPUT/HOST.JOB.mpit (format/jobfile.h)
 *      of processes that reached their end              one section, with the sum of their figures. The figures of
 *                                                       brief traces (TRACE_BRIEF) are made before, and the traces go
 *      of others, with a trace, samples, MPIT_REDUCE=0  a packed run for each (packing.h)
 *
 * A job is collected when none of its processes on this node is at work. Only one process collects at a time, and holds
 * a lock.
 *
 *   1  the job file is written beside its place. A process that cannot be written stays in the spool, and the others go on
 *   2  it is renamed. Its live files get a mark (header.collected), for processes that wait
 *   3  wish.visible is called: the caller need not wait for the disk
 *   4  the job files are flushed to the disk, and their live files are removed. A job file that cannot be flushed is
 *      removed instead
 *
 * At any time each process is in the spool or in a job file. If it is in both, readers and the next collector know it by
 * its identity (run_identity).
 *
 * A process that collects files of earlier jobs (wish.idle_seconds) may also find output directories whose place is
 * gone. Their live files are removed after a day.
 */
#ifndef MPIT_TOOLS_COLLECT_H
#define MPIT_TOOLS_COLLECT_H

#include "base/linkage.h"
#include "base/spools.h"

#include <stdint.h>

enum { COLLECT_PROBLEM_BYTES = 2 * PATH_MAX };

/* Which spools get a mark if the files of a job should become one (spool_join_ask). */
enum collect_join {
    JOIN_NOT,
    JOIN_OF_SITE, /* those of the site's pattern */
    JOIN_ALL
};

struct summary;
struct collect_wish {
    int wait_ms;      /* for the lock, at most */
    int idle_seconds; /* only files without a write for so many seconds */
    enum collect_join join;
    void (*visible)(void); /* may be NULL */
    /* Makes the figures of a job with brief traces, all of whose processes are in the spool. NULL: such traces are kept. */
    void (*traced)(const char *spool, struct summary *summary);
    void (*waiting)(void); /* called if another process has the lock for long. May be NULL */
};

struct collected {
    size_t merged, kept; /* live files */
    size_t at_work;      /* live files of jobs that have not ended */
    size_t left;         /* live files that could not be brought */
};

/* Collects one spool. Adds to `sum`. Returns 0, or -1 with the failure in problem[]. */
MUST_CHECK int collect_spool(const struct spool *spool, const struct collect_wish *wish, struct collected *sum,
                             char problem[COLLECT_PROBLEM_BYTES]);

/* Collects the spools of an output directory. Returns as above. */
int collect_output(const char *output, const struct collect_wish *wish, struct collected *sum,
                   char problem[COLLECT_PROBLEM_BYTES]);

#endif
