#include "cures/tracefigures.h"

#include "cures/cures.h"
#include "cures/passfigures.h"
#include "format/label.h"
#include "format/packedrun.h"
#include "job/join.h"
#include "jobfile/summaryfile.h"
#include "placement/placement.h"
#include "summary/efficiency.h"
#include "summary/summarysites.h"
#include "waiting/mismatch.h"

#include <math.h>
#include <stdlib.h>

/* The search for cures had no reading. */
static void passes_take(struct summary *summary, const struct analysis *analysis, const struct beat *beat)
{
    struct world_plan plan = {.count = WORLDS_FIXED};
    struct analysis *reading = world_plan_open(&plan) == 0 ? analysis_replay(analysis, &plan, beat) : NULL;
    if (reading)
        pass_figures_take(summary, reading);
    analysis_reading_release(reading);
    world_plan_release(&plan);
}

/* A computation that is most of the time outside of MPI, of each rank. */
static void longest_take(struct summary_traced *traced, const struct analysis *analysis)
{
    size_t count;
    struct segment_figures *segments = segments_by_cost(&analysis->segments, &count);
    uint64_t most_ns = 0;
    for (int32_t r = 0; analysis->rank_times && r < analysis->job.size; r++)
        most_ns = analysis->rank_times[r].useful_ns > most_ns ? analysis->rank_times[r].useful_ns : most_ns;
    if (segments && count && segments->ranks == (uint32_t)analysis->job.size && 2 * segments->min_ns > most_ns) {
        traced->longest_from = call_place_hash(analysis->places, segments->from);
        traced->longest_to = call_place_hash(analysis->places, segments->to);
    }
    free(segments);
}

void trace_figures_take(struct summary *summary, const struct analysis *analysis)
{
    struct summary_traced *traced = &summary->traced;
    const struct ideal *ideal = &analysis->ideal.ideal_ns;
    *traced = (struct summary_traced){.mismatch = traced->mismatch,
                                      .placement = traced->placement,
                                      .there = true,
                                      .split = !analysis->no_ideal && !analysis->part_ns,
                                      .part_ns = analysis->part_ns,
                                      .part_is_last = analysis->last != NULL};
    if (traced->split)
        traced->ideal_ns = ideal->least + (ideal->most - ideal->least) / 2;
    longest_take(traced, analysis);
    struct beat beat;
    const struct beat_reading of = {.ranks = analysis->job.size,
                                    .ns = analysis->part_ns ? analysis->part_ns
                                                            : (uint64_t)(summary->run_seconds.max * 1e9),
                                    .part = analysis->part_ns != 0,
                                    .is_last = analysis->last != NULL};
    bool found = !analysis->no_worlds && beat_find(&beat, &analysis->beats, &of) == 0;
    if (!analysis->no_worlds)
        cures_find(analysis, found ? &beat : NULL, summary);
    if (found && beat.count && !traced->passes.count)
        passes_take(summary, analysis, &beat);
    if (found)
        beat_release(&beat);
}

/* A run that is so many times as long as the part that tells of it may be another one after that. */
enum { PART_LEAST = 4 };

/* Shares of the time outside of MPI may differ by so much. */
#define ALIKE 0.1

/* Ranks compute for about the same share of the part as of the run: their mean, and the longest. */
static bool part_is_like_run(const struct analysis *analysis, const struct summary *summary)
{
    double mean = 0, most = 0;
    struct efficiency whole = summary_efficiency(summary);
    for (int32_t r = 0; r < analysis->job.size; r++) {
        const struct rank_times *times = &analysis->rank_times[r];
        double share = times->run_ns ? (double)times->useful_ns / (double)times->run_ns : 0;
        mean += share / analysis->job.size;
        most = share > most ? share : most;
    }
    return whole.known && whole.run > 0 && fabs(mean - whole.mean / whole.run) < ALIKE &&
           fabs(most - whole.max / whole.run) < ALIKE;
}

/* Takes the figures that mpit-run has stored. Returns false if there are none. */
static bool stored_take(const struct run_job *job)
{
    const struct run_piece *total = NULL;
    struct summary stored;
    char error[128];
    uid_t owner;
    for (size_t i = 0; i < job->piece_count; i++)
        total = job->pieces[i].kind == SECTION_TOTAL ? &job->pieces[i] : total;
    if (!total || job->torn || !run_job_is_one_file(job) ||
        summary_part_read(&stored, total->path, total->extent, &owner, error) != 0)
        return false;
    bool good = stored.job == job->job && stored.traced.replayed && stored.traced.engine == CURES_ENGINE;
    if (good)
        summary_traced_take(job->summary, &stored);
    summary_release(&stored);
    return good;
}

