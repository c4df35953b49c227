#include "job/jobpart.h"

#include "job/clockmessages.h"
#include "replay/replaypart.h"
#include "job/timeline.h"
#include "summary/summaryphases.h"

#include <err.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct job_part {
    struct run_part part; /* the first */
    const struct run_job *job;
    struct timeline line;           /* of a window */
    struct replay_part tallies;     /* of the file that was taken */
    const struct run_reader *taken; /* that one */
    bool *counted;                  /* by file: is it in part.missing already? */
};

static bool is_chosen(const struct job_part *part, size_t i)
{
    const struct run_header *header = &part->job->files[i].header;
    return selection_has_rank(part->part.selection, run_rank(header)) &&
           (run_rank(header) >= 0 || !part->part.selection->rank_count);
}

/* As for --events and --csv: a part of the call in the window is enough. */
static bool has_call(const void *data, const struct event *call, const struct event_extension *more)
{
    const struct job_part *part = data;
    if (!selection_has_function(part->part.selection, event_kind(call)))
        return false;
    if (!part->part.selection->windowed)
        return true;
    int64_t begin = timeline_ns(&part->line, part->taken, call->begin);
    return selection_has_time(part->part.selection, begin, begin + selection_ns(part->taken, call, more));
}

static bool has_comm(const void *data, uint32_t number)
{
    const struct job_part *part = data;
    const struct comm_record *comm = number ? part->taken->comms[number] : NULL;
    return selection_has_comm(part->part.selection, comm ? comm->name : NULL, comm ? comm->label : NULL);
}

static const struct run_reader *file_take(struct run_part *shown, size_t i)
{
    struct job_part *part = (struct job_part *)shown;
    const struct run_header *header = &part->job->files[i].header;
    const struct replay_choice choice = {part, has_call, has_comm};
    char error[256];
    if (!is_chosen(part, i) || (shown->anew && !header->traced)) /* the latter for a process without a rank */
        return NULL;
    part->taken = run_job_file(part->job, i);
    if (!shown->anew)
        return part->taken;
    if (replay_part_open(&part->tallies, part->taken, &choice, error, sizeof error) != 0)
        run_job_file_reject(part->job, i, error);
    if (!part->counted[i])
        shown->missing += part->tallies.missing;
    part->counted[i] = true;
    return &part->tallies.reader;
}

static void file_give_back(struct run_part *shown, size_t i)
{
    struct job_part *part = (struct job_part *)shown;
    (void)i;
    if (shown->anew)
        replay_part_close(&part->tallies);
    part->taken = NULL;
}

/* A process with figures in the summary, of a chosen rank. */
static bool row_is_chosen(const struct job_part *part, const struct summary_row *row)
{
    return row->threads && row->rank >= 0 && selection_has_rank(part->part.selection, row->rank);
}

/* Without any file, figures by rank are still in the summary. Returns how many of the ranks have some. */
static size_t rows_chosen(const struct job_part *part)
{
    const struct summary *summary = part->job->summary;
    size_t count = 0;
    for (size_t i = 0; summary && !part->part.anew && !part->job->file_count && i < summary->row_count; i++)
        count += row_is_chosen(part, &summary->rows[i]);
    return count;
}

static void phases_take(const struct job_part *part, struct summary *to, const struct summary *from)
{
    struct summary chosen = {.phases = calloc(from->phase_count + 1, sizeof *from->phases)};
    for (size_t i = 0; chosen.phases && i < from->phase_count; i++)
        if (from->phases[i].rank >= 0 && selection_has_rank(part->part.selection, from->phases[i].rank))
            chosen.phases[chosen.phase_count++] = from->phases[i];
    if (!chosen.phases || summary_phases_merge(to, &chosen) != 0)
        err(1, "no memory");
    free(chosen.phases);
}

