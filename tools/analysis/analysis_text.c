#define _GNU_SOURCE
#include "analysis/analysis_report.h"
#include "base/array.h"
#include "format/label.h"
#include "base/units.h"
#include "report/summary_phases.h"

#include <inttypes.h>
#include <stdlib.h>

enum { TOP_ROWS = 16, TOP_LASTS = 3, FUNCTION_COLUMNS = 24, COMM_COLUMNS = 28 };

struct rank_sums *analysis_ranks(const struct analysis *analysis)
{
    struct rank_sums *ranks = calloc((size_t)analysis->job.size + 1, sizeof *ranks);
    const struct keytable *tables[] = {&analysis->waits, &analysis->causes};
    for (int t = 0; ranks && t < 2; t++)
        for (size_t i = 0; i < tables[t]->capacity; i++)
            for (struct keyed *keyed = tables[t]->buckets[i]; keyed; keyed = keyed->next)
                *(t ? &ranks[keyed->key[1]].caused_ns : &ranks[keyed->key[1]].waited_ns) +=
                    ((struct analysis_sum *)keyed)->amount;
    for (size_t i = 0; ranks && i < analysis->path_count; i++) {
        struct rank_sums *rank = &ranks[analysis->path[i].key >> 16];
        rank->path_ns += analysis->path[i].ns;
        if ((analysis->path[i].key & 0xffff) == CALL_NONE)
            rank->path_computing_ns += analysis->path[i].ns;
    }
    return ranks;
}

static const char *comm_text(char title[COMM_TITLE_BYTES], const struct analysis *analysis, uint64_t key)
{
    const struct trace_comm *comm = &analysis->comms.list[(uint32_t)key];
    return comm_title(title, comm->name, comm->label);
}

static void analysis_head_print(const struct analysis *analysis, FILE *out)
{
    const struct run_reader *run = NULL;
    int32_t there = 0;
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (analysis->job.ranks[r].run) {
            run = run ? run : analysis->job.ranks[r].run;
            there++;
        }
    char program[sizeof run->header.program] = "";
    if (run)
        label_clean(program, sizeof program, run->header.program, sizeof run->header.program);
    fprintf(out, "%.99s: %" PRId32 " ranks", program[0] ? program : "(no name)", analysis->job.size);
    if (there < analysis->job.size)
        fprintf(out, ", %" PRId32 " of them with a trace", there);
    fprintf(out, "\n");
    if (selection_is_given(analysis->selection))
        fprintf(out, "  selected part only: waits of the selected ranks, messages that they sent, operations that they "
                     "entered last.\n  The whole trace is used to match messages and to find the path.\n");
    size_t kept =
        analysis->report.warning_count < OTF2_WARNINGS_MAX ? analysis->report.warning_count : OTF2_WARNINGS_MAX;
    for (size_t i = 0; i < kept; i++)
        fprintf(out, "  ! %s\n", analysis->report.warnings[i]);
    if (kept < analysis->report.warning_count)
        fprintf(out, "  ! and %zu more warnings\n", analysis->report.warning_count - kept);
}

static void doubt_print(uint64_t count, const char *text, FILE *out)
{
    char a[UNIT_TEXT_BYTES];
    if (count)
        fprintf(out, "  ! %s %s\n", text_of_count(a, count), text);
}

static void messages_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    const struct matching *matching = &analysis->matching;
    fprintf(out, "\nmessages\n");
    if (!analysis->has_messages) {
        fprintf(out, "  unknown: messages cannot be matched: %s\n", analysis_no_partners(analysis));
        return;
    }
    fprintf(out, "  %s matched\n", text_of_count(a, matching->matched));
    for (int reason = 0; reason < UNMATCHED_REASONS; reason++)
        doubt_print(analysis->unmatched[reason], unmatched_texts[reason].text, out);
    doubt_print(matching->uneven, "matched messages have different sizes at sender and receiver: they were truncated",
                out);
    doubt_print(analysis->open_receives, "posted receives did not get a message", out);
    doubt_print(analysis->unplaced, "messages have an unknown communicator or peer", out);
    doubt_print(matching->matched - matching->unseen - analysis->decided,
                "messages had an unknown sender when their receive returned: waits for them are not counted", out);
    if (matching->early)
        fprintf(out, "  ! %s messages are received before they are sent, by up to %s: %s\n",
                text_of_count(a, matching->early), text_of_ns(b, matching->early_most_ns),
                analysis->job.line.clock_count > 1
                    ? "the clocks differ, so waits have this error"
                    : "sends and receives are paired wrongly; perhaps a receive was cancelled and freed");
}

/* ---- the ideal run ----------------------------------------------------------------------------------------------- */

