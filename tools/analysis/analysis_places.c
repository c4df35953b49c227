#define _GNU_SOURCE
#include "analysis/analysis_report.h"
#include "analysis/sampled.h"
#include "base/array.h"
#include "base/text.h"
#include "base/units.h"
#include "job/jsonvalue.h"

#include <inttypes.h>
#include <stdlib.h>

enum { WAITS_SHOWN = 10, SEGMENTS_SHOWN = 5, CAUSE_SHARE = 10 };

static const struct segment_pair **segment_pairs(const struct analysis *analysis)
{
    const struct keytable *pairs = &analysis->segments.pairs;
    const struct segment_pair **list = calloc(pairs->count + 1, sizeof *list);
    for (size_t i = 0; list && i < pairs->capacity; i++)
        for (struct keyed *keyed = pairs->buckets[i]; keyed; keyed = keyed->next)
            list[((struct segment_pair *)keyed)->number] = (const struct segment_pair *)keyed;
    return list;
}

/* ---- text: segments ---------------------------------------------------------------------------------------------- */

static void segment_print(const struct analysis *analysis, uint32_t from, uint32_t to, FILE *out)
{
    char a[CALL_PLACE_BYTES], b[CALL_PLACE_BYTES];
    call_place_text(analysis->places, from, 0, a);
    call_place_text(analysis->places, to, 0, b);
    fprintf(out, "%s -> %s", a, b);
}

/* "394 ms on rank 1, 44 ms on the others" */
static void difference_print(int32_t rank, uint64_t ns, uint64_t sum_ns, uint32_t ranks, FILE *out)
{
    char a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    fprintf(out, "%s on rank %" PRId32, text_of_ns(a, ns), rank);
    if (ranks > 1)
        fprintf(out, ", %s on the other%s", text_of_ns(b, (sum_ns - ns) / (ranks - 1)), ranks > 2 ? "s" : "");
}

/* Adds up the segments between two places, whatever paths lead there. */
static void segments_join(const struct analysis *analysis, struct segments *joined)
{
    const struct segment_pair **pairs = segment_pairs(analysis);
    for (size_t i = 0; pairs && i < analysis->segments.sums.capacity; i++)
        for (const struct keyed *keyed = analysis->segments.sums.buckets[i]; keyed; keyed = keyed->next) {
            const struct segment_sum *from = (const struct segment_sum *)keyed;
            const uint64_t *ends = pairs[keyed->key[0]]->keyed.key;
            uint32_t number = segment_find(joined, call_place_first(analysis->places, (uint32_t)ends[0]),
                                           call_place_first(analysis->places, (uint32_t)ends[1]));
            struct segment_sum *to = segment_of_rank(joined, number, (int32_t)(uint32_t)keyed->key[1]);
            if (!to)
                continue;
            to->count += from->count;
            to->ns += from->ns;
            to->critical_ns += from->critical_ns;
        }
    free(pairs);
}

int segments_print(const struct analysis *analysis, FILE *out)
{
    size_t count;
    struct segments joined = {.no_memory = false};
    segments_join(analysis, &joined);
    struct segment_figures *list = segments_by_cost(&joined, &count);
    segments_release(&joined);
    if (!analysis->has_times || !count) {
        free(list);
        return analysis->segments.sums.count && !list ? -1 : 0;
    }
    fprintf(out, "\ncomputation between MPI calls, by rank\n");
    for (size_t i = 0; i < count && i < SEGMENTS_SHOWN; i++) {
        char a[UNIT_TEXT_BYTES];
        fprintf(out, "  ");
        segment_print(analysis, list[i].from, list[i].to, out);
        fprintf(out, ": ");
        difference_print(list[i].max_rank, list[i].max_ns, list[i].sum_ns, list[i].ranks, out);
        if (list[i].critical_ns)
            fprintf(out, "; %s of the critical path", text_of_ns(a, list[i].critical_ns));
        fprintf(out, "\n");
    }
    if (count > SEGMENTS_SHOWN)
        fprintf(out, "  ... and %zu more; --json shows all\n", count - SEGMENTS_SHOWN);
    free(list);
    return 0;
}

/* ---- text: waits ------------------------------------------------------------------------------------------------- */

/* The waits of all ranks at a place for a rank at a place. */
struct wait_line {
    uint64_t key; /* wait_place_key, of the first paths to both places */
    int32_t awaited;
    uint64_t ns;
    uint64_t longest; /* the key of the path with this segment */
    uint32_t segment;
    int32_t segment_rank;
    uint64_t segment_ns;
};

static int group_order(const void *one, const void *other)
{
    const struct wait_line *a = one, *b = other;
    return ORDER(a->key, b->key) ?: ORDER(a->awaited, b->awaited);
}

