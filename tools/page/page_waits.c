/* Waits, collectives and segments of computation: the analysis of the trace, with its long lists cut. */
#include "page/page.h"

#include "analysis/analysis_report.h"
#include "analysis/sampled.h"
#include "base/array.h"
#include "cures/tracefigures.h"
#include "page/page_messages.h"
#include "page/page_path.h"
#include "page/page_places.h"

#include <stdlib.h>

/* The waits of all ranks at a place for a place of any rank. */
struct place_wait {
    uint64_t key; /* wait_place_key */
    uint64_t count, ns;
    uint32_t waiters;
    int32_t waiter, awaited; /* that waited, and was waited for, the longest */
    uint64_t waiter_ns, awaited_ns;
    uint32_t segment; /* that most of it waits for, of a rank */
    int32_t segment_rank;
    uint64_t segment_ns;
};

/* Sums of the groups, and figures that they need. */
struct place_waits {
    const struct analysis *analysis;
    struct place_wait *list;
    size_t count;
    uint64_t *awaited_ns;                /* by rank, of the group */
    const struct segment_figures **info; /* by number of the segment. NULL: none */
};

static int place_wait_order(const void *one, const void *other)
{
    const struct place_wait *a = one, *b = other;
    return ORDER(b->ns, a->ns) ?: ORDER(a->key, b->key);
}

/* Adds the records first..end, which have one key. They are sorted by the waiting rank. */
static void group_add(struct place_waits *waits, struct keyed *const *first, struct keyed *const *end)
{
    struct place_wait *sum = &waits->list[waits->count++];
    uint64_t waiter_ns = 0;
    int32_t waiter = -1, size = waits->analysis->job.size;
    *sum = (struct place_wait){.key = (*first)->key[0], .waiter = -1, .awaited = -1};
    for (struct keyed *const *at = first; at < end; at++) {
        const struct wait_place *wait = (const struct wait_place *)*at;
        int32_t rank = (int32_t)(wait->keyed.key[1] >> 32), awaited = (int32_t)(uint32_t)wait->keyed.key[1];
        sum->waiters += rank != waiter;
        waiter_ns = rank == waiter ? waiter_ns + wait->ns : wait->ns;
        waiter = rank;
        if (waiter_ns > sum->waiter_ns || sum->waiter < 0) {
            sum->waiter = rank;
            sum->waiter_ns = waiter_ns;
        }
        sum->count += wait->count;
        sum->ns += wait->ns;
        if (awaited >= 0 && awaited < size)
            waits->awaited_ns[awaited] += wait->ns;
    }
    for (struct keyed *const *at = first; at < end; at++) {
        int32_t awaited = (int32_t)(uint32_t)(*at)->key[1];
        if (awaited < 0 || awaited >= size)
            continue;
        if (waits->awaited_ns[awaited] > sum->awaited_ns || sum->awaited < 0) {
            sum->awaited = awaited;
            sum->awaited_ns = waits->awaited_ns[awaited];
        }
    }
    for (struct keyed *const *at = first; at < end; at++) {
        const struct wait_place *wait = (const struct wait_place *)*at;
        int32_t awaited = (int32_t)(uint32_t)wait->keyed.key[1];
        if (awaited >= 0 && awaited < size)
            waits->awaited_ns[awaited] = 0;
        if (awaited == sum->awaited && wait->segment_ns > sum->segment_ns) {
            sum->segment = wait->segment;
            sum->segment_rank = wait->segment_rank;
            sum->segment_ns = wait->segment_ns;
        }
    }
}

/* The computation that is the root of most of the wait, if it explains it: {"from", "to", "rank", "ns", "others_ns"}. */
static json_t *cause_json(const struct place_waits *waits, const struct place_wait *wait, struct page_places *places)
{
    const struct segment_figures *segment = wait->segment && waits->info ? waits->info[wait->segment] : NULL;
    const struct segment_sum *own =
        wait->segment ? keytable_find(&waits->analysis->segments.sums, wait->segment, (uint32_t)wait->segment_rank)
                      : NULL;
    if (!segment || !own || !segment_explains(own->ns, wait->awaited_ns, segment))
        return json_null();
    return json_pack("{s:o, s:o, s:i, s:o, s:o}", "from", page_place_number(places, segment->from), "to",
                     page_place_number(places, segment->to), "rank", (int)wait->segment_rank, "ns", count_json(own->ns),
                     "others_ns",
                     segment->ranks > 1 ? count_json((segment->sum_ns - own->ns) / (segment->ranks - 1)) : json_null());
}

static json_t *place_wait_json(const struct place_waits *waits, const struct place_wait *wait,
                               struct page_places *places)
{
    return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:i, s:o, s:i, s:o, s:o, s:o}", "pattern",
                     pattern_texts[wait->key >> 56].key, "site",
                     page_place_number(places, wait->key >> 28 & WAIT_PLACES_MOST), "cause_site",
                     page_place_number(places, wait->key & WAIT_PLACES_MOST), "count", count_json(wait->count),
                     "time_ns", count_json(wait->ns), "waiters", count_json(wait->waiters), "rank", (int)wait->waiter,
                     "rank_ns", count_json(wait->waiter_ns), "cause_rank", (int)wait->awaited, "cause_rank_ns",
                     count_json(wait->awaited_ns), "before", cause_json(waits, wait, places), "sampled",
                     sampled_json(waits->analysis, wait->key, delay_of_place(wait->awaited)));
}