static void ideal_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    const struct ideal_run *run = &analysis->ideal;
    const struct ideal_split *split = &analysis->split;
    fprintf(out, "\nefficiency\n");
    if (run->run_ns == 0) {
        fprintf(out, "  unknown: %s\n", analysis->no_ideal ? analysis->no_ideal : "the run took no time");
        return;
    }
    fprintf(out, "  communication %s", text_of_share(a, split->communication, 1));
    if (!analysis->no_ideal)
        fprintf(out, " = serialization %s x transfer %s", text_of_share(b, split->serialization, 1),
                text_of_share(c, split->transfer, 1));
    fprintf(out, "\n  run time %s; the rank that computes most: %s; run time if the network took no time: ",
            text_of_ns(a, run->run_ns), text_of_ns(b, run->useful_ns));
    if (!analysis->no_ideal)
        fprintf(out, "%s\n", text_of_ns(c, run->ideal_ns.least + (run->ideal_ns.most - run->ideal_ns.least) / 2));
    else
        fprintf(out, "between %s and %s\n  ! serialization and transfer are unknown: %s\n",
                text_of_ns(c, run->ideal_ns.least), text_of_ns(d, run->ideal_ns.most), analysis->no_ideal);
    doubt_print(run->unsure, "calls may have waited, but the trace does not show for which ranks", out);
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/* Prints a line for several records of a table that differ only in the rank. */
struct line {
    uint64_t key, count, ns;
};

static int line_order(const void *one, const void *other)
{
    const struct line *a = one, *b = other;
    return ORDER(a->key >> 48, b->key >> 48) ?: ORDER(b->ns, a->ns) ?: ORDER(a->key, b->key);
}

static struct line *waits_lines(const struct analysis *analysis, size_t *count)
{
    struct keyed **sorted = keytable_sorted(&analysis->waits);
    struct line *lines = sorted ? calloc(analysis->waits.count, sizeof *lines) : NULL;
    *count = 0;
    for (size_t i = 0; lines && i < analysis->waits.count; i++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)sorted[i];
        if (*count == 0 || lines[*count - 1].key != sum->keyed.key[0])
            lines[(*count)++].key = sum->keyed.key[0];
        lines[*count - 1].count += sum->count;
        lines[*count - 1].ns += sum->amount;
    }
    free(sorted);
    if (lines)
        qsort(lines, *count, sizeof *lines, line_order);
    return lines;
}

static int longest_waits_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    size_t count = 0, shown = 0;
    fprintf(out, "\nwaits\n");
    if (!analysis->has_times || (!analysis->has_messages && !analysis->has_collectives)) {
        fprintf(out, "  unknown\n");
        return 0;
    }
    doubt_print(analysis->neighbours,
                "calls of neighborhood collectives: the trace does not show which rank they waited for", out);
    doubt_print(analysis->left_early, "calls of collectives returned before all ranks had entered: no wait is counted",
                out);
    doubt_print(analysis->unanalysed, "messages and collectives after a gap are not analysed", out);
    if (analysis->waits.count == 0) {
        fprintf(out, "  none\n");
        return 0;
    }
    struct line *lines = waits_lines(analysis, &count);
    for (size_t i = 0; lines && i < count; i++) {
        bool heads = i == 0 || lines[i].key >> 48 != lines[i - 1].key >> 48;
        if (heads) {
            uint64_t ns = 0;
            for (size_t k = i; k < count && lines[k].key >> 48 == lines[i].key >> 48; k++)
                ns += lines[k].ns;
            fprintf(out, "  %-*s %9s\n", FUNCTION_COLUMNS + COMM_COLUMNS + 3, pattern_texts[lines[i].key >> 48].name,
                    text_of_ns(a, ns));
            shown = 0;
        }
        if (shown++ == TOP_ROWS)
            fprintf(out, "    ... --json shows all\n");
        if (shown <= TOP_ROWS)
            fprintf(out, "    %-*s %-*s %9s %12s time%s\n", FUNCTION_COLUMNS,
                    call_table[lines[i].key >> 32 & 0xffff].name, COMM_COLUMNS,
                    comm_text(title, analysis, lines[i].key), text_of_ns(a, lines[i].ns),
                    text_of_count(b, lines[i].count), lines[i].count == 1 ? "" : "s");
    }
    free(lines);
    return lines ? 0 : -1;
}

/* ---- ranks ------------------------------------------------------------------------------------------------------- */

static const struct rank_sums *ordered_ranks;

static int plain_order(const void *one, const void *other)
{
    return ORDER(*(const int32_t *)one, *(const int32_t *)other);
}

static int rank_sum_order(const void *one, const void *other)
{
    const struct rank_sums *a = &ordered_ranks[*(const int32_t *)one], *b = &ordered_ranks[*(const int32_t *)other];
    uint64_t x = a->waited_ns + a->caused_ns + a->path_ns, y = b->waited_ns + b->caused_ns + b->path_ns;
    return ORDER(y, x) ?: plain_order(one, other);
}