static int ns_order(const void *one, const void *other)
{
    const struct wait_line *a = one, *b = other;
    return ORDER(b->ns, a->ns) ?: group_order(one, other);
}

static uint64_t first_key(const struct analysis *analysis, uint64_t key)
{
    return key >> 56 << 56 | (uint64_t)call_place_first(analysis->places, key >> 28 & WAIT_PLACES_MOST) << 28 |
           call_place_first(analysis->places, key & WAIT_PLACES_MOST);
}

static struct wait_line *wait_lines(const struct analysis *analysis, size_t *count)
{
    struct keyed **sorted = keytable_sorted(&analysis->wait_places);
    struct wait_line *lines = sorted ? calloc(analysis->wait_places.count, sizeof *lines) : NULL;
    size_t kept = 0;
    for (size_t i = 0; lines && i < analysis->wait_places.count; i++) {
        const struct wait_place *wait = (const struct wait_place *)sorted[i];
        lines[i] = (struct wait_line){first_key(analysis, wait->keyed.key[0]),
                                      (int32_t)(uint32_t)wait->keyed.key[1],
                                      wait->ns,
                                      wait->keyed.key[0],
                                      wait->segment,
                                      wait->segment_rank,
                                      wait->segment_ns};
    }
    if (lines)
        qsort(lines, analysis->wait_places.count, sizeof *lines, group_order);
    for (size_t i = 1; lines && i < analysis->wait_places.count; i++) {
        if (group_order(&lines[i], &lines[kept]) != 0) {
            lines[++kept] = lines[i];
            continue;
        }
        lines[kept].ns += lines[i].ns;
        if (lines[i].segment_ns > lines[kept].segment_ns) {
            lines[kept].longest = lines[i].longest;
            lines[kept].segment = lines[i].segment;
            lines[kept].segment_rank = lines[i].segment_rank;
            lines[kept].segment_ns = lines[i].segment_ns;
        }
    }
    *count = lines ? kept + 1 : 0;
    if (lines)
        qsort(lines, *count, sizeof *lines, ns_order);
    free(sorted);
    return lines;
}

bool segment_explains(uint64_t own_ns, uint64_t waited_ns, const struct segment_figures *segment)
{
    return own_ns >= waited_ns / CAUSE_SHARE && own_ns >= segment->sum_ns / segment->ranks;
}

/* Says what the root of the wait did before, and how long the other ranks take for that. */
static void cause_print(const struct analysis *analysis, const struct wait_line *line,
                        const struct segment_figures *figures, FILE *out)
{
    const struct segment_sum *own =
        keytable_find(&analysis->segments.sums, line->segment, (uint32_t)line->segment_rank);
    if (!figures || !own || !segment_explains(own->ns, line->ns, figures))
        return;
    fprintf(out, "    before, ");
    segment_print(analysis, figures->from, figures->to, out);
    fprintf(out, ": ");
    difference_print(line->segment_rank, own->ns, figures->sum_ns, figures->ranks, out);
    fprintf(out, "\n");
}

static void sampled_print(const struct analysis *analysis, const struct wait_line *line, FILE *out)
{
    struct sampled_place place;
    char share[UNIT_TEXT_BYTES], name[UNIT_NAME_BYTES];
    if (!sampled_find(analysis, line->longest, delay_of_place(line->awaited), &place))
        return;
    fprintf(out, "    sampled most: %s", text_of_name(name, place.function));
    if (place.file)
        fprintf(out, " (%s:%u)", path_base(place.file), place.line);
    fprintf(out, ", %s of %" PRIu64 " sample%s\n", text_of_share(share, place.share, 1), place.samples,
            place.samples == 1 ? "" : "s");
}

static void wait_line_print(const struct analysis *analysis, const struct wait_line *line, FILE *out)
{
    char a[UNIT_TEXT_BYTES], place[CALL_PLACE_BYTES], awaited[CALL_PLACE_BYTES];
    call_place_text(analysis->places, line->key >> 28 & WAIT_PLACES_MOST, 0, place);
    call_place_text(analysis->places, line->key & WAIT_PLACES_MOST, 0, awaited);
    fprintf(out, "  %s %s: %s waits for %s of rank %" PRId32 "\n", pattern_texts[line->key >> 56].name,
            text_of_ns(a, line->ns), place, awaited, line->awaited);
}

