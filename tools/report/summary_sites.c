#define _GNU_SOURCE
#include "report/summary_sites.h"

#include "base/cxxname.h"
#include "base/hash.h"
#include "base/array.h"
#include "base/text.h"
#include "base/textwrap.h"
#include "base/units.h"
#include "job/jsonvalue.h"
#include "summaryjson.h"
#include "summaryreading.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

enum { PLACE_COLUMNS = 30 };

static const char *module_of(const struct summary_sites *sites, const struct summary_frame *frame)
{
    const char *path = summary_frame_module(sites, frame);
    return path ? path_base(path) : NULL;
}

const char *frame_place_text(const struct summary_sites *sites, const struct summary_frame *frame,
                             char text[SITE_PLACE_BYTES])
{
    const char *function = summary_text(sites, frame->function), *file = summary_text(sites, frame->file);
    const char *module = module_of(sites, frame);
    char name[CXX_NAME_BYTES];
    if (function)
        cxx_name_short(function, name);
    if (file && frame->line)
        snprintf(text, SITE_PLACE_BYTES, "%.100s:%u %.120s", path_base(file), frame->line, function ? name : "");
    else if (function)
        snprintf(text, SITE_PLACE_BYTES, "%.120s [%.100s]", name, module ? module : "?");
    else
        snprintf(text, SITE_PLACE_BYTES, "[%.100s+0x%" PRIx64 "]", module ? module : "?", frame->address);
    return text;
}

/* The next function with a name that a function without one is called by. */
static const char *named_caller(const struct summary_sites *sites, const struct summary_site *site,
                                const struct summary_frame *place)
{
    const struct summary_frame *end = &sites->frames[site->first_frame + site->frame_count], *frame = place;
    while (frame < end && !summary_text(sites, frame->function))
        frame++;
    return frame < end && frame > place ? summary_text(sites, frame->function) : NULL;
}

const char *site_place_text(const struct summary_sites *sites, const struct summary_site *site,
                            char text[SITE_PLACE_BYTES])
{
    const struct summary_frame *place = site_place_frame(sites, site), *call = site_call_frame(sites, site);
    const char *wrapper = call != place ? summary_text(sites, call->function) : NULL;
    const char *caller = place ? named_caller(sites, site, place) : NULL;
    char name[CXX_NAME_BYTES];
    if (!place)
        return strcpy(text, "(other places)");
    frame_place_text(sites, place, text);
    size_t used = strlen(text);
    if (caller)
        used += (size_t)snprintf(text + used, SITE_PLACE_BYTES - used, " < %.60s", cxx_name_short(caller, name));
    if (wrapper)
        snprintf(text + used, SITE_PLACE_BYTES - used, " > %.60s", cxx_name_short(wrapper, name));
    return text;
}

static int place_order(const void *one, const void *other)
{
    const struct summary_site *a = one, *b = other;
    return ORDER(a->hash == SITE_OTHERS, b->hash == SITE_OTHERS)
               ?: ORDER(b->time_ns, a->time_ns) ?: ORDER(b->count, a->count) ?: ORDER(a->hash, b->hash);
}

static int by_time(const void *one, const void *other)
{
    return place_order(*(const struct summary_site *const *)one, *(const struct summary_site *const *)other);
}