/* Returns whether all traces of the job are brief, and are here. */
static bool job_is_brief(const struct run_job *job)
{
    bool brief = !job->torn && job->file_count == job->summary->world_size;
    for (size_t i = 0; i < job->file_count; i++)
        brief = brief && run_trace_is_brief(&job->files[i].header);
    return brief;
}

/* The run is not much longer than the part of it that was read, or is alike. */
static bool part_tells(const struct analysis *analysis, const struct summary *summary)
{
    double part = (double)analysis->part_ns * 1e-9;
    return !analysis->part_ns || part * PART_LEAST >= summary->run_seconds.max || part_is_like_run(analysis, summary);
}

/* Reads the traces of the job from their begin. If that is short and not like the run, it reads their last part. If neither
 * tells of the run, nothing is taken. Returns whether the traces are sound. */
static bool traces_read(const struct run_job *job, struct analysis *analysis, bool brief)
{
    static const struct selection all;
    enum packed_trouble before = packed_trouble_seen();
    bool good = analysis_open(analysis, job->files, job->file_count, &all, NULL) == 0;
    if (good && brief && !analysis->no_worlds && !part_tells(analysis, job->summary)) {
        analysis_release(analysis);
        good = analysis_open_last(analysis, job->files, job->file_count, &all, NULL) == 0;
    }
    bool sound = good && packed_trouble_seen() == before;
    packed_trouble_forget(before); /* the summary is whole without its trace */
    if (sound && (analysis->no_worlds || part_tells(analysis, job->summary)))
        trace_figures_take(job->summary, analysis);
    return sound;
}

static uint64_t step_site(const struct run_job *job, const struct step *step)
{
    const struct run_reader *file = run_job_file(job, step->file);
    const struct path_record *path = step->path ? run_reader_path_of(file, step->path) : NULL;
    uint64_t hash = path ? summary_path_hash(file, path) : 0;
    run_reader_rest(file);
    return hash;
}

void trace_mismatch_take(const struct run_job *job)
{
    struct summary_mismatch *into = &job->summary->traced.mismatch;
    struct mismatches found;
    enum packed_trouble before = packed_trouble_seen();
    *into = (struct summary_mismatch){.number = 0};
    if (!job->summary->ended_badly && mismatches_find(job, NULL, &found) == 0 && found.count &&
        packed_trouble_seen() == before) {
        const struct step *few = found.list[0].few, *many = found.list[0].many;
        *into = (struct summary_mismatch){.number = few->number,
                                          .makes = few->makes,
                                          .call = few->call,
                                          .usual = many->call,
                                          .root = few->root,
                                          .usual_root = many->root,
                                          .reduction = few->reduction,
                                          .usual_reduction = many->reduction,
                                          .bytes = few->bytes,
                                          .usual_bytes = many->bytes,
                                          .site = step_site(job, few),
                                          .others = found.list[0].many_count};
        label_clean(into->name, sizeof into->name, many->comm->name, COMM_NAME_BYTES);
        label_clean(into->label, sizeof into->label, many->comm->label, COMM_LABEL_BYTES);
        for (size_t i = 0; i < found.list[0].few_count; i++)
            rank_list_add(&into->ranks, run_rank(&job->files[few[i].file].header));
    }
    if (!job->summary->ended_badly)
        mismatches_release(&found);
    packed_trouble_forget(before); /* the summary is whole without its events */
}

static void job_fill(struct run_job *job)
{
    if (!job->summary || job->part)
        return;
    bool stored = run_job_has_trace(job) && stored_take(job);
    if (!job->summary->traced.placement.known)
        placement_fill(job);
    if (stored || !run_job_has_trace(job))
        return;
    bool brief = job_is_brief(job);
    job->summary->traced.there = true;
    trace_mismatch_take(job);
    if (job->summary->events > TRACE_FIGURES_EVENTS_MOST && !brief)
        return;
    struct analysis *analysis = malloc(sizeof *analysis);
    if (!analysis)
        return;
    job->trace_goes = traces_read(job, analysis, brief) && brief;
    analysis_release(analysis);
    free(analysis);
}

void trace_figures_fill(const struct run_dir *dir)
{
    for (size_t i = 0; i < dir->job_count; i++)
        job_fill(&dir->jobs[i]);
}

void trace_figures_of_brief(const char *spool, struct summary *summary)
{
    struct run_dir dir;
    char error[512];
    bool opened = run_dir_open(&dir, spool, error) == 0;
    for (size_t i = 0; opened && i < dir.job_count; i++) {
        if (dir.jobs[i].job != summary->job || !dir.jobs[i].summary)
            continue;
        job_fill(&dir.jobs[i]);
        summary_traced_take(summary, dir.jobs[i].summary);
        summary->traced.there = false; /* it goes in any case */
        break;
    }
    run_dir_close(&dir);
}
