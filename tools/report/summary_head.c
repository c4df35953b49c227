#define _GNU_SOURCE
#include "report/summary_head.h"

#include "base/textwrap.h"
#include "base/units.h"
#include "calls.h"
#include "figures/variables.h"
#include "job/rundir.h"
#include "job/select.h"
#include "report/summary_origin.h"
#include "report/summary_passes.h"
#include "report/summary_ranks.h"

#include <inttypes.h>
#include <string.h>

static double mean(const struct summary_spread *spread, uint32_t ranks)
{
    return ranks ? spread->sum / ranks : 0;
}

const char *summary_whole_text(const struct summary *summary)
{
    return summary->off_seconds.max > 0 ? "the recorded time" : "the run";
}

const char *summary_share_text(const struct summary *summary, char *text)
{
    const struct summary_spread *share = &summary->mpi_share;
    if ((summary_is_untimed(summary) && (share->max <= 0 || summary_is_never_timed(summary))) ||
        summary->recorded_seconds.max <= 0)
        return "-";
    return text_of_share(text, mean(share, summary->ranks), 1);
}

/* Prints the run time, and the part of it in MPI. */
static void times_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    const struct summary_spread *run = &summary->run_seconds, *share = &summary->mpi_share;
    fprintf(out, "  run time   %s", text_of_seconds(a, run->max));
    if (!summary->mpi[0]) {
        fprintf(out, "\n");
        return;
    }
    bool known = summary->ranks > 1 && run->min_rank >= 0; /* ranks get their numbers in MPI_Init */
    if (known)
        fprintf(out, "   (shortest %s, rank %" PRId32 ")", text_of_seconds(b, run->min), run->min_rank);
    const char *mean_share = summary_share_text(summary, a);
    if (strcmp(mean_share, "-") == 0) {
        fprintf(out, "\n  in MPI     -\n");
        return;
    }
    fprintf(out, "\n  in MPI     %s of %s (mean of ranks", mean_share, summary_whole_text(summary));
    if (known)
        fprintf(out, "; min %s, rank %" PRId32 "; max %s, rank %" PRId32, text_of_share(b, share->min, 1),
                share->min_rank, text_of_share(c, share->max, 1), share->max_rank);
    fprintf(out, ")\n");
}

/* Prints the requested part, and which of it exists. */
static void part_print(const struct run_part *part, FILE *out)
{
    char a[UNIT_TEXT_BYTES];
    fprintf(out, "  part       ");
    fprintf(out, "%s\n", part->selection->described);
    if (part->rows)
        fprintf(out, "             only figures by rank: this run kept no files. mpit-run --trace keeps them\n");
    if (!part->anew)
        return;
    fprintf(out, "             counted from the trace. Unknown for a part: run time, counters, values of other\n       "
                 "      libraries, calls that did not return, and all below MPI except times of calls\n");
    if (part->missing)
        fprintf(out, "  !          %s event record%s missing in the trace, and in these values\n",
                text_of_count(a, part->missing), part->missing == 1 ? " is" : "s are");
    if (part->switched)
        fprintf(out, "  !          the trace was switched on or off: these values have only the recorded events\n");
}

static void ranks_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    char a[UNIT_TEXT_BYTES];
    uint32_t wanted = part ? (uint32_t)part->wanted : summary->world_size;
    fprintf(out, "  ranks      %s", text_of_count(a, summary->world_size ? summary->world_size : summary->ranks));
    if (wanted < summary->world_size)
        fprintf(out, ", %s of them selected", text_of_count(a, wanted));
    if (summary->ranks < wanted)
        fprintf(out, ", %s of them recorded", text_of_count(a, summary->ranks));
}

