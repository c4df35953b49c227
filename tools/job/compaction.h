/*
 * Makes compact run files (compact.h) from a run's files: the same events and accumulators in a fraction of the space.
 */
#ifndef MPIT_TOOLS_COMPACTION_H
#define MPIT_TOOLS_COMPACTION_H

#include "job/rundir.h"

struct compaction {
    size_t done, already, live; /* files: newly compact, already compact, live: of a process that may still run */
    size_t contained;           /* in a container, and not compact */
    size_t many;                /* without a trace and samples, in a directory with more than 2,048 files */
    uint64_t bytes_before, bytes_after; /* of the newly compact files */
    uint64_t events, calls;             /* in the newly compact files */
};

/*
 * Replaces each run file of a job, or of all (NULL), by a compact one, with several threads (0: one for each processor). Each new file is first
 * read back completely and compared. The replacement is atomic, so that one of the two files always exists. Live files of
 * processes that have not reached their end stay as they are. Returns 0, or -1 with the reason for the first file that
 * could not be replaced. Other files are replaced nevertheless. The pieces of the jobs are the new files then, but readers
 * stay with the old ones.
 */
int compaction_run(const struct run_dir *dir, const struct run_job *job, unsigned threads, struct compaction *result,
                   char error[512]);

#endif
