#include "symbols/storednames.h"

#include "base/array.h"
#include "base/hash.h"
#include "format/label.h"
#include "summary/summarysites.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* A file of names is never larger than a tool reads. */
enum { FRAMES_MOST = 1 << 19, TEXT_BYTES_MOST = 1 << 24 };

/* ---- writing ----------------------------------------------------------------------------------------------------- */

struct known_text {
    struct keyed keyed; /* hash, 0 */
    uint32_t place;
};

void names_list_begin(struct names_list *list, uint64_t job)
{
    *list = (struct names_list){.summary = {.job = job, .sites = {.named = 1}}};
}

void names_list_release(struct names_list *list)
{
    keytable_release(&list->texts, NULL);
    summary_release(&list->summary);
}

/* Appends a text. Returns its place. 0: no room. */
static uint32_t text_append(struct names_list *list, const char *text)
{
    struct summary_sites *sites = &list->summary.sites;
    size_t bytes = strlen(text) + 1;
    uint64_t at = sites->text_bytes ? sites->text_bytes : 1;
    if (at + bytes > TEXT_BYTES_MOST)
        return 0;
    size_t room = array_room(0, 1, sites->text_bytes);
    if (!sites->texts || at + bytes > room) {
        char *texts = realloc(sites->texts, array_room(room, 1, at + bytes));
        if (!texts)
            return 0;
        sites->texts = texts;
    }
    sites->texts[0] = '\0';
    memcpy(sites->texts + at, text, bytes);
    sites->text_bytes = at + bytes;
    return (uint32_t)at;
}

/* Returns the place of a text that is stored once. NULL and "" have the place 0. */
static uint32_t text_place(struct names_list *list, const char *text)
{
    if (!text || !text[0])
        return 0;
    uint64_t hash = hash_text(HASH_BEGIN, text);
    struct known_text *known = keytable_make(&list->texts, hash, 0, sizeof *known);
    if (known && known->place && strcmp(list->summary.sites.texts + known->place, text) == 0)
        return known->place;
    uint32_t place = text_append(list, text);
    if (known && !known->place)
        known->place = place;
    list->full |= place == 0;
    return place;
}

bool names_list_module(struct names_list *list, const char *path, const uint8_t *build_id, uint32_t build_id_bytes)
{
    struct summary_sites *sites = &list->summary.sites;
    struct summary_module module = {.build_id_bytes = build_id_bytes, .path = text_place(list, path)};
    if (!ARRAY_GROWN(sites->modules, sites->module_count) || !module.path || build_id_bytes > sizeof module.build_id ||
        sites->module_count == PATH_MODULES_MOST) {
        list->full = true;
        return false;
    }
    memcpy(module.build_id, build_id, build_id_bytes);
    sites->modules[sites->module_count++] = module;
    return true;
}

/* The begin of a function without a name, as the distance from the address, plus 1. 0: not known. */
static uint32_t start_distance(const struct symbol_place *place)
{
    bool known = place->start != UINT64_MAX && place->start <= place->address;
    return known && place->address - place->start < UINT32_MAX ? (uint32_t)(place->address - place->start) + 1 : 0;
}

bool names_list_place(struct names_list *list, const struct symbol_place *place)
{
    struct summary_sites *sites = &list->summary.sites;
    uint64_t before = sites->frame_count;
    for (unsigned i = 0; i < place->count; i++) {
        struct summary_frame frame = {.address = place->address,
                                      .module = (uint32_t)sites->module_count,
                                      .function = text_place(list, place->lines[i].function),
                                      .file = text_place(list, place->lines[i].file),
                                      .line = place->lines[i].line,
                                      .inlined = i + 1 < place->count,
                                      .mark = start_distance(place)};
        list->full |= sites->frame_count >= FRAMES_MOST || !ARRAY_GROWN(sites->frames, sites->frame_count);
        if (list->full) { /* a place is stored as a whole */
            sites->frame_count = before;
            return false;
        }
        sites->frames[sites->frame_count++] = frame;
    }
    return true;
}

/* ---- reading ----------------------------------------------------------------------------------------------------- */

struct stored_names {
    struct stored_names *next; /* of another file */
    struct summary summary;
    struct symbol_line *lines;   /* of each frame */
    struct symbol_place *places; /* by module and address */
    size_t place_count;
    size_t *first; /* place of each module, and one more */
    char (*bases)[NAME_MAX + 1];
};

void stored_names_close(struct stored_names *names)
{
    for (struct stored_names *next; names; names = next) {
        next = names->next;
        summary_release(&names->summary);
        free(names->lines);
        free(names->places);
        free(names->first);
        free(names->bases);
        free(names);
    }
}

void stored_names_add(struct stored_names **list, struct stored_names *names)
{
    while (*list)
        list = &(*list)->next;
    *list = names;
}

