/*
 * Makes compact run files (compact.h) of those that a run left: the same events and tallies in a fraction of the space.
 */
#ifndef MPIT_TOOLS_COMPACTION_H
#define MPIT_TOOLS_COMPACTION_H

#include "job/rundir.h"

struct compaction {
    size_t done, already, unended;      /* files: made compact; that were; whose process did not reach its end */
    uint64_t bytes_before, bytes_after; /* of those that were done */
    uint64_t events, calls;             /* in those that were done */
};

/*
 * Replaces each run file by a compact one, by several threads at once (0: as many as there are processors). A file is
 * replaced when all of it was read back and found the same, and at once: whatever happens meanwhile, one of both is
 * there. Files of processes that did not reach their end stay as they are. Returns 0, or -1 with what failed for the
 * first of the files that could not be replaced; the others are.
 */
int compaction_run(const struct run_dir *dir, unsigned threads, struct compaction *result, char error[512]);

#endif
