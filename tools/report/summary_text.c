#define _GNU_SOURCE
#include "report/summary_text.h"

#include "calls.h"
#include "format/label.h"
#include "job/rundir.h"
#include "job/select.h"
#include "report/summary_fabric.h"
#include "report/summary_counters.h"
#include "report/summary_instruments.h"
#include "report/summary_origin.h"
#include "report/summary_sites.h"
#include "base/units.h"
#include "figures/variables.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_SITES = 10, TOP_CALLS = 12, TOP_COMMS = 10, TOP_HISTOGRAMS = 3, COMM_NAME_COLUMNS = 26, BAR_COLUMNS = 40 };

/* Returns whether some calls were not timed. If so, a time of 0 is not 0 s, but unknown. */
static bool is_untimed(const struct summary *summary)
{
    return summary->sampling != 1 || summary->sampling_mixed;
}

static bool is_never_timed(const struct summary *summary)
{
    return !summary->sampling && !summary->sampling_mixed;
}

static const char *known_ns(char text[UNIT_TEXT_BYTES], uint64_t ns, bool untimed)
{
    return ns || !untimed ? text_of_ns(text, ns) : "-";
}

static double mean(const struct summary_spread *spread, uint32_t ranks)
{
    return ranks ? spread->sum / ranks : 0;
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
    if (is_untimed(summary) && (share->max <= 0 || is_never_timed(summary))) {
        fprintf(out, "\n  in MPI     -\n");
        return;
    }
    fprintf(out, "\n  in MPI     %s of run time x threads", text_of_share(a, mean(share, summary->ranks), 1));
    if (known)
        fprintf(out, "   (min %s, rank %" PRId32 "; max %s, rank %" PRId32 ")", text_of_share(b, share->min, 1),
                share->min_rank, text_of_share(c, share->max, 1), share->max_rank);
    fprintf(out, "\n");
}

/* Prints the requested part, and which of it exists. */
static void part_print(const struct run_part *part, FILE *out)
{
    char a[UNIT_TEXT_BYTES];
    fprintf(out, "  part       ");
    fprintf(out, "%s\n", part->selection->described);
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
    if (summary->mpi[0])
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
                is_never_timed(summary) ? "-" : text_of_seconds(b, summary->mpi_seconds.sum));
    else
        times_print(summary, out);
}

/* Prints how much of the time in MPI was waiting, by reason. */
static void stalls_print(const struct summary *summary, FILE *out)
{
    static const char *const reasons[STATE_COUNT] = {[MPIT_STATE_STALL_SEND] = "sends",
                                                     [MPIT_STATE_STALL_RECV] = "receives",
                                                     [MPIT_STATE_STALL_COLL] = "collectives",
                                                     [MPIT_STATE_STALL_WAIT] = "completion",
                                                     [MPIT_STATE_STALL_OTHER] = "others"};
    static const unsigned ends[] = {CALL_MPI_Init, CALL_MPI_Init_thread, CALL_MPI_Finalize, CALL_MPI_Session_init,
                                    CALL_MPI_Session_finalize};
    char text[UNIT_TEXT_BYTES];
    uint64_t stall_ns[STATE_COUNT];
    double all = 0, stalled = 0;
    memcpy(stall_ns, summary->stall_ns, sizeof stall_ns);
    if (!is_never_timed(summary)) /* calls inside of others count once */
        all = summary->mpi_seconds.sum * 1e9;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) /* they lie outside of the run time */
        if (summary->call_stall_ns[ends[i]] <= stall_ns[MPIT_STATE_STALL_OTHER])
            stall_ns[MPIT_STATE_STALL_OTHER] -= summary->call_stall_ns[ends[i]];
    if (all <= 0)
        return;
    for (unsigned i = 0; i < STATE_COUNT; i++)
        stalled += (double)stall_ns[i];
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

