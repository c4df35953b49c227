#include "trace/tracejob.h"

#include "job/clockmessages.h"
#include "settings/filter.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A damaged file may claim any size, and every rank without a file costs a location in the archive. */

static bool run_has_trace(const struct run_reader *run)
{
    if (run->header.traced)
        return true;
    for (size_t i = 0; i < run->chunk_count; i++)
        if (run->chunks[i]->kind == CHUNK_TRACE || run->chunks[i]->kind == CHUNK_PACKED)
            return true;
    return false;
}

/* Returns whether some process switched its trace. Other processes then may have no trace, which is not an error. */
static bool runs_in_part(const struct run_reader *runs, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (runs[i].header.traced == TRACED_IN_PART)
            return true;
    return false;
}

static bool moves_messages(unsigned kind)
{
    switch ((enum fold_shape)call_table[kind].fold) {
    case FOLD_SEND:
    case FOLD_RECV:
    case FOLD_SENDRECV:
    case FOLD_POST_SEND:
    case FOLD_POST_RECV:
    case FOLD_START:
        return true;
    default:
        return false;
    }
}

/*
 * Messages are matched by their order, so a missing end would shift all later ones. The same holds for collectives. But
 * if all processes leave out a collective, both ends are missing.
 */
static void selection_find(struct trace_job *job, const struct run_reader *runs, size_t count)
{
    static bool left_out[CALL_COUNT];
    char problem[256];
    for (size_t i = 0; i < count; i++) {
        const struct run_header *header = &runs[i].header;
        job->paused = job->paused || header->off_count;
        if ((header->off_count && !job->pauses_met) || strcmp(header->filter, runs[0].header.filter) != 0)
            job->no_messages = job->no_collectives = job->no_accesses = job->no_transfers = true;
    }
    if (filter_read(runs[0].header.filter, left_out, problem, sizeof problem) != 0)
        job->no_messages = job->no_collectives = job->no_accesses = job->no_transfers = true;
    for (unsigned kind = 1; kind < CALL_COUNT; kind++) {
        job->no_messages = job->no_messages || (left_out[kind] && moves_messages(kind));
        job->no_accesses = job->no_accesses || (left_out[kind] && call_table[kind].class == CLASS_RMA);
        job->no_transfers = job->no_transfers || (left_out[kind] && call_table[kind].class == CLASS_IO);
    }
}

int trace_run_wake(const struct run_reader *run, struct otf2_report *report)
{
    char reason[128];
    if (run_reader_wake(run, reason) == 0)
        return 0;
    return report_error(report, "the run file of rank %d %s", run->header.world_rank, reason);
}

static int run_check(const struct trace_job *job, const struct run_reader *run, const struct run_reader *first,
                     struct otf2_report *report)
{
    const struct run_header *header = &run->header;
    if (header->job != first->header.job)
        return report_error(report,
                            "the run files belong to different jobs (%" PRIx64 " of process %u, %" PRIx64
                            " of process %u); convert one job at a time",
                            header->job, header->pid, first->header.job, first->header.pid);
    if (!job->tallies && !job->in_part && !run_has_trace(run))
        return report_error(report, "the run of rank %d has no trace; record it with mpit-run --trace",
                            header->world_rank);
    if (header->world_size > WORLD_SIZE_MAX || header->world_rank >= WORLD_SIZE_MAX)
        return report_error(report, "rank %d of %d is not valid: the run file is damaged", header->world_rank,
                            header->world_size);
    for (size_t kind = 1; kind < run->call_count; kind++)
        if (kind >= CALL_COUNT || strcmp(run->calls[kind].name, call_table[kind].name) != 0)
            return report_error(report,
                                "the run of rank %d was recorded by another version of mpit (call %zu is %s, here %s); "
                                "convert it with that version",
                                header->world_rank, kind, run->calls[kind].name,
                                kind < CALL_COUNT ? call_table[kind].name : "nothing");
    return 0;
}

static bool run_has_losses(const struct run_header *header)
{
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (header->lost[i])
            return true;
    return false;
}

static int rank_place(struct trace_job *job, const struct run_reader *run, struct otf2_report *report)
{
    const struct run_header *header = &run->header;
    struct trace_rank *rank = &job->ranks[header->world_rank];
    if (rank->run)
        return report_error(report, "there are two run files of rank %d (processes %u and %u)", header->world_rank,
                            rank->run->header.pid, header->pid);
    rank->run = run;
    rank->ended = run_phase_is_end(header->phase) && header->end_ticks >= header->begin_ticks;
    rank->event_count = calloc(run->thread_count + 1, sizeof *rank->event_count);
    rank->written = calloc(run->thread_count + 1, sizeof *rank->written);
    if (!rank->event_count || !rank->written)
        return report_no_memory(report);
    rank->complete = rank->ended && !run_has_losses(header);
    for (uint32_t thread = 0; thread < run->thread_count; thread++) {
        struct event_cursor cursor;
        event_cursor_open(&cursor, run, thread);
        rank->written[thread] = job->in_part && !run_has_trace(run) ? 0 : cursor.end;
        rank->complete = rank->complete && run_reader_events_missing(run, thread) == 0;
    }
    return 0;
}

