#include "definitions/otf2_content.h"

void trace_regions_number(struct trace_job *job)
{
    job->archive->region_count = 0;
    for (unsigned kind = 0; kind < CALL_COUNT; kind++)
        if (job->archive->kind_used[kind])
            job->archive->region_kind[job->archive->region_count++] = (uint16_t)kind;
}

void trace_job_reaches(struct trace_job *job, uint64_t ns)
{
    uint64_t last = __atomic_load_n(&job->archive->last_ns, __ATOMIC_RELAXED);
    while (ns > last &&
           !__atomic_compare_exchange_n(&job->archive->last_ns, &last, ns, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
        continue;
}