/* True if it is 0, or leads to the begin of a text. */
static bool text_is_sound(const struct summary_sites *sites, uint32_t place)
{
    return !place || (place < sites->text_bytes && !sites->texts[place - 1]);
}

/* True if frame i continues the place of the frame before. */
static bool continues(const struct summary_sites *sites, uint64_t i)
{
    const struct summary_frame *frame = &sites->frames[i];
    return i && frame[-1].inlined && frame[-1].module == frame->module && frame[-1].address == frame->address;
}

/* Places are found by bisection, so the order must be right. */
static bool names_are_sound(const struct summary_sites *sites)
{
    for (uint64_t i = 0; i < sites->module_count; i++)
        if (!sites->modules[i].path || !text_is_sound(sites, sites->modules[i].path))
            return false;
    for (uint64_t i = 0; i < sites->frame_count; i++) {
        const struct summary_frame *frame = &sites->frames[i], *before = i ? frame - 1 : NULL;
        bool rises = !before || frame->module > before->module ||
                     (frame->module == before->module && frame->address > before->address);
        if (!frame->module || !text_is_sound(sites, frame->function) || !text_is_sound(sites, frame->file) ||
            (before && before->inlined && !continues(sites, i)) || (!rises && !continues(sites, i)) ||
            (frame->inlined && i + 1 == sites->frame_count))
            return false;
    }
    return true;
}

static void place_add(struct stored_names *names, uint64_t i)
{
    const struct summary_frame *frame = &names->summary.sites.frames[i];
    names->places[names->place_count++] =
        (struct symbol_place){.lines = &names->lines[i],
                              .module = names->bases[frame->module - 1],
                              .address = frame->address,
                              .start = frame->mark ? frame->address - (frame->mark - 1) : UINT64_MAX};
}

static void places_make(struct stored_names *names)
{
    const struct summary_sites *sites = &names->summary.sites;
    uint64_t module = 0;
    for (uint64_t i = 0; i < sites->module_count; i++) {
        const char *path = summary_text(sites, sites->modules[i].path), *base = path_base(path);
        label_clean(names->bases[i], sizeof names->bases[i], base, strlen(base));
    }
    for (uint64_t i = 0; i < sites->frame_count; i++) {
        const struct summary_frame *frame = &sites->frames[i];
        for (; module < frame->module; module++)
            names->first[module] = names->place_count;
        names->lines[i] = (struct symbol_line){.function = summary_text(sites, frame->function),
                                               .file = summary_text(sites, frame->file),
                                               .line = frame->line};
        if (!continues(sites, i))
            place_add(names, i);
        names->places[names->place_count - 1].count++;
    }
    for (; module <= sites->module_count; module++)
        names->first[module] = names->place_count;
}

struct stored_names *stored_names_open(struct summary *summary, char error[128])
{
    struct stored_names *names = calloc(1, sizeof *names);
    if (!names) {
        summary_release(summary);
        snprintf(error, 128, "does not fit into memory");
        return NULL;
    }
    names->summary = *summary;
    const struct summary_sites *sites = &names->summary.sites;
    names->lines = calloc(sites->frame_count + 1, sizeof *names->lines);
    names->places = calloc(sites->frame_count + 1, sizeof *names->places);
    names->first = calloc(sites->module_count + 2, sizeof *names->first);
    names->bases = calloc(sites->module_count + 1, sizeof *names->bases);
    bool whole = names->lines && names->places && names->first && names->bases, sound = names_are_sound(sites);
    if (whole && sound) {
        places_make(names);
        return names;
    }
    snprintf(error, 128, whole ? "is damaged: its names are not in order" : "does not fit into memory");
    stored_names_close(names);
    return NULL;
}

static const struct symbol_place *place_search(const struct stored_names *names, size_t low, size_t high,
                                               uint64_t address)
{
    size_t at = ARRAY_FIRST(i, low, high, names->places[i].address >= address);
    return at < high && names->places[at].address == address ? &names->places[at] : NULL;
}

static const struct symbol_place *file_find(const struct stored_names *names, const char *path,
                                            const struct module *module, uint64_t address)
{
    const struct summary_sites *sites = &names->summary.sites;
    uint32_t bytes = module ? module->build_id_bytes : 0;
    for (uint64_t i = 0; i < sites->module_count; i++) {
        const struct summary_module *known = &sites->modules[i];
        if (known->build_id_bytes != bytes || (bytes && memcmp(known->build_id, module->build_id, bytes) != 0) ||
            strcmp(summary_text(sites, known->path), path) != 0)
            continue;
        const struct symbol_place *place = place_search(names, names->first[i], names->first[i + 1], address);
        if (place)
            return place;
    }
    return NULL;
}

const struct symbol_place *stored_names_find(const struct stored_names *names, const char *path,
                                             const struct module *module, uint64_t address)
{
    const struct symbol_place *place = NULL;
    for (; names && !place; names = names->next)
        place = file_find(names, path, module, address);
    return place;
}
