/*
 * The critical path for the timeline: which rank it is on, and when.
 *
 *   waits of the analysis ──> turns: the PAGE_PATH_TURNS longest ──> from the end of the run back, from turn to turn ──> pieces
 *
 * At a turn the path goes from an awaited rank to one that waited for it. All waits of an operation for the same rank are one
 * turn, to any member of the communicator. Turns at short waits are left out.
 */
#ifndef MPIT_TOOLS_PAGE_PATH_H
#define MPIT_TOOLS_PAGE_PATH_H

#include "analysis/analysis.h"

#include <jansson.h>

struct page_path {
    struct keytable turns;
    uint64_t least_ns; /* of waits at a turn: shorter ones have been removed */
    bool no_memory;
};

void page_path_add(struct page_path *path, const struct analysis_wait *wait);
/* [[rank, from_ns, to_ns], ...], in the order of time. Nothing may be added after it. NULL: no memory. */
json_t *page_path_json(struct page_path *path, const struct analysis *analysis);
void page_path_close(struct page_path *path);

#endif
