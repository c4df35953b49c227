#include "report/summary_passes.h"

#include "base/textwrap.h"
#include "base/units.h"
#include "job/jsonvalue.h"
#include "findings/findings_rules.h"
#include "report/summary_findings.h"
#include "report/summary_sites.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { LABEL_COLUMNS = 13, ROWS_SHOWN = 10, TIMES_BYTES = 32 };

/* Passes of windows from..to - 1. The first pass is in none. */
static uint64_t first_pass(const struct summary_passes *passes, size_t window)
{
    uint64_t timed = passes->count - 1;
    return (window * timed + passes->window_count - 1) / passes->window_count + 2;
}

/* Seconds: means of the ranks. */
struct window_sum {
    double seconds, computing, off, work, stalled, most, ideal;
};

static struct window_sum windows_sum(const struct summary_passes *passes, size_t from, size_t to)
{
    struct window_sum sum = {.seconds = 0};
    for (size_t w = from; w < to; w++) {
        const struct pass_window *window = &passes->windows[w];
        double share = window->seconds / PASS_SHARE, inside = window->computing + window->off + window->work;
        sum.seconds += window->seconds;
        sum.computing += share * window->computing;
        sum.off += share * window->off;
        sum.work += share * window->work;
        sum.stalled += share * fmax(PASS_SHARE - inside, 0);
        sum.most += share * window->most;
        sum.ideal += share * window->ideal;
    }
    return sum;
}

/* Efficiencies. Over several windows, the longest rank is the one of each. */
static struct efficiency window_efficiency(const struct window_sum *sum)
{
    double useful = sum->computing + sum->off;
    struct efficiency is = {.known = sum->seconds > 0, .run = sum->seconds, .mean = useful, .max = sum->most};
    if (!is.known)
        return is;
    is.load_balance = sum->most > 0 ? fmin(useful / sum->most, 1) : 1;
    is.communication = fmin(sum->most / sum->seconds, 1); /* ranks may be at different passes */
    if (sum->ideal > 0 && sum->most > 0)
        efficiency_split(&is, sum->ideal);
    return is;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* "2.1 times as long" */
static const char *times_text(uint64_t ns, uint64_t usual_ns, char text[TIMES_BYTES])
{
    double times = usual_ns ? (double)ns / (double)usual_ns : 0;
    snprintf(text, TIMES_BYTES, "%.*f times as long", times < 10 ? 1 : 0, times);
    return text;
}

static void slow_cause_print(const struct facts *facts, const struct slow_passes *slow, FILE *out)
{
    char own[UNIT_TEXT_BYTES], mean[UNIT_TEXT_BYTES], where[SEGMENT_TEXT_BYTES];
    if (!slow->own_ns) { /* no single computation is the cause */
        fprintf(out, ".");
        return;
    }
    finding_segment_text(facts, slow->from, slow->to, where);
    fprintf(out, ": rank %" PRId32 " takes %s%s", slow->rank, text_of_ns(own, slow->own_ns),
            where[0] ? where : " outside of MPI");
    fprintf(out, slow->mean_ns ? ", on average %s." : ".", text_of_ns(mean, slow->mean_ns));
}

static void slow_print(const struct facts *facts, const struct slow_passes *slow, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], times[TIMES_BYTES];
    if (!slow->first)
        return;
    if (slow->drifts)
        fprintf(out, " They get longer, from %s to %s", text_of_ns(a, slow->usual_ns), text_of_ns(b, slow->ns));
    else if (slow->first == slow->last)
        fprintf(out, " Pass %s takes %s", text_of_count(a, slow->first), times_text(slow->ns, slow->usual_ns, times));
    else
        fprintf(out, " Passes %s to %s take %s", text_of_count(a, slow->first), text_of_count(b, slow->last),
                times_text(slow->ns, slow->usual_ns, times));
    slow_cause_print(facts, slow, out);
}

void summary_passes_line_print(const struct summary *summary, FILE *out)
{
    const struct summary_passes *passes = &summary->traced.passes;
    const struct facts facts = {.summary = summary};
    const struct summary_site *site = summary_site_of(&summary->sites, passes->place);
    char count[UNIT_TEXT_BYTES], median[UNIT_TEXT_BYTES], place[PLACE_TEXT_BYTES], *text = NULL;
    size_t bytes;
    FILE *line = passes->count ? open_memstream(&text, &bytes) : NULL;
    if (!line)
        return;
    fprintf(line, "%s, the median takes %s", text_of_count(count, passes->count),
            text_of_ns(median, passes->median_ns));
    if (site && site->kind)
        fprintf(line, ". Each ends with %s", finding_place_text(&facts, site, place));
    fprintf(line, ".");
    slow_print(&facts, &passes->slow, line);
    fclose(line);
    fprintf(out, "  %-*s", LABEL_COLUMNS - 2, "passes");
    text_wrap(text, LABEL_COLUMNS, out);
    free(text);
}

