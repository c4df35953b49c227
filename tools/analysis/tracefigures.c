#include "analysis/tracefigures.h"

#include <stdlib.h>

static void late_receivers_take(struct summary_traced *traced, const struct analysis *analysis)
{
    uint64_t *ranks = calloc((size_t)analysis->job.size + 1, sizeof *ranks);
    if (!ranks)
        return;
    for (size_t i = 0; i < analysis->waits.capacity; i++)
        for (const struct keyed *keyed = analysis->waits.buckets[i]; keyed; keyed = keyed->next)
            if (keyed->key[0] >> 48 == WAIT_LATE_RECEIVER)
                ranks[keyed->key[1]] += ((const struct analysis_sum *)keyed)->amount;
    traced->late_receiver_rank = -1;
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (ranks[r] > traced->late_receiver_ns) {
            traced->late_receiver_ns = ranks[r];
            traced->late_receiver_rank = r;
        }
    free(ranks);
    traced->waits = true;
}

void trace_figures_take(struct summary *summary, const struct analysis *analysis)
{
    struct summary_traced *traced = &summary->traced;
    const struct ideal *ideal = &analysis->ideal.ideal_ns;
    *traced = (struct summary_traced){.split = !analysis->no_ideal};
    if (traced->split)
        traced->ideal_ns = ideal->least + (ideal->most - ideal->least) / 2;
    traced->messages = analysis->matching.matched;
    traced->unexpected = analysis->matching.unexpected;
    if (analysis->has_times && analysis->has_messages)
        late_receivers_take(traced, analysis);
}

void trace_figures_fill(const struct run_dir *dir)
{
    static const struct selection all;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        if (!job->summary || job->part || !run_job_has_trace(job) || job->summary->events > TRACE_FIGURES_EVENTS_MOST)
            continue;
        struct analysis *analysis = malloc(sizeof *analysis);
        if (!analysis)
            return;
        if (analysis_open(analysis, job->files, job->file_count, &all, NULL) == 0)
            trace_figures_take(job->summary, analysis);
        analysis_release(analysis);
        free(analysis);
    }
}
