#include "database/database_job.h"

#include <inttypes.h>
#include <stdio.h>

static int sample_row_put(void *data, const struct stack_sample *sample)
{
    struct database_job *job = data;
    int64_t path = database_path_of_sample(&job->paths, sample);
    const struct sample *taken = sample->sample;
    if (!path)
        return -1;
    struct database *to = job_row_begin(job, TABLE_SAMPLES);
    row_known(to, sample->rank >= 0, (uint64_t)sample->rank);
    row_known(to, taken->thread != SAMPLE_NO_THREAD, taken->thread);
    row_signed(to, taken->tid);
    row_signed(to, sample->at_ns);
    row_count(to, sample->weight_ns);
    row_count(to, sample->cpu_ns);
    row_word(to, taken->state <= MPIT_STATE_STALL_OTHER ? state_texts[taken->state] : NULL);
    row_text(to, taken->call ? run_reader_call_name(sample->run, taken->call) : NULL);
    row_signed(to, path);
    row_end(to);
    return 0;
}

int database_samples_fill(struct database_job *job)
{
    static const struct selection all;
    struct stacks stacks;
    char text[160];
    if (!run_job_has_samples(job->job)) {
        database_note(job, TABLE_SAMPLES, "no samples were taken: mpit-run --sample HZ takes some");
        return 0;
    }
    int result = stacks_open(&stacks, job->job, &all, false) ?: stacks_walk(&stacks, sample_row_put, job);
    if (result == 0 && stacks.lost) {
        snprintf(text, sizeof text, "%" PRIu64 " samples were lost: their buffer was full", stacks.lost);
        database_note(job, TABLE_SAMPLES, text);
    }
    if (result == 0 && stacks.damaged) {
        snprintf(text, sizeof text,
                 "the samples of %" PRIu64 " threads are damaged; samples after the damage are missing",
                 stacks.damaged);
        database_note(job, TABLE_SAMPLES, text);
    }
    stacks_release(&stacks);
    return result;
}