static int rank_sums_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES], e[UNIT_TEXT_BYTES];
    struct rank_sums *ranks = analysis_ranks(analysis);
    int32_t *order = malloc(((size_t)analysis->job.size + 1) * sizeof *order);
    int32_t count = 0;
    if (!ranks || !order || !analysis->has_times) {
        bool none = !ranks || !order;
        free(ranks);
        free(order);
        return none ? -1 : 0;
    }
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (selection_has_rank(analysis->selection, r))
            order[count++] = r;
    ordered_ranks = ranks;
    qsort(order, (size_t)count, sizeof *order, rank_sum_order);
    int32_t shown = count < TOP_ROWS ? count : TOP_ROWS;
    qsort(order, (size_t)shown, sizeof *order, plain_order);
    fprintf(out, "\nranks\n  %6s %11s %14s", "rank", "waited", "waited for");
    fprintf(out, analysis->has_path ? " %16s %9s %9s\n" : "\n", "critical path", "computing", "in MPI");
    for (int32_t i = 0; i < shown; i++) {
        const struct rank_sums *rank = &ranks[order[i]];
        fprintf(out, "  %6" PRId32 " %11s %14s", order[i], text_of_ns(a, rank->waited_ns),
                text_of_ns(b, rank->caused_ns));
        if (analysis->has_path)
            fprintf(out, " %16s %9s %9s", text_of_share(c, (double)rank->path_ns, (double)analysis->path_ns),
                    text_of_ns(d, rank->path_computing_ns), text_of_ns(e, rank->path_ns - rank->path_computing_ns));
        fprintf(out, "\n");
    }
    if (shown < count)
        fprintf(out, "  ... and %" PRId32 " more ranks; --json shows all\n", count - shown);
    free(ranks);
    free(order);
    return 0;
}

/* ---- collectives ------------------------------------------------------------------------------------------------- */

/* Prints the ranks that came last most often, from the adjacent records that begin at `first`. */
static size_t lasts_print(struct keyed *const *lasts, size_t count, size_t first, uint64_t key, FILE *out)
{
    size_t end = first, best[TOP_LASTS], shown = 0;
    char a[UNIT_TEXT_BYTES];
    while (end < count && lasts[end]->key[0] == key)
        end++;
    for (size_t n = 0; n < TOP_LASTS && n < end - first; n++) {
        size_t found = SIZE_MAX;
        for (size_t i = first; i < end; i++) {
            bool taken = false;
            for (size_t k = 0; k < shown; k++)
                taken |= best[k] == i;
            if (!taken && (found == SIZE_MAX || ((const struct analysis_sum *)lasts[i])->count >
                                                    ((const struct analysis_sum *)lasts[found])->count))
                found = i;
        }
        best[shown++] = found;
        fprintf(out, "%s rank %" PRIu64 " (%s)", n ? "," : " last:", lasts[found]->key[1],
                text_of_count(a, ((const struct analysis_sum *)lasts[found])->count));
    }
    return end;
}

static void worst_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    for (size_t i = 0; i < analysis->worst_count; i++) {
        const struct worst_operation *worst = &analysis->worst[i];
        if (i == 0)
            fprintf(out, "  longest waits\n");
        fprintf(out, "    at %14.9f s %-*s %-*s %9s, last: rank %" PRId32 " at %.9f s\n", (double)worst->at_ns * 1e-9,
                FUNCTION_COLUMNS, call_table[worst->function].name, COMM_COLUMNS,
                comm_text(title, analysis, worst->comm), text_of_ns(a, worst->waited_ns), worst->last_rank,
                (double)worst->last_ns * 1e-9);
    }
}

static int collectives_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], title[COMM_TITLE_BYTES];
    struct keyed **sorted = keytable_sorted(&analysis->operations), **lasts = keytable_sorted(&analysis->lasts);
    size_t at = 0;
    bool poor = (analysis->operations.count && !sorted) || (analysis->lasts.count && !lasts);
    if (analysis->operations.count || !analysis->has_collectives)
        fprintf(out, "\ncollectives\n");
    if (!analysis->has_collectives)
        fprintf(out, "  unknown\n");
    for (size_t i = 0; !poor && i < analysis->operations.count; i++) {
        const struct operation_sum *sum = (const struct operation_sum *)sorted[i];
        uint64_t key = sum->keyed.key[0];
        fprintf(out, "  %-*s %-*s %8s time%s", FUNCTION_COLUMNS, call_table[key >> 32].name, COMM_COLUMNS,
                comm_text(title, analysis, key), text_of_count(a, sum->count), sum->count == 1 ? "" : "s");
        if (analysis->has_times)
            fprintf(out, ", waited %9s,", text_of_ns(b, sum->waited_ns));
        if (sum->whole < sum->count)
            fprintf(out, " %s not by all ranks,", text_of_count(a, sum->count - sum->whole));
        while (at < analysis->lasts.count && lasts[at]->key[0] < key)
            at++;
        if (analysis->has_times)
            at = lasts_print(lasts, analysis->lasts.count, at, key, out);
        fprintf(out, "\n");
    }
    if (analysis->has_times)
        worst_print(analysis, out);
    free(sorted);
    free(lasts);
    return poor ? -1 : 0;
}