int wait_places_print(const struct analysis *analysis, FILE *out)
{
    size_t count = 0, segment_count;
    if (!analysis->has_times || !analysis->wait_places.count)
        return 0;
    struct wait_line *lines = wait_lines(analysis, &count);
    struct segment_figures *list = segments_by_cost(&analysis->segments, &segment_count);
    fprintf(out, "\nwaits by place\n");
    for (size_t i = 0; i < count && i < WAITS_SHOWN; i++) {
        const struct segment_figures *figures = NULL;
        for (size_t k = 0; list && k < segment_count && !figures; k++)
            figures = list[k].number == lines[i].segment ? &list[k] : NULL;
        wait_line_print(analysis, &lines[i], out);
        cause_print(analysis, &lines[i], figures, out);
        sampled_print(analysis, &lines[i], out);
    }
    if (count > WAITS_SHOWN)
        fprintf(out, "  ... and %zu more; --json shows all\n", count - WAITS_SHOWN);
    int result = lines ? 0 : -1;
    free(list);
    free(lines);
    return result;
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* A place without its path, which is in the list of call sites. */
static json_t *site_reference_json(const struct analysis *analysis, uint32_t place)
{
    json_t *json = call_place_json(analysis->places, place);
    if (!json_is_object(json))
        return json;
    json_object_del(json, "path");
    json_object_del(json, "cut");
    json_object_set_new(json, "callsite", json_integer((json_int_t)place - 1));
    return json;
}

json_t *analysis_sites_json(const struct analysis *analysis)
{
    return JSON_LIST(i, call_places_count(analysis->places), call_place_json(analysis->places, (uint32_t)i + 1));
}

static json_t *pair_json(const struct analysis *analysis, uint32_t from, uint32_t to)
{
    return json_pack("{s:o, s:o}", "from", site_reference_json(analysis, from), "to",
                     site_reference_json(analysis, to));
}

json_t *sampled_json(const struct analysis *analysis, uint64_t first, uint64_t second)
{
    struct sampled_place place;
    if (!sampled_find(analysis, first, second, &place))
        return json_null();
    return json_pack("{s:o, s:o, s:o, s:f, s:I}", "function", text_json(place.function), "file", text_json(place.file),
                     "line", place.line ? json_integer(place.line) : json_null(), "share", place.share, "samples",
                     (json_int_t)place.samples);
}

json_t *wait_places_json(const struct analysis *analysis)
{
    if (!analysis->has_times)
        return json_null();
    json_t *list = json_array();
    struct keyed **sorted = keytable_sorted(&analysis->wait_places);
    const struct segment_pair **pairs = segment_pairs(analysis);
    for (size_t i = 0; sorted && i < analysis->wait_places.count; i++) {
        const struct wait_place *wait = (const struct wait_place *)sorted[i];
        uint64_t key = wait->keyed.key[0];
        const struct segment_pair *before = pairs && wait->segment ? pairs[wait->segment] : NULL;
        json_array_append_new(
            list, json_pack("{s:s, s:I, s:o, s:I, s:o, s:I, s:I, s:o, s:o, s:o}", "pattern",
                            pattern_texts[key >> 56].key, "rank", (json_int_t)(wait->keyed.key[1] >> 32), "site",
                            site_reference_json(analysis, key >> 28 & WAIT_PLACES_MOST), "cause_rank",
                            (json_int_t)(wait->keyed.key[1] & UINT32_MAX), "cause_site",
                            site_reference_json(analysis, key & WAIT_PLACES_MOST), "count", (json_int_t)wait->count,
                            "time_ns", (json_int_t)wait->ns, "cause_segment",
                            before ? pair_json(analysis, (uint32_t)before->keyed.key[0], (uint32_t)before->keyed.key[1])
                                   : json_null(),
                            "root_rank", before ? json_integer(wait->segment_rank) : json_null(), "sampled",
                            sampled_json(analysis, key, delay_of_place((int32_t)(wait->keyed.key[1] & UINT32_MAX)))));
    }
    free(pairs);
    free(sorted);
    return list;
}

json_t *segment_json(const struct analysis *analysis, const struct segment_figures *segment, json_t *from, json_t *to)
{
    return json_pack("{s:o, s:o, s:I, s:i, s:{s:I, s:I, s:I, s:i}, s:o, s:I, s:I}", "from", from, "to", to, "count",
                     (json_int_t)segment->count, "ranks", (int)segment->ranks, "time_ns", "min",
                     (json_int_t)segment->min_ns, "mean", (json_int_t)(segment->sum_ns / segment->ranks), "max",
                     (json_int_t)segment->max_ns, "max_rank", (int)segment->max_rank, "critical_ns",
                     analysis->has_path ? json_integer((json_int_t)segment->critical_ns) : json_null(), "caused_ns",
                     (json_int_t)segment->blamed_ns, "off_processor_ns", (json_int_t)segment->off_ns);
}

json_t *segments_json(const struct analysis *analysis)
{
    if (!analysis->has_times)
        return json_null();
    size_t count;
    struct segment_figures *segments = segments_by_cost(&analysis->segments, &count);
    json_t *list = JSON_LIST(i, segments ? count : 0,
                             segment_json(analysis, &segments[i], site_reference_json(analysis, segments[i].from),
                                          site_reference_json(analysis, segments[i].to)));
    free(segments);
    return list;
}