/* Prints which calls the figures below leave out at the user's request. */
static void selection_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    const struct summary_spread *off = &summary->off_seconds;
    if (summary->filter_mixed)
        fprintf(out, "  filter     differs between processes\n");
    else if (summary->filter[0])
        fprintf(out, "  filter     %s\n", summary->filter);
    if (summary->sampling_mixed)
        fprintf(out, "  timing     not all calls were timed: times are estimates, or too small\n");
    else if (summary->sampling == 0)
        fprintf(out, "  timing     no call was timed\n");
    else if (summary->sampling != 1)
        fprintf(out, "  timing     one of %s calls was timed: times are estimates\n",
                text_of_count(a, summary->sampling));
    if (off->max > 0 && !(part && part->anew)) {
        fprintf(out, "  off        recording was off for %s", text_of_seconds(a, off->max));
        if (summary->ranks > 1 && off->min_rank >= 0)
            fprintf(out, "   (shortest %s, rank %" PRId32 ")", text_of_seconds(b, off->min), off->min_rank);
        fprintf(out, "\n");
    }
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

static void losses_print(const struct summary *summary, FILE *out)
{
    char a[UNIT_TEXT_BYTES], loss[64];
    uint32_t later = summary->ended_later, badly = summary->ended_badly > later ? summary->ended_badly - later : 0;
    if (badly)
        fprintf(out,
                "  !          %s rank%s did not reach MPI_Finalize (so far): times end with the last call that\n       "
                "      returned. mpit-dump --crash shows the calls that did not return\n",
                text_of_count(a, badly), badly == 1 ? "" : "s");
    if (later)
        fprintf(
            out,
            "  !          %s rank%s closed the last session, but did not exit normally: killed, or ended by _exit\n",
            text_of_count(a, later), later == 1 ? "" : "s");
    for (size_t i = 0; i < LOSS_COUNT; i++)
        if (summary->lost[i])
            fprintf(out, "  !          not %s: %s, cause %s\n", i == LOSS_TRACE_LIMIT ? "in the trace" : "recorded",
                    loss_text(loss, i, summary->lost[i]), variable_slot_name(NAMES_LOSS, i));
}

static int summary_call_order(const void *a, const void *b, void *summary)
{
    const struct summary_call *calls = ((const struct summary *)summary)->calls;
    const struct summary_call *x = &calls[*(const unsigned *)a], *y = &calls[*(const unsigned *)b];
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? 1 : -1;
    return (x->count < y->count) - (x->count > y->count);
}

/* A line of the table of functions. */
static void call_print(const char *name, const struct summary_call *call, const uint64_t *stall_ns, double whole,
                       bool untimed, bool average, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES], e[UNIT_TEXT_BYTES];
    bool known = call->time_ns || !untimed;
    fprintf(out, "  %-32s %14s %10s %9s %8s", name, text_of_count(a, call->count), known_ns(b, call->time_ns, untimed),
            known && whole > 0 ? text_of_share(c, (double)call->time_ns, whole) : "-",
            known && stall_ns && call->time_ns ? text_of_share(e, (double)*stall_ns, (double)call->time_ns) : "-");
    if (average)
        fprintf(out, " %10s", known ? text_of_seconds(d, (double)call->time_ns * 1e-9 / (double)call->count) : "-");
    fputc('\n', out);
}

