#define _GNU_SOURCE
#include "report/summary_text.h"

#include "base/array.h"
#include "calls.h"
#include "format/label.h"
#include "job/rundir.h"
#include "report/summary_fabric.h"
#include "report/summary_counters.h"
#include "report/summary_findings.h"
#include "report/summary_head.h"
#include "report/summary_instruments.h"
#include "report/summary_passes.h"
#include "report/summary_phases.h"
#include "report/summary_left.h"
#include "report/summary_memory.h"
#include "report/summary_openmp.h"
#include "report/summary_placement.h"
#include "report/summary_ranks.h"
#include "report/summary_below.h"
#include "report/summary_sites.h"
#include "base/units.h"
#include "summaryreading.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TOP_SITES = 10, TOP_CALLS = 12, TOP_COMMS = 10, TOP_HISTOGRAMS = 3, COMM_NAME_COLUMNS = 26, BAR_COLUMNS = 40 };

static const char *known_ns(char text[UNIT_TEXT_BYTES], uint64_t ns, bool untimed)
{
    return ns || !untimed ? text_of_ns(text, ns) : "-";
}

static int summary_call_order(const void *a, const void *b, void *summary)
{
    const struct summary_call *calls = ((const struct summary *)summary)->calls;
    const struct summary_call *x = &calls[*(const unsigned *)a], *y = &calls[*(const unsigned *)b];
    return ORDER(y->time_ns, x->time_ns) ?: ORDER(y->count, x->count);
}

/* A line of the table of functions. CALL_NONE: of several. */
static void call_print(const char *name, unsigned kind, const struct summary_call *call, const char *stalled,
                       double whole, bool untimed, bool average, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    bool known = call->time_ns || !untimed;
    fprintf(out, "  %-32s %14s %10s %9s %8s", name, text_of_count(a, call->count), known_ns(b, call->time_ns, untimed),
            share_of_run_text(c, kind, call->time_ns, whole), stalled);
    if (average)
        fprintf(out, " %10s", known ? text_of_seconds(d, (double)call->time_ns * 1e-9 / (double)call->count) : "-");
    fputc('\n', out);
}

static void calls_print(const struct summary *summary, FILE *out)
{
    unsigned order[CALL_COUNT], used = 0;
    char others[UNIT_TEXT_BYTES], stalled[UNIT_TEXT_BYTES];
    bool untimed = summary_is_untimed(summary);
    for (unsigned i = 1; i < CALL_COUNT; i++)
        if (summary->calls[i].count)
            order[used++] = i;
    if (!used)
        return;
    qsort_r(order, used, sizeof *order, summary_call_order, (void *)(uintptr_t)summary);
    double whole = summary_run_ns(summary);
    fprintf(out, "\nMPI functions by time, sums over all ranks\n  %-32s %14s %10s %9s %8s %10s\n", "", "calls", "time",
            "of run", "stalled", "mean");
    struct summary_call rest = {0};
    uint64_t rest_stall = 0;
    for (unsigned i = 0; i < used; i++) {
        const struct summary_call *call = &summary->calls[order[i]];
        if (i < TOP_CALLS) {
            call_print(call_table[order[i]].name, order[i], call,
                       stalled_share_text(summary, order[i], summary->call_stall_ns[order[i]], call->time_ns, stalled),
                       whole, untimed, true, out);
            continue;
        }
        rest.count += call->count;
        rest.time_ns += call->time_ns;
        rest_stall += summary->call_stall_ns[order[i]];
    }
    if (used > TOP_CALLS) {
        snprintf(others, sizeof others, "%u others", used - TOP_CALLS);
        call_print(others, CALL_NONE, &rest, stalled_share_text(summary, CALL_NONE, rest_stall, rest.time_ns, stalled),
                   whole, untimed, false, out);
    }
}