static void share_print(double part, double whole, FILE *out)
{
    char text[UNIT_TEXT_BYTES];
    fprintf(out, " %9s", whole > 0 ? text_of_share(text, part, whole) : "-");
}

static void window_print(const struct summary_passes *passes, size_t from, size_t to, FILE *out)
{
    const struct window_sum sum = windows_sum(passes, from, to);
    const struct efficiency is = window_efficiency(&sum);
    const double shares[] = {sum.computing, sum.off, sum.work, sum.stalled};
    uint64_t first = first_pass(passes, from), last = first_pass(passes, to) - 1;
    char range[2 * UNIT_TEXT_BYTES], time[UNIT_TEXT_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    snprintf(range, sizeof range, first == last ? "%s" : "%s to %s", text_of_count(a, first), text_of_count(b, last));
    fprintf(out, "  %-20s %9s", range, text_of_seconds(time, sum.seconds / (double)(last - first + 1)));
    for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
        share_print(shares[i], sum.seconds, out);
    share_print(is.load_balance, 1, out);
    share_print(is.communication, 1, out);
    fprintf(out, "\n");
}

void summary_passes_print(const struct summary *summary, FILE *out)
{
    const struct summary_passes *passes = &summary->traced.passes;
    size_t count = passes->window_count, rows = count < ROWS_SHOWN ? count : ROWS_SHOWN;
    if (!count)
        return;
    fprintf(out, "\n%-22s %9s %9s %9s %9s %9s %9s %9s\n", "passes of the loop", "each", "computing", "off", "work",
            "stalled", "balance", "communic.");
    for (size_t i = 0; i < rows; i++)
        window_print(passes, i * count / rows, (i + 1) * count / rows, out);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* `hash` 0: null */
static json_t *beat_json(const struct summary *summary, uint64_t hash)
{
    return finding_place_json(summary, hash ? summary_site_of(&summary->sites, hash) : NULL);
}

static json_t *slow_json(const struct summary *summary, const struct slow_passes *slow)
{
    if (!slow->first)
        return json_null();
    bool known = slow->own_ns != 0;
    return json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "first", count_json(slow->first), "last",
                     count_json(slow->last), "drifts", (int)slow->drifts, "seconds", figure_json(seconds_of(slow->ns)),
                     "usual_seconds", figure_json(seconds_of(slow->usual_ns)), "rank",
                     slow->rank >= 0 ? json_integer(slow->rank) : json_null(), "from", beat_json(summary, slow->from),
                     "to", beat_json(summary, slow->to), "rank_seconds",
                     known ? figure_json(seconds_of(slow->own_ns)) : json_null(), "rank_mean_seconds",
                     slow->mean_ns ? figure_json(seconds_of(slow->mean_ns)) : json_null());
}

/* Sums of all ranks. */
static json_t *window_json(const struct summary *summary, size_t w)
{
    const struct summary_passes *passes = &summary->traced.passes;
    const struct window_sum sum = windows_sum(passes, w, w + 1);
    const struct efficiency is = window_efficiency(&sum);
    double ranks = summary->world_size;
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "first", count_json(first_pass(passes, w)),
                     "last", count_json(first_pass(passes, w + 1) - 1), "seconds", figure_json(sum.seconds),
                     "computing_seconds", figure_json(ranks * sum.computing), "off_seconds",
                     figure_json(ranks * sum.off), "work_seconds", figure_json(ranks * sum.work), "stalled_seconds",
                     figure_json(ranks * sum.stalled), "load_balance",
                     is.known ? figure_json(is.load_balance) : json_null(), "serialization",
                     is.split ? figure_json(is.serialization) : json_null(), "transfer",
                     is.split ? figure_json(is.transfer) : json_null());
}

json_t *summary_passes_json(const struct summary *summary)
{
    const struct summary_passes *passes = &summary->traced.passes;
    if (!passes->count)
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "count", count_json(passes->count), "place",
                     beat_json(summary, passes->place), "median_seconds", figure_json(seconds_of(passes->median_ns)),
                     "min_seconds", figure_json(seconds_of(passes->least_ns)), "max_seconds",
                     figure_json(seconds_of(passes->most_ns)), "max_pass", count_json(passes->most_pass), "slow",
                     slow_json(summary, &passes->slow), "windows",
                     JSON_LIST(w, passes->window_count, window_json(summary, w)));
}