static void head_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    char b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    uint64_t calls = 0;
    for (size_t kind = 0; kind < CALL_COUNT; kind++)
        calls += summary->calls[kind].count;
    fprintf(out, "%.99s\n", summary->program[0] ? summary->program : "(a program without a name)");
    if (summary->mpi[0])
        fprintf(out, "  MPI        %.80s\n", summary->mpi);
    summary_origin_print(summary, out);
    if (part)
        part_print(part, out);
    ranks_print(summary, part, out);
    fprintf(out, "; %s thread%s", text_of_count(b, summary->threads), summary->threads == 1 ? "" : "s");
    if (part && part->rows)
        fprintf(out, " in MPI\n");
    else if (summary->mpi[0])
        fprintf(out, " in MPI; %s call%s, %s event records\n", text_of_count(c, calls), calls == 1 ? "" : "s",
                text_of_count(d, summary->events));
    else
        fprintf(out, ", without MPI; %s event records\n", text_of_count(d, summary->events));
    if (summary->spawned && summary->parent_job)
        fprintf(out, "  spawned by job %016" PRIx64 "\n", summary->parent_job);
    else if (summary->spawned)
        fprintf(out, "  spawned by another job\n");
    if (part && !part->found)
        return;
    if (part && part->anew)
        fprintf(out, "  in MPI     %s between MPI_Init and MPI_Finalize, all ranks and threads together\n",
                summary_is_never_timed(summary) ? "-" : text_of_seconds(b, summary->mpi_seconds.sum));
    else
        times_print(summary, out);
}

double summary_stalls(const struct summary *summary, uint64_t stall_ns[STATE_COUNT])
{
    double sum = 0;
    memcpy(stall_ns, summary->stall_ns, STATE_COUNT * sizeof *stall_ns);
    for (unsigned i = 0; i < CALL_COUNT; i++)
        if (call_is_end(i) && summary->call_stall_ns[i] <= stall_ns[MPIT_STATE_STALL_OTHER])
            stall_ns[MPIT_STATE_STALL_OTHER] -= summary->call_stall_ns[i];
    for (unsigned i = 0; i < STATE_COUNT; i++)
        sum += (double)stall_ns[i];
    return sum;
}

/* Prints how much of the time in MPI was waiting, by reason. */
static void stalls_print(const struct summary *summary, FILE *out)
{
    static const char *const reasons[STATE_COUNT] = {[MPIT_STATE_STALL_SEND] = "sends",
                                                     [MPIT_STATE_STALL_RECV] = "receives",
                                                     [MPIT_STATE_STALL_COLL] = "collectives",
                                                     [MPIT_STATE_STALL_WAIT] = "completion",
                                                     [MPIT_STATE_STALL_OTHER] = "others"};
    char text[UNIT_TEXT_BYTES];
    uint64_t stall_ns[STATE_COUNT];
    double all = 0, stalled = summary_stalls(summary, stall_ns);
    if (!summary_is_never_timed(summary)) /* calls inside of others count once */
        all = summary->mpi_seconds.sum * 1e9;
    if (all <= 0)
        return;
    fprintf(out, "  stalled    ");
    if (!summary->stall_known) {
        fprintf(out, "unknown: mpit could not observe the progress engine of MPI\n");
        return;
    }
    fprintf(out, "%s of that", text_of_share(text, stalled, all));
    const char *between = "   (";
    for (unsigned i = MPIT_STATE_STALL_SEND; i < STATE_COUNT; i++)
        if (stall_ns[i]) {
            fprintf(out, "%s%s in %s", between, text_of_share(text, (double)stall_ns[i], all), reasons[i]);
            between = "; ";
        }
    fprintf(out, "%s\n", between[0] == ';' ? ")" : "");
}

/* Rows do not have the reasons. */
static void row_stalls_print(const struct summary *summary, FILE *out)
{
    char text[UNIT_TEXT_BYTES];
    double all = summary->mpi_seconds.sum * 1e9, stalled = 0;
    for (size_t i = 0; i < summary->row_count; i++)
        stalled += (double)summary->rows[i].stall_ns;
    if (summary->stall_known && all > 0)
        fprintf(out, "  stalled    %s of that\n", text_of_share(text, stalled, all));
}