static void calls_print(const struct summary *summary, FILE *out)
{
    unsigned order[CALL_COUNT], used = 0;
    char others[UNIT_TEXT_BYTES];
    bool untimed = is_untimed(summary);
    for (unsigned i = 1; i < CALL_COUNT; i++)
        if (summary->calls[i].count)
            order[used++] = i;
    if (!used)
        return;
    qsort_r(order, used, sizeof *order, summary_call_order, (void *)(uintptr_t)summary);
    double whole = 0;
    for (unsigned i = 0; i < used && !is_never_timed(summary); i++)
        whole += (double)summary->calls[order[i]].time_ns;
    fprintf(out, "\nMPI functions by time, over all ranks\n  %-32s %14s %10s %9s %8s %10s\n", "", "calls", "time",
            "share", "stalled", "mean");
    struct summary_call rest = {0};
    uint64_t rest_stall = 0;
    for (unsigned i = 0; i < used; i++) {
        const struct summary_call *call = &summary->calls[order[i]];
        if (i < TOP_CALLS) {
            call_print(call_table[order[i]].name, call,
                       summary_tells_stalls(summary, order[i]) ? &summary->call_stall_ns[order[i]] : NULL, whole,
                       untimed, true, out);
            continue;
        }
        rest.count += call->count;
        rest.time_ns += call->time_ns;
        rest_stall += summary->call_stall_ns[order[i]];
    }
    if (used > TOP_CALLS) {
        snprintf(others, sizeof others, "%u others", used - TOP_CALLS);
        call_print(others, &rest, summary->stall_known ? &rest_stall : NULL, whole, untimed, false, out);
    }
}

static int comm_order(const void *a, const void *b)
{
    const struct summary_comm *x = *(const struct summary_comm *const *)a, *y = *(const struct summary_comm *const *)b;
    if (x->comm_time_ns != y->comm_time_ns)
        return x->comm_time_ns < y->comm_time_ns ? 1 : -1;
    return strcmp(x->name, y->name);
}

/* Prints text as far as the terminal's character set allows. */
static void text_show(const char *text, FILE *out)
{
    bool utf8 = text_is_utf8();
    for (; *text; text++)
        if (utf8 || !(*text & 0x80))
            fputc(*text, out);
        else if ((*text & 0xc0) != 0x80) /* once for each character */
            fputc('?', out);
}

/* Prints the program's own name of the communicator. It may be long, so it comes last. */
static void label_print(const struct summary_comm *comm, FILE *out)
{
    char quoted[LABEL_QUOTED_BYTES];
    if (!comm->label[0])
        return;
    fputs("  ", out);
    text_show(label_quote(quoted, comm->label), out);
}

/* Which columns there are. */
struct comm_columns {
    bool untimed, stalls;
    bool objects; /* windows or files were used */
};

static void comm_print(const struct summary_comm *comm, const char *name, const struct comm_columns *columns, FILE *out)
{
    const uint64_t times[] = {comm->p2p_time_ns, comm->coll_time_ns, comm->wait_time_ns, comm->rma_time_ns,
                              comm->io_time_ns};
    char size[UNIT_TEXT_BYTES], time[UNIT_TEXT_BYTES];
    char messages[UNIT_TEXT_BYTES], bytes[UNIT_TEXT_BYTES], stalled[UNIT_TEXT_BYTES];
    if (comm->merged > 1 || comm->size <= 0)
        strcpy(size, "-");
    else
        snprintf(size, sizeof size, "%" PRId32, comm->size);
    if (strlen(name) > COMM_NAME_COLUMNS) { /* complete, because related names may differ at any place: on a separate
                                             * line */
        fprintf(out, "  %s\n", name);
        name = "";
    }
    fprintf(out, "  %-*s %5s %8s %8s", COMM_NAME_COLUMNS, name, size,
            known_ns(time, comm->comm_time_ns, columns->untimed),
            columns->stalls && comm->comm_time_ns
                ? text_of_share(stalled, (double)comm->stall_ns, (double)comm->comm_time_ns)
                : "-");
    for (size_t i = 0; i < (columns->objects ? 5 : 3); i++)
        fprintf(out, " %8s", known_ns(time, times[i], columns->untimed));
    fprintf(out, " %10s %9s", text_of_count(messages, comm->send_count), text_of_bytes(bytes, comm->send_bytes));
    label_print(comm, out);
    if (comm->sum)
        fprintf(out, "  %" PRIu64 " freed", comm->merged);
    fputc('\n', out);
}

