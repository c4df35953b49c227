#include "analysis/tracefigures.h"

#include "analysis/analysis_report.h"
#include "format/packedrun.h"
#include "summary/summarysites.h"

#include <stdlib.h>

static uint32_t wait_place_of(const struct wait_place *wait)
{
    return (uint32_t)(wait->keyed.key[0] >> 28 & WAIT_PLACES_MOST);
}

static uint64_t site_hash(const struct analysis *analysis, uint32_t place)
{
    struct summary_sites sites;
    const struct summary_site *site = call_place_site(analysis->places, place, &sites);
    return site ? site->hash : SITE_OTHERS;
}

/* The place of the longest waits for late receivers, over all ranks. NULL: none. */
static const struct wait_place *longest_wait(const struct analysis *analysis)
{
    const struct wait_place *longest = NULL;
    for (size_t i = 0; i < analysis->wait_places.capacity; i++)
        for (const struct keyed *keyed = analysis->wait_places.buckets[i]; keyed; keyed = keyed->next) {
            const struct wait_place *wait = (const struct wait_place *)keyed;
            if (keyed->key[0] >> 56 == WAIT_LATE_RECEIVER && (!longest || wait->ns > longest->ns))
                longest = wait;
        }
    return longest;
}

static void late_receivers_take(struct summary_traced *traced, const struct analysis *analysis)
{
    uint64_t *ranks = calloc((size_t)analysis->job.size + 1, sizeof *ranks);
    if (!ranks)
        return;
    for (size_t i = 0; i < analysis->waits.capacity; i++)
        for (const struct keyed *keyed = analysis->waits.buckets[i]; keyed; keyed = keyed->next)
            if (keyed->key[0] >> 48 == WAIT_LATE_RECEIVER)
                ranks[keyed->key[1]] += ((const struct analysis_sum *)keyed)->amount;
    traced->late_receiver_rank = -1;
    for (int32_t r = 0; r < analysis->job.size; r++)
        if (ranks[r] > traced->late_receiver_ns) {
            traced->late_receiver_ns = ranks[r];
            traced->late_receiver_rank = r;
        }
    free(ranks);
    const struct wait_place *longest = longest_wait(analysis);
    traced->late_receiver_site = longest ? site_hash(analysis, wait_place_of(longest)) : 0;
    traced->waits = true;
}

/* A segment of one rank, against the mean of the others that have it. */
static struct summary_segment rank_segment_of(const struct analysis *analysis, const struct segment_figures *figures,
                                              int32_t rank, uint64_t ns)
{
    uint64_t others = figures->ranks > 1 ? figures->ranks - 1 : 1;
    return (struct summary_segment){site_hash(analysis, figures->from), site_hash(analysis, figures->to), ns,
                                    (figures->sum_ns - ns) / others, rank};
}

/* The segments of an analysis, by cost and by number. */
struct segment_index {
    struct segment_figures *list;
    size_t count;
    const struct segment_figures **by_number;
};

static struct segment_index segment_index_make(const struct analysis *analysis)
{
    struct segment_index index = {.list = segments_by_cost(&analysis->segments, &index.count)};
    index.count = index.list ? index.count : 0;
    index.by_number = calloc(analysis->segments.pairs.count + 1, sizeof *index.by_number);
    for (size_t i = 0; index.by_number && i < index.count; i++)
        index.by_number[index.list[i].number] = &index.list[i];
    return index;
}

/* True if others wait because a send comes late. These are the neighbors: then all wait in the next collective. */
static bool sends_late(const struct segment_sum *sum)
{
    return sum->sends_ns > sum->blamed_ns / 4;
}

/* Then the rank is a late rank, if there is another uneven segment. */
static bool delays_sends(const struct analysis *analysis, const struct segment_figures *figures)
{
    const struct segment_sum *sum =
        keytable_find(&analysis->segments.sums, figures->number, (uint64_t)(uint32_t)figures->max_rank);
    return sum && sends_late(sum);
}

/* Numbers of segments where a rank computes longest beyond the mean. 0: none. */
struct uneven {
    uint32_t most;   /* of all */
    uint32_t chosen; /* of segments that are alike, one that does not delay sends */
};

static struct uneven uneven_take(struct summary_traced *traced, const struct analysis *analysis,
                                 const struct segment_index *index)
{
    struct uneven uneven = {0, 0};
    uint64_t most = 0, most_chosen = 0;
    for (size_t i = 0; i < index->count; i++) {
        const struct segment_figures *figures = &index->list[i];
        uint64_t mean = figures->sum_ns / (uint64_t)analysis->job.size;
        uint64_t excess = figures->max_ns > mean ? figures->max_ns - mean : 0;
        uint64_t choice = delays_sends(analysis, figures) ? excess / 2 : excess;
        if (excess > most) {
            most = excess;
            uneven.most = figures->number;
        }
        if (choice > most_chosen) {
            most_chosen = choice;
            uneven.chosen = figures->number;
            traced->uneven = rank_segment_of(analysis, figures, figures->max_rank, figures->max_ns);
        }
    }
    return uneven;
}

