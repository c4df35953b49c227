/*
 * Single calls for the timeline: the longest ones of all ranks.
 *
 *   calls of the walk ──> the PAGE_CALLS longest ──> list by rank and time, with the place of each call
 *
 * Twice as many are collected. Then the shorter half goes, and later calls must be longer than all that went.
 *
 * If the job has no more calls, the list is complete.
 */
#ifndef MPIT_TOOLS_PAGE_CALLS_H
#define MPIT_TOOLS_PAGE_CALLS_H

#include "report/callplaces.h"
#include "job/rundir.h"

#include <jansson.h>
#include <stdbool.h>

struct page_call {
    uint64_t begin_ns, ns, stall_ns;
    uint32_t rank, thread, place, kind;
};

struct page_calls {
    struct page_call *list; /* if it was cut, the longest first up to PAGE_CALLS, then others */
    size_t count;
    bool cut;
    uint64_t all;
    struct call_places *places;
    const struct summary *summary;
};

/* The job must exist until the end. Returns 0, or -1 without memory. Close it in both cases. */
int page_calls_open(struct page_calls *calls, const struct run_job *job);
void page_calls_add(struct page_calls *calls, const struct page_call *call);
/* Returns {"count", "shortest_ns", "functions", "callsites", "list"}. Nothing may be added after it. */
json_t *page_calls_json(struct page_calls *calls);
void page_calls_close(struct page_calls *calls);

#endif