/* Every program has it, and almost none uses it. */
static bool is_idle_self(const struct summary_comm *comm)
{
    return strcmp(comm->name, "MPI_COMM_SELF") == 0 && !comm->comm_time_ns && !comm->send_count && !comm->recv_count;
}

static void comms_print(const struct summary *summary, const struct summary_comm *const *comms, FILE *out)
{
    if (!summary->comm_count)
        return;
    struct comm_columns columns = {.untimed = is_untimed(summary), .stalls = summary->stall_known};
    for (size_t i = 0; i < summary->comm_count; i++)
        columns.objects = columns.objects || comms[i]->rma_time_ns || comms[i]->io_time_ns;
    fprintf(out, "\nCommunicators by time, over all ranks\n  %-*s %5s %8s %8s %8s %8s %8s%s %10s %9s\n",
            COMM_NAME_COLUMNS, "", "size", "time", "stalled", "p2p", "coll", "wait",
            columns.objects ? "      rma       io" : "", "messages", "sent");
    struct summary_comm rest = {.merged = 0};
    for (size_t i = 0; i < summary->comm_count; i++) {
        const struct summary_comm *comm = comms[i];
        if (summary->comm_count > 1 && !columns.untimed && is_idle_self(comm))
            continue;
        if (i < TOP_COMMS) {
            comm_print(comm, comm->name, &columns, out);
            continue;
        }
        rest.merged += comm->merged ? comm->merged : 1;
        rest.comm_time_ns += comm->comm_time_ns;
        rest.p2p_time_ns += comm->p2p_time_ns;
        rest.coll_time_ns += comm->coll_time_ns;
        rest.wait_time_ns += comm->wait_time_ns;
        rest.stall_ns += comm->stall_ns;
        rest.rma_time_ns += comm->rma_time_ns;
        rest.io_time_ns += comm->io_time_ns;
        rest.send_count += comm->send_count;
        rest.send_bytes += comm->send_bytes;
    }
    if (rest.merged) {
        char name[UNIT_TEXT_BYTES];
        snprintf(name, sizeof name, "%" PRIu64 " other%s", rest.merged, rest.merged == 1 ? "" : "s");
        comm_print(&rest, name, &columns, out);
    }
}

/* For nonblocking collectives, the posting calls take the smaller part of the time. */
static void executions_print(const struct summary *summary, FILE *out)
{
    uint64_t inside = 0, execution = 0;
    for (size_t i = 0; i < summary->comm_count; i++) {
        inside += summary->comms[i].coll_time_ns;
        execution += summary->comms[i].coll_execution_ns;
    }
    if (execution <= inside + inside / 20)
        return;
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    fprintf(out, "  Collectives took %s from start to completion, over all ranks; their own calls took %s\n",
            text_of_ns(a, execution), text_of_ns(b, inside));
}

static void bar_print(uint64_t count, uint64_t most, FILE *out)
{
    static const char *const eighths[] = {"", "\u258f", "\u258e", "\u258d", "\u258c", "\u258b", "\u258a", "\u2589"};
    bool utf8 = text_is_utf8();
    uint64_t parts = utf8 ? 8 : 1;
    uint64_t length = (uint64_t)((double)count / (double)most * BAR_COLUMNS * (double)parts + 0.5);
    if (count && !length)
        length = 1; /* not empty, so it is visible */
    for (uint64_t i = 0; i < length / parts; i++)
        fputs(utf8 ? "\u2588" : "#", out);
    fputs(eighths[length % parts], out);
}

static void bucket_label(char label[UNIT_TEXT_BYTES * 2], unsigned bucket)
{
    char low[UNIT_TEXT_BYTES], high[UNIT_TEXT_BYTES];
    uint64_t from = bucket ? UINT64_C(1) << (bucket - 1) : 0;
    if (bucket <= 1)
        snprintf(label, UNIT_TEXT_BYTES * 2, "%u B", bucket);
    else if (bucket == BUCKET_COUNT - 1)
        snprintf(label, UNIT_TEXT_BYTES * 2, "%s and more", text_of_bytes(low, from));
    else
        snprintf(label, UNIT_TEXT_BYTES * 2, "%s .. < %s", text_of_bytes(low, from), text_of_bytes(high, from * 2));
}

