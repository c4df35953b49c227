#define _GNU_SOURCE
#include "report/callplaces.h"

#include "base/array.h"
#include "base/cxxname.h"
#include "base/keytable.h"
#include "format/label.h"
#include "job/jsonvalue.h"
#include "symbols/sitenames.h"
#include "symbols/symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { FUNCTION_BYTES = 60 };

struct known_place {
    struct keyed keyed; /* hash of the path, or of the place, 0 */
    uint32_t place;
};

struct call_places {
    struct summary_sites sites; /* in the order of their numbers, without names */
    struct keytable known, first;
    struct site_naming naming;
    struct summary_site *named; /* by number - 1. Their frames are in naming.frames */
    uint64_t named_count;
};

struct call_places *call_places_open(const struct stored_names *stored)
{
    struct call_places *places = calloc(1, sizeof *places);
    if (places && site_naming_begin(&places->naming, &places->sites, stored) != 0) {
        call_places_close(places);
        return NULL;
    }
    return places;
}

void call_places_close(struct call_places *places)
{
    if (!places)
        return;
    site_naming_end(&places->naming);
    keytable_release(&places->known, NULL);
    keytable_release(&places->first, NULL);
    free(places->sites.list);
    free(places->sites.frames);
    free(places->sites.modules);
    free(places->sites.texts);
    free(places->named);
    free(places);
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

static uint32_t place_of(struct call_places *places, const struct run_reader *run, uint32_t number, uint32_t *modules)
{
    const struct path_record *path = run_reader_path_of(run, number);
    if (!path || path->kind == CALL_NONE || path->kind >= CALL_COUNT)
        return 0;
    struct known_place *known =
        keytable_make(&places->known, summary_path_hash(run, path), 0, sizeof(struct known_place));
    if (known && !known->place && summary_path_append(&places->sites, run, path, modules))
        known->place = (uint32_t)places->sites.count;
    return known ? known->place : 0;
}

uint32_t call_place_find(struct call_places *places, const struct run_reader *run, uint32_t path)
{
    uint32_t *modules = run_reader_path_of(run, path) ? calloc(PATH_MODULES_MOST, sizeof *modules) : NULL;
    uint32_t place = modules ? place_of(places, run, path, modules) : 0;
    free(modules);
    return place;
}

uint32_t *call_places_of(struct call_places *places, const struct run_reader *run)
{
    uint32_t *list = run->path_count ? calloc(run->path_count, sizeof *list) : NULL;
    uint32_t *modules = list ? calloc(PATH_MODULES_MOST, sizeof *modules) : NULL;
    for (uint32_t number = 1; modules && number < run->path_count; number++)
        list[number] = place_of(places, run, number, modules);
    free(modules);
    return list;
}

int call_places_fill(struct call_places *places, const struct run_reader *runs, size_t count)
{
    char reason[128];
    for (size_t i = 0; i < count; i++) {
        if (!runs[i].path_count || run_reader_wake(&runs[i], reason) != 0)
            continue;
        uint32_t *list = call_places_of(places, &runs[i]);
        if (!list)
            return -1;
        free(list);
    }
    return 0;
}

uint32_t call_places_count(const struct call_places *places)
{
    return (uint32_t)places->sites.count;
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

/* The sites with their names. */
static struct summary_sites sites_named(const struct call_places *places)
{
    struct summary_sites sites = places->sites;
    sites.list = places->named;
    sites.count = places->named_count;
    sites.frames = places->naming.frames;
    sites.frame_count = places->naming.count;
    return sites;
}

/* Names all that are known, since the place of one depends on the others. */
static bool sites_name(struct call_places *places)
{
    struct summary_site *named = array_extend(places->named, places->named_count, places->sites.count, sizeof *named);
    if (!named)
        return false;
    places->named = named;
    for (; places->named_count < places->sites.count; places->named_count++) {
        named[places->named_count] = places->sites.list[places->named_count];
        if (!site_name(&places->naming, &named[places->named_count]))
            return false;
    }
    struct summary_sites sites = sites_named(places);
    return site_places_mark(&sites) == 0;
}

const struct summary_site *call_place_site(struct call_places *places, uint32_t place, struct summary_sites *sites)
{
    if (place == 0 || place > places->sites.count || (places->named_count < places->sites.count && !sites_name(places)))
        return NULL;
    *sites = sites_named(places);
    return &sites->list[place - 1];
}

uint64_t call_place_hash(const struct call_places *places, uint32_t place)
{
    return place && place <= places->sites.count ? places->sites.list[place - 1].hash : SITE_OTHERS;
}

uint32_t call_place_first(struct call_places *places, uint32_t place)
{
    struct summary_sites sites;
    const struct summary_site *site = call_place_site(places, place, &sites);
    struct known_place *first = site ? keytable_make(&places->first, site_place(&sites, site), 0, sizeof *first) : NULL;
    if (first && !first->place)
        first->place = place;
    return first ? first->place : place;
}

static size_t path_names_add(const struct summary_sites *sites, const struct summary_frame *frame, size_t count,
                             char *text, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < count && used < room; i++) {
        const char *function = summary_text(sites, frame[i].function);
        char name[CXX_NAME_BYTES] = "?";
        if (function)
            cxx_name_short(function, name);
        int more = snprintf(text + used, room - used, "%s%.*s", i ? " < " : "", FUNCTION_BYTES, name);
        used += more > 0 ? (size_t)more : 0;
    }
    return used < room ? used : room - 1;
}

static void call_place_write(const struct summary_sites *sites, const struct summary_site *site, unsigned callers,
                             char text[CALL_PLACE_BYTES])
{
    const struct summary_frame *frame = site_place_frame(sites, site), *call = site_call_frame(sites, site);
    text[0] = '\0';
    if (!frame)
        return;
    const char *file = summary_text(sites, frame->file), *path = summary_frame_module(sites, frame);
    size_t rest = site->frame_count - (size_t)(frame - &sites->frames[site->first_frame]) - 1, used;
    if (file && frame->line)
        used = (size_t)snprintf(text, CALL_PLACE_BYTES, "%.100s:%u", path_base(file), frame->line);
    else
        used =
            (size_t)snprintf(text, CALL_PLACE_BYTES, "%.100s+0x%" PRIx64, path ? path_base(path) : "?", frame->address);
    if (!summary_text(sites, frame->function))
        return;
    const char *wrapper = call != frame ? summary_text(sites, call->function) : NULL;
    char name[CXX_NAME_BYTES] = "";
    if (wrapper)
        cxx_name_short(wrapper, name);
    used +=
        (size_t)snprintf(text + used, CALL_PLACE_BYTES - used, " (%.*s%s", FUNCTION_BYTES, name, wrapper ? " < " : "");
    used +=
        path_names_add(sites, frame, 1 + (rest < callers ? rest : callers), text + used, CALL_PLACE_BYTES - 1 - used);
    text[used] = ')';
    text[used + 1] = '\0';
}

/* Names come from files, and may contain any bytes. */
const char *call_place_text(struct call_places *places, uint32_t place, unsigned callers, char text[CALL_PLACE_BYTES])
{
    char written[CALL_PLACE_BYTES] = "";
    struct summary_sites sites;
    const struct summary_site *site = call_place_site(places, place, &sites);
    if (site)
        call_place_write(&sites, site, callers, written);
    label_clean(text, CALL_PLACE_BYTES, written, strlen(written));
    return text;
}

json_t *call_place_json(struct call_places *places, uint32_t place)
{
    struct summary_sites sites;
    const struct summary_site *site = call_place_site(places, place, &sites);
    json_t *json = site ? json_object() : json_null();
    if (site)
        site_place_json(json, &sites, site);
    return json;
}