const struct summary_site **sites_by_time(const struct summary_sites *sites)
{
    const struct summary_site **order = calloc(sites->count + 1, sizeof *order);
    for (uint64_t i = 0; order && i < sites->count; i++)
        order[i] = &sites->list[i];
    if (order && sites->count > 1)
        qsort(order, sites->count, sizeof *order, by_time);
    return order;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

/* If not all calls were timed, a time of 0 is not known. */
static const char *time_text(const struct summary *summary, const struct summary_site *site, char text[UNIT_TEXT_BYTES])
{
    bool timed = summary->timed == 1 && !summary->timed_mixed;
    return site->time_ns || timed ? text_of_ns(text, site->time_ns) : "-";
}

uint64_t site_place(const struct summary_sites *sites, const struct summary_site *site)
{
    const struct summary_frame *frame = site_place_frame(sites, site), *call = site_call_frame(sites, site);
    if (!frame)
        return site->hash;
    bool named = frame->file && frame->line;
    const uint64_t place[] = {
        site->kind,   frame->module, frame->function, named ? frame->file : 0, named ? frame->line : frame->address,
        call->module, call->function};
    return hash_bytes(HASH_BEGIN, place, sizeof place);
}

size_t *sites_places(const struct summary_sites *sites, const struct summary_site *const *order)
{
    uint64_t *places = calloc(sites->count + 1, sizeof *places);
    size_t *first = places ? calloc(sites->count + 1, sizeof *first) : NULL;
    for (size_t i = 0; first && i < sites->count; i++) {
        places[i] = site_place(sites, order[i]);
        while (places[first[i]] != places[i])
            first[i]++;
    }
    free(places);
    return first;
}

struct summary_site *places_by_time(const struct summary_sites *sites, size_t *count)
{
    const struct summary_site **order = sites->count ? sites_by_time(sites) : NULL;
    size_t *first = order ? sites_places(sites, order) : NULL;
    struct summary_site *places = first ? calloc(sites->count, sizeof *places) : NULL;
    *count = 0;
    for (size_t i = 0; places && i < sites->count; i++) {
        if (first[i] == i) {
            first[i] = *count; /* from now on its place in the result */
            places[(*count)++] = *order[i];
            continue;
        }
        struct summary_site *place = &places[first[first[i]]];
        summary_site_sum(place, order[i]);
        place->ranks = order[i]->ranks > place->ranks ? order[i]->ranks : place->ranks;
        place->least_ns += order[i]->least_ns;
        place->most_ns += order[i]->most_ns;
        place->least_rank = order[i]->least_rank == place->least_rank ? place->least_rank : -1;
        place->most_rank = order[i]->most_rank == place->most_rank ? place->most_rank : -1;
    }
    free(order);
    free(first);
    if (places)
        qsort(places, *count, sizeof *places, place_order);
    return places;
}

const char *stalled_share_text(const struct summary *summary, unsigned kind, uint64_t stall_ns, uint64_t time_ns,
                               char text[UNIT_TEXT_BYTES])
{
    return time_ns && summary_tells_stalls(summary, kind) ? text_of_share(text, (double)stall_ns, (double)time_ns)
                                                          : "-";
}

double summary_run_ns(const struct summary *summary)
{
    double ns = 0;
    for (size_t i = 0; i < summary->row_count; i++)
        ns += (double)row_recorded_ns(&summary->rows[i]) * (double)summary->rows[i].threads;
    return ns;
}

const char *share_of_run_text(char text[UNIT_TEXT_BYTES], unsigned kind, uint64_t time_ns, double run_ns)
{
    return time_ns && run_ns > 0 && !call_is_end(kind) ? text_of_share(text, (double)time_ns, run_ns) : "-";
}

static void site_print(const struct summary *summary, const struct summary_site *site, double whole, FILE *out)
{
    const struct summary_sites *sites = &summary->sites;
    char place[SITE_PLACE_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES],
        e[UNIT_TEXT_BYTES];
    const char *where = site_place_text(sites, site, place);
    if (strlen(where) > PLACE_COLUMNS) { /* complete, on a line of its own */
        fprintf(out, "  %s\n", where);
        where = "";
    }
    fprintf(out, "  %-*s %-18s %10s %9s %8s %8s %9s\n", PLACE_COLUMNS, where, call_table[site->kind].name,
            text_of_count(a, site->count), time_text(summary, site, b),
            share_of_run_text(c, site->kind, site->time_ns, whole),
            stalled_share_text(summary, site->kind, site->stall_ns, site->time_ns, d),
            site->time_ns ? text_of_seconds(e, (double)site->time_ns * 1e-9 / (double)site->count) : "-");
}

void summary_sites_print(const struct summary *summary, size_t most, FILE *out)
{
    size_t count;
    struct summary_site *places = places_by_time(&summary->sites, &count);
    double whole = summary_run_ns(summary);
    if (!places)
        return;
    fprintf(out, "\nCall sites by time, sums over all ranks\n  %-*s %-18s %10s %9s %8s %8s %9s\n", PLACE_COLUMNS, "",
            "", "calls", "time", "of run", "stalled", "mean");
    for (size_t i = 0; i < count && i < most; i++)
        if (places[i].count)
            site_print(summary, &places[i], whole, out);
    if (count > most)
        fprintf(out, "  %zu more: mpit-dump --callpaths\n", count - most);
    free(places);
}

/* ---- the first screen -------------------------------------------------------------------------------------------- */

enum { COSTLY_PLACE = 31, COSTLY_NAME = 19 };

static void costly_print(const struct summary *summary, const struct summary_site *site, double whole, FILE *out)
{
    char place[SITE_PLACE_BYTES], name[64], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES];
    const struct summary_frame *frame = site_place_frame(&summary->sites, site);
    const char *caller = frame ? named_caller(&summary->sites, site, frame) : NULL;
    site_place_text(&summary->sites, site, place);
    if (caller && strlen(place) > COSTLY_PLACE) { /* then the name comes first: the number is cut */
        char nameless[SITE_PLACE_BYTES], function[CXX_NAME_BYTES];
        snprintf(place, sizeof place, "%.60s > %.100s", cxx_name_short(caller, function),
                 frame_place_text(&summary->sites, frame, nameless));
    }
    snprintf(name, sizeof name, "%s", site->kind ? call_table[site->kind].name : "");
    fprintf(out, "  %-*s %-*s %9s %7s %8s\n", COSTLY_PLACE, text_cut(place, COSTLY_PLACE, ".."), COSTLY_NAME,
            text_cut(name, COSTLY_NAME, ".."), time_text(summary, site, a),
            share_of_run_text(b, site->kind, site->time_ns, whole),
            stalled_share_text(summary, site->kind, site->stall_ns, site->time_ns, c));
}

