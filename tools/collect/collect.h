/*
 * Collects the recordings of this node's processes from their spool (spools.h) into the output directory.
 *
 *   live files of processes that reached their end      merged into one summary, OUTPUT/HOST.PID.summary
 *   of others, with a trace, samples or MPIT_REDUCE=0   each copied to OUTPUT/HOST.PID.mpit
 *
 * A job is collected when none of its processes on this node is at work. Only one process collects at a time, and holds
 * a lock.
 *
 *   1  a result is written next to its place
 *   2  its live files get a mark (header.collected): from now on the result may have its name
 *   3  it is renamed. Where 1 to 3 fail, these processes stay in the spool, and the others go on
 *   4  wish.visible is called: the caller need not wait for the disk
 *   5  the results are flushed to the disk, and their live files are removed. A result that cannot be flushed is removed
 *      instead
 *
 * At any time each process is in the spool or has a result. If it has both, readers and the next collector know it by the
 * mark, and find its result (run_dir.brought). A mark is no proof of a result: a marked file without a result is collected again.
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

#endif