static void left_out_tell(struct trace_job *job, const struct run_header *header, struct otf2_report *report)
{
    char rank[40] = "its rank is unknown, and it";
    if (run_rank(header) >= 0)
        snprintf(rank, sizeof rank, "rank %d", run_rank(header));
    if (run_rank(header) >= 0 && run_rank(header) < job->size)
        job->ranks[run_rank(header)].starting = true;
    report_warning(report, "process %u on %s ended before MPI_Init returned: %s is left out", header->pid, header->host,
                   rank);
}

enum { RANKS_ANY = 1 << 16, RANKS_A_FILE = 1024 };

static int ranks_place(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report)
{
    for (size_t i = 0; i < count; i++) {
        const struct run_header *header = &runs[i].header;
        if (header->world_rank < 0) /* it has no world yet */
            continue;
        if (header->world_size > job->size)
            job->size = header->world_size;
        if (header->world_rank >= job->size)
            job->size = header->world_rank + 1;
    }
    if ((size_t)job->size > RANKS_ANY + RANKS_A_FILE * count) /* all of them would be in memory, and in the archive */
        return report_error(report, "%zu run files cannot be all that is left of %d ranks: one of them is damaged",
                            count, job->size);
    job->ranks = calloc((size_t)job->size + 1, sizeof *job->ranks);
    if (!job->ranks)
        return report_no_memory(report);
    for (size_t i = 0; i < count; i++) {
        if (runs[i].header.world_rank < 0)
            left_out_tell(job, &runs[i].header, report);
        else if (trace_run_wake(&runs[i], report) != 0 || rank_place(job, &runs[i], report) != 0)
            return -1;
        run_reader_rest(&runs[i]);
    }
    for (int32_t r = 0; r < job->size; r++) /* a rank without a run file has one location */
        if (!job->ranks[r].event_count && !(job->ranks[r].event_count = calloc(1, sizeof(uint64_t))))
            return report_no_memory(report);
    int32_t missing = 0, without = 0, first = -1;
    for (int32_t r = job->size - 1; r >= 0; r--)
        if (!job->ranks[r].run) {
            without++;
            missing += !job->ranks[r].starting;
            first = job->ranks[r].starting ? first : r;
        }
    if (without == job->size)
        return report_error(report, "nothing to convert: MPI_Init returned in none of the processes");
    if (job->in_part)
        report_warning(report, "the trace was switched on or off while the program ran: recorded calls are shown, but "
                               "no messages and collectives, because their other sides may be missing");
    else if (job->no_collectives)
        report_warning(report, job->paused && !job->pauses_met
                                   ? "recording was off for a while (MPI_Pcontrol), or the processes have different "
                                     "filters: calls are shown, but no messages and collectives, because their other "
                                     "sides may be missing"
                                   : "the processes have different filters: calls are shown, but no messages and "
                                     "collectives, because their other sides may be missing");
    else if (job->no_messages)
        report_warning(report, "mpit_filter (--filter) excluded functions that send or receive: no messages are shown, "
                               "because their other sides may be missing");
    if (missing)
        report_warning(report, "%d of %d ranks have no run file (the first: %d): their events are missing", missing,
                       job->size, first);
    return 0;
}

static uint32_t host_find(struct trace_job *job, const struct run_header *header)
{
    for (size_t i = 0; i < job->host_count; i++)
        if (strcmp(job->hosts[i]->host, header->host) == 0 && strcmp(job->hosts[i]->boot, header->boot) == 0)
            return (uint32_t)i;
    job->hosts[job->host_count] = header;
    return (uint32_t)job->host_count++;
}

static int clocks_find(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report)
{
    job->hosts = calloc((size_t)job->size, sizeof *job->hosts);
    if (!job->hosts || timeline_open(&job->line, runs, count, false) != 0 || timeline_refine(&job->line) != 0)
        return report_no_memory(report);
    for (int32_t r = 0; r < job->size; r++)
        if (job->ranks[r].run)
            job->ranks[r].host = host_find(job, &job->ranks[r].run->header);
    timeline_text(&job->line, report->clocks);
    return 0;
}

