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
#include "report/callplaces.h"

struct live_site {
    struct keyed keyed; /* place, 0 */
    unsigned function;
    uint64_t calls, ns, stall_ns;
    size_t ranks;
    uint64_t least, most; /* calls of a rank */
};

struct live_passes {
    uint32_t place; /* of the call that counts them. 0: not known */
    uint64_t count; /* so far, of the rank that has fewest */
};

/* Fills a new table with the calls of the processes that are there. The caller releases it. */
struct keytable live_sites_read(const struct live_job *job, struct call_places *places);
/* `last`: the place at the last look, which stays if it is about as good as another one. */
struct live_passes live_passes_find(const struct keytable *sites, const struct live_job *job, uint32_t last);

#endif