static int comm_order(const void *a, const void *b)
{
    const struct summary_comm *x = *(const struct summary_comm *const *)a, *y = *(const struct summary_comm *const *)b;
    return ORDER(y->comm_time_ns, x->comm_time_ns) ?: strcmp(x->name, y->name);
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
static void comm_label_print(const struct summary_comm *comm, FILE *out)
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
    bool placed;  /* bytes between nodes are known */
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
    if (columns->placed)
        fprintf(out, " %9s", text_of_bytes(bytes, comm->between_bytes));
    comm_label_print(comm, out);
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
    struct comm_columns columns = {.untimed = summary_is_untimed(summary),
                                   .stalls = summary->stall_known,
                                   .placed = summary->traced.placement.known};
    for (size_t i = 0; i < summary->comm_count; i++)
        columns.objects = columns.objects || comms[i]->rma_time_ns || comms[i]->io_time_ns;
    fprintf(out, "\nCommunicators by time, sums over all ranks\n  %-*s %5s %8s %8s %8s %8s %8s%s %10s %9s%s\n",
            COMM_NAME_COLUMNS, "", "size", "time", "stalled", "p2p", "coll", "wait",
            columns.objects ? "      rma       io" : "", "messages", "sent", columns.placed ? "   between" : "");
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
        summary_comm_sum(&rest, comm);
    }
    if (rest.merged) {
        char name[UNIT_TEXT_BYTES];
        rest.size = 0;
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
        char label[UNIT_BUCKET_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
        next = bucket_next(counts, i);
        if (next - i > 1) {
            fprintf(out, "  ...\n");
            continue;
        }
        fprintf(out, "  %-20s %14s %10s%s", text_of_bucket(label, i), text_of_count(a, counts[i]),
                text_of_bytes(b, bytes[i]), counts[i] ? "  " : "");
        bar_print(counts[i], most, out);
        fprintf(out, "\n");
    }
}

static void histograms_print(const struct summary *summary, const struct summary_comm *const *comms, FILE *out)
{
    struct summary_comm all = {.merged = 0};
    size_t senders = 0, shown = 0;
    for (size_t i = 0; i < summary->comm_count; i++) {
        senders += comms[i]->send_count > 0;
        summary_comm_sum(&all, comms[i]);
    }
    histogram_print(senders > 1 ? "all communicators" : "all of them", all.send_size_count, all.send_size_bytes, out);
    for (size_t i = 0; i < summary->comm_count && senders > 1 && shown < TOP_HISTOGRAMS; i++)
        if (comms[i]->send_count) {
            histogram_print(comms[i]->name, comms[i]->send_size_count, comms[i]->send_size_bytes, out);
            shown++;
        }
}
/* The tables after the head. */
static void tables_print(const struct summary *summary, const struct run_part *part, FILE *out)
{
    const struct summary_comm **comms = calloc(summary->comm_count + 1, sizeof *comms);
    summary_sites_print(summary, TOP_SITES, out);
    summary_below_print(summary, TOP_SITES, out);
    summary_passes_print(summary, out);
    if (!part) { /* else run time and time outside of MPI are unknown */
        summary_ranks_print(summary, out);
        summary_openmp_print(summary, out);
        summary_memory_print(summary, out);
        summary_left_print(summary, out);
        summary_placement_print(summary, out);
    }
    if (!part || !part->anew)
        summary_phases_print(summary, false, out);
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
        summary_phases_print(summary, true, out);
        summary_instruments_print(summary, out);
    }
    free(comms);
}

void summary_print(const struct summary *summary, FILE *out)
{
    struct findings *findings = malloc(sizeof *findings);
    if (findings) {
        findings_find(findings, summary);
        summary_head_print(summary, NULL, out);
        finding_notes_print(findings, out);
        summary_findings_print(findings, FINDINGS_MAX, true, out);
        tables_print(summary, NULL, out);
    } else {
        fprintf(out, "(out of memory for the summary)\n");
    }
    free(findings);
}

void summary_print_part(const struct summary *summary, const struct run_part *part, FILE *out)
{
    if (part->rows) {
        summary_head_print(summary, part, out);
        summary_ranks_print(summary, out);
        summary_phases_print(summary, false, out);
        return;
    }
    summary_head_print(summary, part, out);
    tables_print(summary, part, out);
}