static int job_open(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report)
{
    if (count == 0)
        return report_error(report, "nothing to convert: there are no run files");
    const struct run_reader *first = NULL;
    job->in_part = runs_in_part(runs, count);
    selection_find(job, runs, count);
    for (size_t i = 0; i < count; i++) {
        if (runs[i].header.world_rank < 0)
            continue; /* its job was not known yet */
        if (!first) {
            first = &runs[i];
            job->job = first->header.job;
        }
        if (trace_run_wake(&runs[i], report) != 0 || run_check(job, &runs[i], first, report) != 0)
            return -1;
        run_reader_rest(&runs[i]);
    }
    if (ranks_place(job, runs, count, report) != 0)
        return -1;
    for (int32_t r = 0; r < job->size; r++) {
        const struct run_reader *run = job->ranks[r].run;
        if (!run)
            continue;
        if (trace_run_wake(run, report) != 0)
            return -1;
        if (trace_instruments_add(&job->instruments, run) != 0)
            return report_no_memory(report);
        trace_counters_add(&job->counters, run);
        run_reader_rest(run);
    }
    return clocks_find(job, runs, count, report);
}

int trace_job_open(struct trace_job *job, const struct run_reader *runs, size_t count, struct otf2_report *report)
{
    *job = (struct trace_job){0};
    return job_open(job, runs, count, report);
}

int trace_job_open_tallies(struct trace_job *job, const struct run_reader *runs, size_t count,
                           struct otf2_report *report)
{
    *job = (struct trace_job){.tallies = true};
    return job_open(job, runs, count, report);
}

int trace_job_open_pauses(struct trace_job *job, const struct run_reader *runs, size_t count,
                          struct otf2_report *report)
{
    *job = (struct trace_job){.pauses_met = true};
    return job_open(job, runs, count, report);
}

/* If calls are left out by time, function or communicator, some of them may be the other ends of messages. So there are
 * no messages at all. If ranks are left out, the partners of each message are known. */
void trace_job_select(struct trace_job *job, const struct selection *selection, struct otf2_report *report)
{
    job->selection = selection;
    for (int32_t r = 0; r < job->size; r++)
        if (!selection_has_rank(selection, r)) {
            job->ranks[r].left_out = true;
            job->ranks[r].complete = false;
        }
    if (selection_cuts_calls(selection)) {
        job->in_part = true;
        report_warning(report, "only a part of the calls is selected: the archive has no messages and collectives, "
                               "because their other sides may be left out");
    }
}

void trace_job_release(struct trace_job *job)
{
    for (int32_t r = 0; job->ranks && r < job->size; r++) {
        free(job->ranks[r].event_count);
        free(job->ranks[r].written);
    }
    free(job->ranks);
    free(job->hosts);
    timeline_release(&job->line);
    trace_instruments_release(&job->instruments);
    *job = (struct trace_job){0};
}

uint64_t trace_time(const struct trace_job *job, const struct trace_rank *rank, uint64_t ticks)
{
    return (uint64_t)timeline_ns(&job->line, rank->run, trace_life_bound(rank, ticks));
}

uint32_t trace_rank_first_thread(const struct trace_rank *rank)
{
    for (uint32_t thread = 0; rank->run && thread < rank->run->thread_count; thread++)
        if (rank->run->threads[thread])
            return thread;
    return 0;
}

bool trace_rank_has_location(const struct trace_rank *rank, uint32_t thread)
{
    return thread == trace_rank_first_thread(rank) || (!rank->left_out && rank->run && rank->run->threads[thread]);
}

uint32_t trace_rank_thread_end(const struct trace_rank *rank)
{
    return rank->run && rank->run->thread_count ? (uint32_t)rank->run->thread_count : 1;
}

uint64_t trace_job_records(const struct trace_job *job, int32_t first, int32_t step)
{
    uint64_t records = 0;
    for (int32_t r = first; r < job->size; r += step)
        for (uint32_t thread = 0; job->ranks[r].run && thread < job->ranks[r].run->thread_count; thread++)
            records += job->ranks[r].written[thread];
    return records;
}

void trace_losses_tell(const struct trace_job *job, struct otf2_report *report)
{
    static const char *const texts[TRACE_LOSS_COUNT] = {
        [TRACE_LOSS_MISSING] = "records are missing: they were lost while recording, or are damaged",
        [TRACE_LOSS_ORPHANS] = "records are left out: their call was lost",
        [TRACE_LOSS_UNKNOWN] = "records are left out: they are damaged or were never written",
        [TRACE_LOSS_COMM] = "sends and receives are left out: their communicator has no record",
        [TRACE_LOSS_ABSENT_COMM] = "sends and receives are left out: their communicators are left out",
        [TRACE_LOSS_PEER] = "sends and receives are left out: their peer is not a rank of the communicator",
        [TRACE_LOSS_OBJECT] = "operations are left out: their window or file is unknown",
        [TRACE_LOSS_LEFT_OUT] = "sends and receives are left out: their peers are not selected",
        [TRACE_LOSS_UNMATCHED] = "completions have no posted request in the trace",
    };
    for (int32_t r = 0; r < job->size; r++)
        for (int i = 0; i < TRACE_LOSS_COUNT; i++)
            if (job->ranks[r].losses[i] && texts[i])
                report_warning(report, "rank %d: %" PRIu64 " %s", r, job->ranks[r].losses[i], texts[i]);
}
