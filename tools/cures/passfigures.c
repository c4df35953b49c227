#include "cures/passfigures.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Slow passes take so many times the usual time, */
#define SLOW 1.5
/* and that costs so much of the run. */
#define COST_LEAST 0.02
/* Each quarter takes so many times as long as the one before, if passes drift. */
#define DRIFT_STEP 1.05
/* The cause explains so much of what they take longer. */
#define EXPLAINED 0.5

enum { QUARTERS = 4, DRIFT_LEAST = 12 };

/* Sorts the list. */
static double median_take(double *list, size_t count)
{
    qsort(list, count, sizeof *list, double_order);
    return count ? (list[count / 2] + list[(count - 1) / 2]) / 2 : 0;
}

/* ---- slow passes ------------------------------------------------------------------------------------------------- */

/* Of the rows of slow passes, in which one at a time may be a usual one, the one that exceeds this time most. Returns by how
 * much. */
static double dearest_find(const double *ns, size_t count, double usual, size_t *first, size_t *last)
{
    double most = 0, sum = 0;
    size_t from = 0, end = 0; /* of the present row: its last slow pass */
    for (size_t i = 0; i < count; i++) {
        if (ns[i] < usual)
            continue;
        if (sum <= 0 || i > end + 2) {
            sum = 0;
            from = i;
        } else if (i == end + 2) {
            sum += ns[i - 1] - usual;
        }
        sum += ns[i] - usual;
        end = i;
        if (sum > most) {
            most = sum;
            *first = from;
            *last = i;
        }
    }
    return most;
}

static bool slow_take(struct slow_passes *slow, const double *ns, size_t first, size_t last, double usual,
                      double run_ns)
{
    double sum = 0, passes = (double)(last - first + 1);
    for (size_t i = first; i <= last; i++)
        sum += ns[i];
    if (sum < SLOW * usual * passes || sum - usual * passes < COST_LEAST * run_ns)
        return false;
    slow->first = first + 2;
    slow->last = last + 2;
    slow->ns = (uint64_t)(sum / passes);
    slow->usual_ns = (uint64_t)usual;
    return true;
}

/* Each quarter takes longer than the one before. */
static bool drift_take(struct slow_passes *slow, const double *ns, size_t count, double *room, double run_ns)
{
    double quarters[QUARTERS];
    if (count < DRIFT_LEAST)
        return false;
    for (size_t q = 0; q < QUARTERS; q++) {
        size_t from = q * count / QUARTERS, to = (q + 1) * count / QUARTERS;
        memcpy(room, ns + from, (to - from) * sizeof *room);
        quarters[q] = median_take(room, to - from);
        if (q && quarters[q] < DRIFT_STEP * quarters[q - 1])
            return false;
    }
    double more = 0;
    for (size_t i = 0; i < count; i++)
        more += ns[i] > quarters[0] ? ns[i] - quarters[0] : 0;
    if (quarters[QUARTERS - 1] < SLOW * quarters[0] || more < COST_LEAST * run_ns)
        return false;
    *slow = (struct slow_passes){.first = (QUARTERS - 1) * count / QUARTERS + 2,
                                 .last = count + 1,
                                 .drifts = true,
                                 .ns = (uint64_t)quarters[QUARTERS - 1],
                                 .usual_ns = (uint64_t)quarters[0]};
    return true;
}

bool slow_passes_find(struct slow_passes *slow, const double *ns, size_t count, double run_ns)
{
    double *room = malloc((count + 1) * sizeof *room);
    size_t first = 0, last = 0, longest = 0;
    *slow = (struct slow_passes){.rank = -1};
    if (!room || !count) {
        free(room);
        return room != NULL;
    }
    if (!drift_take(slow, ns, count, room, run_ns)) {
        memcpy(room, ns, count * sizeof *room);
        double usual = median_take(room, count);
        for (size_t i = 0; i < count; i++)
            longest = ns[i] > ns[longest] ? i : longest;
        if (dearest_find(ns, count, SLOW * usual, &first, &last) <= 0 ||
            !slow_take(slow, ns, first, last, usual, run_ns))
            slow_take(slow, ns, longest, longest, usual, run_ns);
    }
    free(room);
    return true;
}