/* Fills in all that rows tell. */
static void rows_take(const struct job_part *part, struct summary *to, const struct summary *from)
{
    for (size_t i = 0; i < from->row_count; i++) {
        const struct summary_row *row = &from->rows[i];
        if (!row_is_chosen(part, row))
            continue;
        double run = (double)row->run_ns * 1e-9, recorded = (double)row_recorded_ns(row) * 1e-9;
        double mpi = (double)row->mpi_ns * 1e-9;
        bool first = to->ranks++ == 0;
        summary_spread_add(&to->run_seconds, run, row->rank, first);
        summary_spread_add(&to->mpi_seconds, mpi, row->rank, first);
        summary_spread_add(&to->recorded_seconds, recorded, row->rank, first);
        summary_spread_add(&to->off_seconds, run - recorded, row->rank, first);
        summary_spread_add(&to->mpi_share, summary_share(mpi, recorded * row->threads, run > recorded), row->rank,
                           first);
        to->threads += row->threads;
        if (summary_row_add(to, *row, from->hosts[row->host].name) != 0)
            err(1, "no memory");
    }
    phases_take(part, to, from);
    to->stall_known = from->stall_known ? to->ranks : 0;
    to->timed_mixed = from->timed_mixed;
    to->filter_mixed = from->filter_mixed;
    memcpy(to->filter, from->filter, sizeof to->filter);
}

/* Checks whether the job has the files for the part. */
static int files_check(struct job_part *part, char error[512])
{
    const struct run_job *job = part->job;
    int32_t untraced = -1;
    for (size_t i = 0; i < job->file_count; i++) {
        const struct run_header *header = &job->files[i].header;
        if (!is_chosen(part, i))
            continue;
        part->part.found++;
        part->part.switched = part->part.switched || header->traced == TRACED_IN_PART;
        if (part->part.anew && !header->traced && header->world_rank >= 0 && untraced < 0)
            untraced = header->world_rank;
    }
    if (job->file_count == 0 || (part->part.anew && untraced >= 0)) {
        const char *why = part->part.anew ? "--window, --comm and --functions need every call, but " : "";
        if (untraced >= 0)
            snprintf(error, 512, "%srank %" PRId32 " was recorded without a trace; mpit-run --trace records one", why,
                     untraced);
        else
            snprintf(error, 512,
                     "%sthe processes of the run have only a common summary, and no files; %smpit-run --trace keeps "
                     "their files",
                     why, part->part.anew ? "" : "MPIT_REDUCE=0 or ");
        return -1;
    }
    if (part->part.wanted && !part->part.found) {
        snprintf(error, 512,
                 "none of the selected ranks has a run file; MPIT_REDUCE=0 or mpit-run --trace keeps run files");
        return -1;
    }
    return 0;
}

static int part_open(struct job_part *part, struct run_job *job, const struct selection *selection, char error[512])
{
    int32_t size = job->summary ? (int32_t)job->summary->world_size : 0;
    *part = (struct job_part){.part = {.selection = selection,
                                       .anew = selection_cuts_calls(selection),
                                       .take = file_take,
                                       .give_back = file_give_back},
                              .job = job};
    part->part.wanted = selection_ranks_below(selection, size);
    part->counted = calloc(job->file_count + 1, sizeof *part->counted);
    if (!part->counted)
        err(1, "no memory");
    part->part.found = rows_chosen(part);
    part->part.rows = part->part.found > 0;
    if (!part->part.rows && files_check(part, error) != 0)
        return -1;
    if (selection->windowed &&
        (timeline_open(&part->line, job->files, job->file_count, true) != 0 || timeline_refine(&part->line) != 0))
        err(1, "no memory");
    job->part = &part->part;
    run_job_summarize(job);
    if (part->part.rows)
        rows_take(part, job->summary, job->stored);
    return 0;
}

struct job_part *job_parts_open(struct run_dir *dir, const struct selection *selection, char error[512])
{
    struct job_part *parts = calloc(dir->job_count + 1, sizeof *parts);
    if (!parts)
        err(1, "no memory");
    for (size_t i = 0; i < dir->job_count; i++)
        if (part_open(&parts[i], &dir->jobs[i], selection, error) != 0) {
            job_parts_close(dir, parts);
            return NULL;
        }
    return parts;
}

void job_parts_close(struct run_dir *dir, struct job_part *parts)
{
    for (size_t i = 0; parts && i < dir->job_count; i++) {
        timeline_release(&parts[i].line);
        free(parts[i].counted);
        dir->jobs[i].part = NULL;
    }
    free(parts);
}