/* The file of the place, if that has no name. NULL: it has one, or is not known. */
static const char *nameless_module(const struct summary_sites *sites, const struct summary_site *site)
{
    const struct summary_frame *place = site_place_frame(sites, site);
    bool nameless = place && place->module && !summary_text(sites, place->function);
    return nameless ? summary_frame_module(sites, place) : NULL;
}

enum { HINT_LINES = 2 };

/* Where names are that a file lacks. Programs of a distribution have them in packages of their own. */
static void names_hint_print(const char *path, FILE *out)
{
    char text[PATH_MAX + 160];
    bool packaged = strncmp(path, "/usr/", 5) == 0 && strncmp(path, "/usr/local/", 11) != 0;
    snprintf(text, sizeof text, "%.40s %s", path_base(path),
             packaged ? "lacks names of functions: find-dbgsym-packages (of debian-goodies) tells the package of "
                        "its names."
                      : "has no names of its functions. Do not strip it, and link it with -g.");
    fprintf(out, "  ");
    text_wrap(text, 2, out);
}

/* Of the costliest places: the first file without names. NULL: there is none. */
static const char *nameless_find(const struct summary *summary, const struct summary_site *places, size_t count)
{
    const char *nameless = NULL;
    for (size_t i = 0; !nameless && i < count; i++)
        nameless = call_is_end(places[i].kind) ? NULL : nameless_module(&summary->sites, &places[i]);
    return nameless;
}

unsigned summary_hint_lines(const struct summary *summary)
{
    size_t count;
    struct summary_site *places = places_by_time(&summary->sites, &count);
    bool some = places && nameless_find(summary, places, count < 2 ? count : 2);
    free(places);
    return some ? HINT_LINES : 0;
}

void summary_costly_print(const struct summary *summary, size_t most, FILE *out)
{
    size_t count, shown = 0;
    struct summary_site *places = places_by_time(&summary->sites, &count);
    double whole = summary_run_ns(summary);
    const char *nameless =
        places && most > HINT_LINES ? nameless_find(summary, places, count < most ? count : most) : NULL;
    most -= nameless ? HINT_LINES : 0;
    for (size_t i = 0; places && i < count && shown < most; i++) {
        if (call_is_end(places[i].kind))
            continue;
        if (!shown++)
            fprintf(out, "\n%-*s %9s %7s %8s\n", COSTLY_PLACE + COSTLY_NAME + 3,
                    "Call sites by time, sums over all ranks", "time", "of run", "stalled");
        costly_print(summary, &places[i], whole, out);
    }
    if (nameless)
        names_hint_print(nameless, out);
    free(places);
}

/* ---- tree -------------------------------------------------------------------------------------------------------- */

/* Sites in the order of a walk through the tree from main on. */
static const struct summary_sites *compared;

static int frame_order(const struct summary_frame *a, const struct summary_frame *b)
{
    int order = ORDER(a->module, b->module) ?: ORDER(a->function, b->function) ?: ORDER(a->file, b->file);
    return order ?: ORDER(a->line, b->line) ?: ORDER(a->function ? 0 : a->address, b->function ? 0 : b->address);
}

static const struct summary_frame *frame_from_main(const struct summary_site *site, uint32_t depth)
{
    return depth < site->frame_count ? &compared->frames[site->first_frame + site->frame_count - 1 - depth] : NULL;
}

/* How many frames from main on the two have in common. */
static uint32_t frames_common(const struct summary_site *a, const struct summary_site *b)
{
    uint32_t depth = 0;
    while (frame_from_main(a, depth) && frame_from_main(b, depth) &&
           frame_order(frame_from_main(a, depth), frame_from_main(b, depth)) == 0)
        depth++;
    return depth;
}

static int by_path(const void *one, const void *other)
{
    const struct summary_site *a = *(const struct summary_site *const *)one,
                              *b = *(const struct summary_site *const *)other;
    uint32_t depth = frames_common(a, b);
    const struct summary_frame *x = frame_from_main(a, depth), *y = frame_from_main(b, depth);
    if (x && y)
        return frame_order(x, y);
    return x ? 1 : y ? -1 : by_time(one, other);
}

