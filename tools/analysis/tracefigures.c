#include "analysis/tracefigures.h"

#include "analysis/cures.h"
#include "format/packedrun.h"

#include <stdlib.h>

void trace_figures_take(struct summary *summary, const struct analysis *analysis)
{
    struct summary_traced *traced = &summary->traced;
    const struct ideal *ideal = &analysis->ideal.ideal_ns;
    *traced = (struct summary_traced){.there = true, .split = !analysis->no_ideal};
    if (traced->split)
        traced->ideal_ns = ideal->least + (ideal->most - ideal->least) / 2;
    if (!analysis->no_worlds)
        cures_find(analysis, summary);
}

void trace_figures_fill(const struct run_dir *dir)
{
    static const struct selection all;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        if (!job->summary || job->part || !run_job_has_trace(job))
            continue;
        job->summary->traced.there = true;
        if (job->summary->events > TRACE_FIGURES_EVENTS_MOST)
            continue;
        struct analysis *analysis = malloc(sizeof *analysis);
        if (!analysis)
            return;
        enum packed_trouble before = packed_trouble_seen();
        bool good = analysis_open(analysis, job->files, job->file_count, &all, NULL) == 0;
        if (good && packed_trouble_seen() == before)
            trace_figures_take(job->summary, analysis);
        packed_trouble_forget(before); /* the summary is whole without its trace */
        analysis_release(analysis);
        free(analysis);
    }
}
