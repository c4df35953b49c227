/*
 * What the archive of a job has, as its events are written: the regions of calls, the range of times. The threads that
 * write it share one (job->archive), and only set flags and raise times.
 */
#ifndef MPIT_TOOLS_OTF2_CONTENT_H
#define MPIT_TOOLS_OTF2_CONTENT_H

#include "trace/tracejob.h"

struct trace_callpaths;

struct archive_content {
    uint64_t last_ns;                 /* of the events written so far: the later of stamp and time */
    bool kind_used[CALL_COUNT];       /* a call of this kind is in the archive */
    uint16_t region_kind[CALL_COUNT]; /* of calls, by region: once all is written */
    uint32_t region_count;
    const struct trace_callpaths *callpaths; /* NULL: it has none */
};

/*
 * Returns the region of a call, as in event files. It does not depend on the order in which the ranks are written, or
 * on the process that writes them. The used kinds are known only at the end, and readers want region numbers without
 * gaps. So each location has a table from these numbers to the numbers of the definitions (regions_map in otf2_definitions.c).
 */
static inline uint32_t trace_region_number(const struct trace_job *job, unsigned kind)
{
    return job->instruments.region_count + kind;
}

/* The same, and marks the kind as used. */
static inline uint32_t trace_region(struct trace_job *job, unsigned kind)
{
    if (!__atomic_load_n(&job->archive->kind_used[kind], __ATOMIC_RELAXED))
        __atomic_store_n(&job->archive->kind_used[kind], true, __ATOMIC_RELAXED);
    return trace_region_number(job, kind);
}

/* Numbers the regions of the kinds that are used. */
void trace_regions_number(struct trace_job *job);
/* Adds the time of an event to the range of the archive. May be called on any thread. */
void trace_job_reaches(struct trace_job *job, uint64_t ns);
static inline uint64_t trace_location(int32_t world_rank, uint32_t thread)
{
    return (uint64_t)thread << 32 | (uint32_t)world_rank;
}

#endif