/* The place of the longest waits for a rank: for late sends, or for others. NULL: none. */
static const struct wait_place *longest_wait_for(const struct analysis *analysis, int32_t rank, bool sends)
{
    const struct wait_place *longest = NULL;
    for (size_t i = 0; i < analysis->wait_places.capacity; i++)
        for (const struct keyed *keyed = analysis->wait_places.buckets[i]; keyed; keyed = keyed->next) {
            const struct wait_place *wait = (const struct wait_place *)keyed;
            bool fits = (keyed->key[0] >> 56 == WAIT_LATE_SENDER) == sends;
            if ((int32_t)(uint32_t)keyed->key[1] == rank && fits && (!longest || wait->ns > longest->ns))
                longest = wait;
        }
    return longest;
}

/* Finds the computation that others waited for and that takes longest beyond the mean of the others, without the one that
 * is uneven most. A rank that waits itself and passes the delay on is not the cause. */
static void late_rank_take(struct summary_traced *traced, const struct analysis *analysis,
                           const struct segment_index *index, struct uneven uneven)
{
    struct keyed **sorted = keytable_sorted(&analysis->segments.sums);
    uint64_t most = 0;
    for (size_t i = 0; sorted && i < analysis->segments.sums.count; i++) {
        const struct segment_sum *own = (const struct segment_sum *)sorted[i];
        uint32_t number = (uint32_t)own->keyed.key[0];
        const struct segment_figures *figures = index->by_number[number];
        if (!figures || number == uneven.chosen)
            continue;
        struct summary_segment is = rank_segment_of(analysis, figures, (int32_t)(uint32_t)own->keyed.key[1], own->ns);
        uint64_t longer = is.ns > is.others_ns ? is.ns - is.others_ns : 0;
        longer = own->blamed_ns < longer ? own->blamed_ns : longer;
        if (longer <= most)
            continue;
        most = longer;
        traced->before = is;
        traced->late_ns = own->blamed_ns;
        traced->late_sends = sends_late(own);
        traced->late_is_most = number == uneven.most;
    }
    free(sorted);
    const struct wait_place *longest =
        most ? longest_wait_for(analysis, traced->before.rank, traced->late_sends) : NULL;
    if (!longest)
        return;
    traced->late_rank = traced->before.rank;
    traced->late_site = site_hash(analysis, wait_place_of(longest));
}

static void places_take(struct summary_traced *traced, const struct analysis *analysis)
{
    struct segment_index index = segment_index_make(analysis);
    traced->late_rank = -1;
    if (index.by_number && analysis->job.size > 0) {
        struct uneven uneven = uneven_take(traced, analysis, &index);
        late_rank_take(traced, analysis, &index, uneven);
    }
    free(index.by_number);
    free(index.list);
}

void trace_figures_take(struct summary *summary, const struct analysis *analysis)
{
    struct summary_traced *traced = &summary->traced;
    const struct ideal *ideal = &analysis->ideal.ideal_ns;
    *traced = (struct summary_traced){.there = true, .split = !analysis->no_ideal};
    if (traced->split)
        traced->ideal_ns = ideal->least + (ideal->most - ideal->least) / 2;
    traced->messages = analysis->matching.matched;
    traced->unexpected = analysis->matching.unexpected;
    if (analysis->has_times && analysis->has_messages && !analysis->no_path)
        late_receivers_take(traced, analysis);
    if (traced->waits)
        places_take(traced, analysis);
}

void trace_figures_fill(const struct run_dir *dir)
{
    static const struct selection all;
    for (size_t i = 0; i < dir->job_count; i++) {
        const struct run_job *job = &dir->jobs[i];
        if (!job->summary || job->part || !run_job_has_trace(job))
            continue;
        job->summary->traced.there = true;
        if (job->summary->events > TRACE_FIGURES_EVENTS_MOST)
            continue;
        struct analysis *analysis = malloc(sizeof *analysis);
        if (!analysis)
            return;
        enum packed_trouble before = packed_trouble_seen();
        bool good = analysis_open(analysis, job->files, job->file_count, &all, NULL) == 0;
        if (good && packed_trouble_seen() == before)
            trace_figures_take(job->summary, analysis);
        packed_trouble_forget(before); /* the summary is whole without its trace */
        analysis_release(analysis);
        free(analysis);
    }
}