/* ---- their cause ------------------------------------------------------------------------------------------------- */

/* The slow window in which a single computation takes longest. */
static size_t longest_find(const struct passes *passes, const struct slow_passes *slow)
{
    size_t longest = pass_window_of(passes, slow->first);
    for (size_t w = longest; w <= pass_window_of(passes, slow->last); w++)
        longest = passes->longest[w].ns > passes->longest[longest].ns ? w : longest;
    return longest;
}

/* One computation is the cause if it exceeds its rank's mean there by enough. */
static void segment_take(struct slow_passes *slow, const struct analysis *reading, const struct pass_longest *longest)
{
    const struct segment_sum *sum =
        keytable_find(&reading->segments.sums, longest->segment, (uint64_t)(uint32_t)longest->rank);
    const struct segment_pair *pair = segment_pair_of(&reading->segments, longest->segment);
    uint64_t mean = sum && sum->count > 1 ? (sum->ns - longest->ns) / (sum->count - 1) : 0;
    if (!pair || !sum || (double)longest->ns - (double)mean < EXPLAINED * (double)(slow->ns - slow->usual_ns))
        return;
    slow->rank = longest->rank;
    slow->from = call_place_hash(reading->places, (uint32_t)pair->keyed.key[0]);
    slow->to = call_place_hash(reading->places, (uint32_t)pair->keyed.key[1]);
    slow->own_ns = longest->ns;
    slow->mean_ns = mean;
}

/* ---- the passes -------------------------------------------------------------------------------------------------- */

static uint16_t pass_share(double part, double whole)
{
    return whole > 0 ? (uint16_t)(fmin(fmax(part / whole, 0), 1) * PASS_SHARE + 0.5) : 0;
}

static void windows_take(struct summary_passes *told, const struct passes *passes, bool ideal)
{
    uint64_t before = passes->ends[0], timed = passes->beat->count - 1;
    told->window_count = passes->window_count;
    for (size_t w = 0; w < passes->window_count; w++) {
        uint64_t end = passes->ends[((w + 1) * timed + passes->window_count - 1) / passes->window_count];
        const struct pass_sums *sums = &passes->windows[w];
        double ns = (double)(end - before),
               all = (double)(sums->computing_ns + sums->off_ns + sums->work_ns + sums->stalled_ns);
        told->windows[w] =
            (struct pass_window){.seconds = (float)(ns * 1e-9),
                                 .computing = pass_share((double)sums->computing_ns, all),
                                 .off = pass_share((double)sums->off_ns, all),
                                 .work = pass_share((double)sums->work_ns, all),
                                 .most = pass_share((double)sums->most_ns, ns),
                                 .ideal = ideal ? pass_share(passes->ideal_ns[w + 1] - passes->ideal_ns[w], ns) : 0};
        before = end;
    }
}

void pass_figures_take(struct summary *summary, const struct analysis *reading)
{
    const struct passes *passes = reading->passes;
    struct summary_passes *told = &summary->traced.passes;
    size_t timed = passes ? (size_t)passes->beat->count - 1 : 0;
    double *ns = timed ? calloc(timed, sizeof *ns) : NULL;
    double run_ns = reading->part_ns ? (double)reading->part_ns : summary->run_seconds.max * 1e9;
    struct slow_passes slow;
    if (!ns)
        return;
    *told = (struct summary_passes){.count = passes->beat->count, .least_ns = UINT64_MAX};
    for (size_t i = 0; i < timed; i++) {
        uint64_t took = passes->ends[i + 1] - passes->ends[i];
        ns[i] = (double)took;
        told->least_ns = took < told->least_ns ? took : told->least_ns;
        if (took > told->most_ns) {
            told->most_ns = took;
            told->most_pass = i + 2;
        }
    }
    told->place = call_place_hash(reading->places, (uint32_t)(passes->beat->keys[0] >> 32));
    windows_take(told, passes, !reading->no_ideal);
    if (slow_passes_find(&slow, ns, timed, run_ns)) {
        if (slow.first)
            segment_take(&slow, reading, &reading->passes->longest[longest_find(reading->passes, &slow)]);
        told->slow = slow;
    }
    told->median_ns = (uint64_t)median_take(ns, timed);
    free(ns);
}