/* ---- path and matrix --------------------------------------------------------------------------------------------- */

static int path_share_order(const void *one, const void *other)
{
    const struct path_share *a = one, *b = other;
    return ORDER(b->ns, a->ns);
}

static void critical_path_print(const struct analysis *analysis, FILE *out)
{
    struct path_share functions[CALL_COUNT];
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    fprintf(out, "\ncritical path\n");
    if (!analysis->has_path) {
        fprintf(out, "  unknown: %s\n", analysis->no_path);
        return;
    }
    for (unsigned kind = 0; kind < CALL_COUNT; kind++)
        functions[kind] = (struct path_share){kind, 0};
    for (size_t i = 0; i < analysis->path_count; i++)
        functions[analysis->path[i].key & 0xffff].ns += analysis->path[i].ns;
    fprintf(out, "  %s, up to rank %" PRId32 "\n", text_of_ns(a, analysis->path_ns), analysis->path_rank);
    qsort(functions, CALL_COUNT, sizeof *functions, path_share_order);
    for (size_t i = 0; i < TOP_ROWS && functions[i].ns; i++)
        fprintf(out, "    %-*s %9s %8s\n", FUNCTION_COLUMNS,
                functions[i].key ? call_table[functions[i].key].name : "computing", text_of_ns(a, functions[i].ns),
                text_of_share(b, (double)functions[i].ns, (double)analysis->path_ns));
}

/* Sorts the ranks that sent most to the front. */
static int bytes_order(const void *one, const void *other)
{
    const struct analysis_sum *a = *(struct analysis_sum *const *)one, *b = *(struct analysis_sum *const *)other;
    return ORDER(b->amount, a->amount) ?: ORDER(b->count, a->count) ?: ORDER(a->keyed.key[1], b->keyed.key[1]);
}

/* The sums over all communicators. Returns 0, or -1 without memory. */
static int pairs_add(const struct analysis *analysis, struct keytable *pairs)
{
    for (size_t i = 0; i < analysis->matrix.capacity; i++)
        for (struct keyed *keyed = analysis->matrix.buckets[i]; keyed; keyed = keyed->next) {
            struct analysis_sum *sum = keytable_make(pairs, 0, keyed->key[1], sizeof *sum);
            if (!sum)
                return -1;
            sum->count += ((const struct analysis_sum *)keyed)->count;
            sum->amount += ((const struct analysis_sum *)keyed)->amount;
        }
    return 0;
}

static int matrix_print(const struct analysis *analysis, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    struct keytable pairs = {0};
    if (!analysis->has_messages)
        return 0;
    int result = pairs_add(analysis, &pairs);
    struct keyed **sorted = keytable_sorted(&pairs);
    if (result != 0 || (pairs.count && !sorted))
        result = -1;
    if (pairs.count)
        fprintf(out, "\nmessages sent, from rank to rank, over all communicators\n  %6s %6s %14s %12s\n", "from", "to",
                "messages", "bytes");
    if (result == 0 && sorted)
        qsort(sorted, pairs.count, sizeof(struct keyed *), bytes_order);
    for (size_t i = 0; result == 0 && i < pairs.count && i < TOP_ROWS; i++) {
        const struct analysis_sum *sum = (const struct analysis_sum *)sorted[i];
        fprintf(out, "  %6" PRIu64 " %6" PRIu64 " %14s %12s\n", sum->keyed.key[1] >> 32, sum->keyed.key[1] & UINT32_MAX,
                text_of_count(a, sum->count), text_of_bytes(b, sum->amount));
    }
    if (pairs.count > TOP_ROWS)
        fprintf(out, "  ... and %zu more pairs; --json shows all\n", pairs.count - TOP_ROWS);
    free(sorted);
    keytable_release(&pairs, NULL);
    return result;
}

int analysis_print(const struct analysis *analysis, FILE *out)
{
    analysis_head_print(analysis, out);
    ideal_print(analysis, out);
    messages_print(analysis, out);
    int result = longest_waits_print(analysis, out);
    result |= wait_places_print(analysis, out);
    result |= segments_print(analysis, out);
    result |= rank_sums_print(analysis, out);
    if (analysis->phases)
        summary_phases_print(analysis->phases, false, out);
    result |= collectives_print(analysis, out);
    critical_path_print(analysis, out);
    result |= matrix_print(analysis, out);
    return result ? -1 : 0;
}