/* Prints which calls the figures below leave out at the user's request. */
static void selection_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    const struct summary_spread *off = &summary->off_seconds;
    if (summary->filter_mixed)
        fprintf(out, "  filter     differs between processes\n");
    else if (summary->filter[0])
        fprintf(out, "  filter     %s\n", summary->filter);
    if (summary->timed_mixed)
        fprintf(out, "  timing     not all calls were timed: times are too small\n");
    else if (summary->timed == 0)
        fprintf(out, "  timing     no call was timed\n");
    if (off->max > 0 && !(part && part->anew)) {
        fprintf(out, "  off        recording was off for %s", text_of_seconds(a, off->max));
        if (summary->ranks > 1 && off->min_rank >= 0)
            fprintf(out, "   (shortest %s, rank %" PRId32 ")", text_of_seconds(b, off->min), off->min_rank);
        fprintf(out, "\n");
    }
    if (summary->traced.part_ns && (summary->traced.replayed || summary->traced.passes.count))
        fprintf(out, "  analysed   the %s %s of %s\n", summary->traced.part_is_last ? "last" : "first",
                text_of_ns(a, summary->traced.part_ns), text_of_seconds(b, summary->run_seconds.max));
    if (summary->trace_limit_ns)
        fprintf(out, "  trace      %s %s of the run%s (mpit_trace_limit_seconds)\n",
                summary->trace_policy == TRACE_RING ? "at least the last" : "the first",
                text_of_seconds(a, (double)summary->trace_limit_ns * 1e-9),
                summary->trace_policy == TRACE_RING ? "" : ", and the last events of each thread");
}

/* The unit of a loss. If the recorder had no room, it counts one event for a process that was killed. */
static const char *loss_text(char text[64], size_t cause, uint64_t count)
{
    static const char *const nouns[LOSS_COUNT] = {
        [LOSS_NO_MEMORY] = "event record",   [LOSS_NO_FILE] = "event record",    [LOSS_DISK_FULL] = "event record",
        [LOSS_TRACE_LIMIT] = "event record", [LOSS_UNKNOWN_REQUEST] = "request", [LOSS_UNSEEN_COMPLETION] = "request",
        [LOSS_REGION_DEPTH] = "region"};
    char number[UNIT_TEXT_BYTES];
    bool least = cause == LOSS_NO_MEMORY || cause == LOSS_NO_FILE || cause == LOSS_DISK_FULL;
    snprintf(text, 64, "%s%s%s%s%s", least ? "at least " : "", text_of_count(number, count), nouns[cause] ? " " : "",
             nouns[cause] ? nouns[cause] : "", nouns[cause] && count != 1 ? "s" : "");
    return text;
}

static void note_print(const char *text, FILE *out)
{
    fprintf(out, "  !          ");
    text_wrap(text, 13, out);
}

static void losses_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], loss[64], text[256];
    uint32_t later = summary->ended_later, badly = summary->ended_badly > later ? summary->ended_badly - later : 0;
    if (badly) {
        snprintf(text, sizeof text,
                 "%s rank%s not finished MPI_Finalize: times end with the last call that returned. "
                 "mpit-dump --crash shows the calls that did not return",
                 text_of_count(a, badly), badly == 1 ? " has" : "s have");
        note_print(text, out);
    }
    if (later) {
        snprintf(text, sizeof text,
                 "%s rank%s closed the last session, but did not exit normally: killed, or ended by _exit",
                 text_of_count(a, later), later == 1 ? "" : "s");
        note_print(text, out);
    }
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (summary->lost[i])
            fprintf(out, "  !          not %s: %s, cause %s\n", i == LOSS_TRACE_LIMIT ? "in the trace" : "recorded",
                    loss_text(loss, i, summary->lost[i]), variable_slot_name(NAMES_LOSS, i));
}

void summary_notes_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    selection_print(summary, part, out);
    if (!part)
        summary_missing_print(summary, out);
    losses_print(summary, out);
}

void summary_head_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    head_print(summary, part, out);
    if (part && part->rows)
        row_stalls_print(summary, out);
    else
        stalls_print(summary, out);
    if (!part)
        summary_efficiency_print(summary, out);
    summary_passes_line_print(summary, out);
    summary_notes_print(summary, part, out);
}
