/*
 * The calls of a running job by their place, summed over its ranks, and the passes of its loop.
 *
 * A pass ends with a collective, MPI_Waitall or MPI_Win_fence at one place. All ranks have called it about equally often. Of
 * several loops it is the one with most calls.
 */
#ifndef MPIT_TOOLS_LIVESITES_H
#define MPIT_TOOLS_LIVESITES_H

#include "base/keytable.h"
#include "live/live.h"

struct live_site {
    struct keyed keyed; /* hash of its path (summary_path_hash), 0 */
    unsigned function;
    const struct run_reader *run; /* one of the processes that have it, until the next look */
    uint32_t path;                /* and the number of the path there */
    uint64_t calls, ns, stall_ns;
    size_t ranks;         /* that count passes, */
    uint64_t least, most; /* and the calls of one of them */
};

struct live_passes {
    uint64_t site;  /* the hash of the call that counts them. 0: not known */
    uint64_t count; /* so far, of the rank that has fewest */
};

/* Whose processes count. A process with more than LIVE_PATHS_MOST paths is left out. */
struct live_share {
    bool own;    /* only those of `owner` that are on this node */
    uid_t owner; /* of the run file */
};

enum { LIVE_PATHS_MOST = 8192 };

/* Fills a new table with the calls of the processes. The caller releases it. Ranks that are gone count no passes while others
 * live. */
struct keytable live_sites_read(const struct live_job *job, struct live_share share);
/* `last`: the site at the last look, which stays if it is about as good as another one. */
struct live_passes live_passes_find(const struct keytable *sites, const struct live_job *job, struct live_share share,
                                    uint64_t last);

#endif