static void waits_add_all(struct place_waits *waits, struct keyed *const *sorted, size_t count)
{
    for (size_t i = 0, end; i < count; i = end) {
        for (end = i; end < count && sorted[end]->key[0] == sorted[i]->key[0];)
            end++;
        group_add(waits, sorted + i, sorted + end);
    }
    qsort(waits->list, waits->count, sizeof *waits->list, place_wait_order);
}

static void put_list(json_t *object, const char *name, json_t *list, size_t all)
{
    char left_out[64];
    snprintf(left_out, sizeof left_out, "%s_left_out", name);
    if (json_array_size(list) < all)
        json_object_set_new(object, left_out, count_json(all - json_array_size(list)));
    json_object_set_new(object, name, list);
}

/* Puts both lists, and the places that they refer to. Returns 0, or -1 without memory. */
static int places_put(json_t *object, const struct analysis *analysis, const struct summary *summary)
{
    size_t segment_count = 0, wait_count = analysis->wait_places.count;
    struct page_places places;
    struct segment_figures *segments = segments_by_cost(&analysis->segments, &segment_count);
    struct keyed **sorted = keytable_sorted(&analysis->wait_places);
    struct place_waits waits = {.analysis = analysis,
                                .list = calloc(wait_count + 1, sizeof *waits.list),
                                .awaited_ns = calloc((size_t)analysis->job.size + 1, sizeof *waits.awaited_ns),
                                .info = calloc(analysis->segments.pairs.count + 1, sizeof *waits.info)};
    json_t *wait_list = json_array(), *segment_list = json_array();
    int result = waits.list && waits.awaited_ns && waits.info && (sorted || !wait_count) ? 0 : -1;
    page_places_open(&places, analysis->places, summary);
    for (size_t i = 0; i < segment_count && result == 0; i++)
        waits.info[segments[i].number] = &segments[i];
    if (result == 0)
        waits_add_all(&waits, sorted, sorted ? wait_count : 0);
    for (size_t i = 0; i < waits.count && i < PAGE_PLACES && result == 0; i++)
        json_array_append_new(wait_list, place_wait_json(&waits, &waits.list[i], &places));
    for (size_t i = 0; i < segment_count && i < PAGE_PLACES && result == 0; i++)
        json_array_append_new(segment_list,
                              segment_json(analysis, &segments[i], page_place_number(&places, segments[i].from),
                                           page_place_number(&places, segments[i].to)));
    put_list(object, "wait_sites", wait_list, waits.count);
    put_list(object, "segments", segment_list, segment_count);
    json_object_set_new(object, "callsites", page_places_take(&places));
    free(waits.list);
    free(waits.awaited_ns);
    free(waits.info);
    free(segments);
    free(sorted);
    return result;
}

static void lists_cut(json_t *json)
{
    size_t index;
    json_t *collective;
    json_array_foreach(json_object_get(json, "collectives"), index, collective)
        page_list_cut(collective, "last", "time_ns", 3);
    page_list_cut(json, "collectives", "waited_ns", PAGE_LINES);
    page_list_cut(json, "waits", "time_ns", PAGE_LINES);
    page_list_cut(json_object_get(json, "critical_path"), "shares", "time_ns", PAGE_LINES);
}

/* What the timeline draws of the analysis. */
struct drawn {
    struct page_messages messages;
    struct page_path path;
};

static void flow_draw(void *drawn, const struct analysis_flow *flow)
{
    page_messages_add(&((struct drawn *)drawn)->messages, flow);
}

static void wait_draw(void *drawn, const struct analysis_wait *wait)
{
    page_path_add(&((struct drawn *)drawn)->path, wait);
}

json_t *page_analysis(const struct run_job *job)
{
    if (!run_job_has_trace(job))
        return page_unknown_trace(job);
    struct drawn drawn = {.path = {.least_ns = 0}};
    const struct analysis_watch watch = {.data = &drawn, .flow = flow_draw, .wait = wait_draw};
    struct analysis *analysis = calloc(1, sizeof *analysis);
    json_t *json = NULL;
    if (page_messages_open(&drawn.messages) == 0 && analysis) {
        int opened =
            analysis_open_watched(analysis, job->files, job->file_count, page_selection(job), job->names, &watch);
        bool joined = opened != 0 || analysis_join_samples(analysis, job) == 0;
        json = !joined ? NULL : opened == 0 ? analysis_json(analysis, true) : page_unknown(analysis->report.error);
        if (opened == 0 && json && analysis->has_times && places_put(json, analysis, job->summary) != 0) {
            json_decref(json);
            json = NULL;
        }
        if (opened == 0 && json && analysis->has_messages)
            json_object_set_new(json, "drawn_messages", page_messages_json(&drawn.messages));
        if (opened == 0 && json && !job->part && analysis->has_path)
            json_object_set_new(json, "drawn_path", page_path_json(&drawn.path, analysis));
        if (opened == 0 && !job->part) {
            trace_mismatch_take(job);
            trace_figures_take(job->summary, analysis);
        }
        lists_cut(json);
        analysis_release(analysis);
    }
    page_messages_close(&drawn.messages);
    page_path_close(&drawn.path);
    free(analysis);
    return json;
}