static void path_print(const struct summary *summary, const struct summary_site *site, uint32_t known, double whole,
                       FILE *out)
{
    char place[SITE_PLACE_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES], c[UNIT_TEXT_BYTES], d[UNIT_TEXT_BYTES];
    for (uint32_t depth = known; depth < site->frame_count; depth++)
        fprintf(out, "%*s%s\n", 2 + 2 * (int)depth, "",
                frame_place_text(compared, frame_from_main(site, depth), place));
    if (!site->count) { /* it is known for what it made alone */
        fprintf(out, "%*s%s  calls not recorded\n", 2 + 2 * (int)site->frame_count, "", call_table[site->kind].name);
        return;
    }
    fprintf(out, "%*s%s  %s call%s  %s  of run %s  stalled %s%s\n", 2 + 2 * (int)site->frame_count, "",
            site->hash == SITE_OTHERS ? "(other places)" : call_table[site->kind].name, text_of_count(a, site->count),
            site->count == 1 ? "" : "s", text_of_ns(b, site->time_ns),
            share_of_run_text(c, site->kind, site->time_ns, whole),
            stalled_share_text(summary, site->kind, site->stall_ns, site->time_ns, d),
            site->flags & PATH_CUT         ? "  (outer frames left out)"
            : site->flags & PATH_UNKNOWN   ? "  (callers unknown)"
            : site->flags & PATH_ELSEWHERE ? "  (on a stack of its own)"
                                           : "");
}

void summary_callpaths_print(const struct summary *summary, FILE *out)
{
    compared = &summary->sites;
    const struct summary_site **order = sites_by_time(compared);
    double whole = summary_run_ns(summary);
    if (!order)
        return;
    if (compared->count > 1)
        qsort(order, compared->count, sizeof *order, by_path);
    if (!compared->count)
        fprintf(out, "No call paths were recorded (mpit_call_depth is 0).\n");
    else
        fprintf(
            out,
            "Call paths, sums over all ranks; without MPI_Init and MPI_Finalize, which are no part of the run time\n");
    for (uint64_t i = 0; i < compared->count; i++)
        path_print(summary, order[i], i ? frames_common(order[i - 1], order[i]) : 0, whole, out);
    free(order);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

static json_t *frame_json(const struct summary_sites *sites, const struct summary_frame *frame)
{
    const char *module = summary_frame_module(sites, frame);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:b}", "function", text_json(summary_text(sites, frame->function)),
                     "file", text_json(summary_text(sites, frame->file)), "line",
                     frame->line ? json_integer(frame->line) : json_null(), "module", text_json(module), "address",
                     count_json(frame->address), "inlined", (int)frame->inlined);
}

void site_place_json(json_t *json, const struct summary_sites *sites, const struct summary_site *site)
{
    const struct summary_frame *frame = site_call_frame(sites, site), *place = site_place_frame(sites, site);
    json_t *path = JSON_LIST(i, site->frame_count, frame_json(sites, &sites->frames[site->first_frame + i]));
    json_object_set_new(json, "mpi", site->kind ? json_string(call_table[site->kind].name) : json_null());
    json_object_set_new(json, "function", text_json(frame ? summary_text(sites, frame->function) : NULL));
    json_object_set_new(json, "file", text_json(frame ? summary_text(sites, frame->file) : NULL));
    json_object_set_new(json, "line", frame && frame->line ? json_integer(frame->line) : json_null());
    json_object_set_new(json, "place", place ? frame_json(sites, place) : json_null());
    json_object_set_new(json, "path", path);
    json_object_set_new(json, "cut", json_boolean(site->flags != 0));
}

static json_t *site_json(const struct summary *summary, const struct summary_site *site)
{
    const struct summary_known known = summary_known_of(summary, site->kind);
    json_t *json = json_object();
    site_place_json(json, &summary->sites, site);
    summary_site_json_add(json, site, &known);
    if (site->least_rank >= 0)
        json_object_set_new(json, "rank_time_ns",
                            json_pack("{s:o, s:i, s:o, s:i}", "min", count_json(site->least_ns), "min_rank",
                                      site->least_rank, "max", count_json(site->most_ns), "max_rank", site->most_rank));
    return json;
}

json_t *summary_sites_json(const struct summary *summary)
{
    const struct summary_site **order = sites_by_time(&summary->sites);
    json_t *json = JSON_LIST(i, order ? summary->sites.count : 0, site_json(summary, order[i]));
    free(order);
    return json;
}