/* Returns the bucket for the next line. Adjacent empty buckets share a line. */
static unsigned bucket_next(const uint64_t counts[BUCKET_COUNT], unsigned bucket)
{
    unsigned next = bucket + 1;
    while (!counts[bucket] && next < BUCKET_COUNT && !counts[next])
        next++;
    return next;
}

static void histogram_print(const char *title, const uint64_t counts[BUCKET_COUNT], const uint64_t bytes[BUCKET_COUNT],
                            FILE *out)
{
    unsigned first = BUCKET_COUNT, last = 0;
    uint64_t most = 0;
    for (unsigned i = 0; i < BUCKET_COUNT; i++) {
        if (!counts[i])
            continue;
        first = first < i ? first : i;
        last = i;
        most = counts[i] > most ? counts[i] : most;
    }
    if (!most)
        return;
    fprintf(out, "\nSent messages by size, %s\n  %-20s %14s %10s\n", title, "", "messages", "bytes");
    for (unsigned i = first, next; i <= last; i = next) {
        char label[UNIT_TEXT_BYTES * 2], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
        next = bucket_next(counts, i);
        if (next - i > 1) {
            fprintf(out, "  ...\n");
            continue;
        }
        bucket_label(label, i);
        fprintf(out, "  %-20s %14s %10s%s", label, text_of_count(a, counts[i]), text_of_bytes(b, bytes[i]),
                counts[i] ? "  " : "");
        bar_print(counts[i], most, out);
        fprintf(out, "\n");
    }
}

static void histograms_print(const struct summary *summary, const struct summary_comm *const *comms, FILE *out)
{
    uint64_t counts[BUCKET_COUNT] = {0}, bytes[BUCKET_COUNT] = {0};
    size_t senders = 0, shown = 0;
    for (size_t i = 0; i < summary->comm_count; i++) {
        senders += comms[i]->send_count > 0;
        for (unsigned k = 0; k < BUCKET_COUNT; k++) {
            counts[k] += comms[i]->send_size_count[k];
            bytes[k] += comms[i]->send_size_bytes[k];
        }
    }
    histogram_print(senders > 1 ? "all communicators" : "all of them", counts, bytes, out);
    for (size_t i = 0; i < summary->comm_count && senders > 1 && shown < TOP_HISTOGRAMS; i++)
        if (comms[i]->send_count) {
            histogram_print(comms[i]->name, comms[i]->send_size_count, comms[i]->send_size_bytes, out);
            shown++;
        }
}

void summary_print(const struct summary *summary, FILE *out)
{
    summary_print_part(summary, NULL, out);
}

void summary_print_part(const struct summary *summary, const struct run_part *part, FILE *out)
{
    const struct summary_comm **comms = calloc(summary->comm_count + 1, sizeof *comms);
    head_print(summary, part, out);
    stalls_print(summary, out);
    selection_print(summary, part, out);
    if (!part)
        summary_missing_print(summary, out);
    losses_print(summary, out);
    summary_sites_print(summary, TOP_SITES, out);
    calls_print(summary, out);
    if (!comms) {
        fprintf(out, "\n(out of memory for the list of communicators)\n");
        return;
    }
    for (size_t i = 0; i < summary->comm_count; i++)
        comms[i] = &summary->comms[i];
    qsort(comms, summary->comm_count, sizeof *comms, comm_order);
    comms_print(summary, comms, out);
    executions_print(summary, out);
    histograms_print(summary, comms, out);
    if (!part || !part->anew) {
        summary_fabric_print(summary, out);
        summary_counters_print(summary, out);
        summary_instruments_print(summary, out);
    }
    free(comms);
}
