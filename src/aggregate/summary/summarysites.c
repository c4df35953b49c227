#include "summary/summarysites.h"

#include "base/array.h"
#include "base/hash.h"
#include "format/label.h"
#include "format/pythonplace.h"
#include "reader/reader.h"
#include "summaryreading.h"

#include <stdlib.h>
#include <string.h>

/* ---- texts, modules, frames -------------------------------------------------------------------------------------- */

const char *summary_text(const struct summary_sites *sites, uint32_t place)
{
    return place && place < sites->text_bytes ? sites->texts + place : NULL;
}

const char *summary_frame_module(const struct summary_sites *sites, const struct summary_frame *frame)
{
    const char *path = frame->module ? summary_text(sites, sites->modules[frame->module - 1].path) : NULL;
    return path ? python_place_file(path) : NULL;
}

bool summary_frame_is_python(const struct summary_sites *sites, const struct summary_frame *frame)
{
    const char *path = frame->module ? summary_text(sites, sites->modules[frame->module - 1].path) : NULL;
    return path && is_python_place(path);
}

uint32_t summary_text_add(struct summary_sites *sites, const char *text)
{
    size_t bytes = strlen(text) + 1;
    if (bytes == 1)
        return 0;
    for (uint64_t at = 1; at < sites->text_bytes; at += strlen(sites->texts + at) + 1)
        if (strcmp(sites->texts + at, text) == 0)
            return (uint32_t)at;
    uint64_t at = sites->text_bytes ? sites->text_bytes : 1;
    char *texts = at + bytes <= UINT32_MAX ? realloc(sites->texts, at + bytes) : NULL;
    if (!texts)
        return 0;
    texts[0] = '\0';
    memcpy(texts + at, text, bytes);
    sites->texts = texts;
    sites->text_bytes = at + bytes;
    return (uint32_t)at;
}

/* Returns the place + 1 of a module. 0: no memory. */
static uint32_t module_add(struct summary_sites *sites, const uint8_t *build_id, uint32_t build_id_bytes,
                           const char *path)
{
    struct summary_module module = {.build_id_bytes = build_id_bytes, .path = summary_text_add(sites, path)};
    memcpy(module.build_id, build_id, build_id_bytes);
    for (uint64_t i = 0; i < sites->module_count; i++)
        if (memcmp(&sites->modules[i], &module, sizeof module) == 0)
            return (uint32_t)i + 1;
    if (!ARRAY_GROWN(sites->modules, sites->module_count))
        return 0;
    sites->modules[sites->module_count++] = module;
    return (uint32_t)sites->module_count;
}

static bool frame_add(struct summary_sites *sites, const struct summary_frame *frame)
{
    if (!ARRAY_GROWN(sites->frames, sites->frame_count))
        return false;
    sites->frames[sites->frame_count++] = *frame;
    return true;
}

/* ---- sites ------------------------------------------------------------------------------------------------------- */

/* The place of the site with this hash, or where it belongs. */
static uint64_t site_position(const struct summary_sites *sites, uint64_t hash, bool *found)
{
    return ARRAY_PLACE(i, sites->count, ORDER(hash, sites->list[i].hash), found);
}

const struct summary_site *summary_site_of(const struct summary_sites *sites, uint64_t hash)
{
    bool found;
    uint64_t place = site_position(sites, hash, &found);
    return found ? &sites->list[place] : NULL;
}

static void extremes_forget(struct summary_site *site)
{
    site->least_ns = site->most_ns = 0;
    site->least_rank = site->most_rank = -1;
}

/* Adds the same site of other processes. */
static void site_merge(struct summary_site *site, const struct summary_site *other)
{
    summary_site_sum(site, other);
    site->ranks += other->ranks;
    if (site->least_rank < 0 || other->least_rank < 0) {
        extremes_forget(site);
        return;
    }
    if (other->least_ns < site->least_ns ||
        (other->least_ns == site->least_ns && other->least_rank < site->least_rank)) {
        site->least_ns = other->least_ns;
        site->least_rank = other->least_rank;
    }
    if (other->most_ns > site->most_ns || (other->most_ns == site->most_ns && other->most_rank < site->most_rank)) {
        site->most_ns = other->most_ns;
        site->most_rank = other->most_rank;
    }
}

static int by_hash(const void *one, const void *other)
{
    const struct summary_site *a = one, *b = other;
    return ORDER(a->hash, b->hash);
}

/* Appends a site, without frames. Call summary_sites_sort after the last one. NULL: no memory. */
static struct summary_site *site_append(struct summary_sites *sites, const struct summary_site *site)
{
    if (!ARRAY_GROWN(sites->list, sites->count))
        return NULL;
    sites->list[sites->count] = *site;
    sites->list[sites->count].first_frame = (uint32_t)sites->frame_count;
    sites->list[sites->count].frame_count = 0;
    return &sites->list[sites->count++];
}

void summary_sites_sort(struct summary_sites *sites)
{
    uint64_t last = 0;
    if (!sites->count)
        return;
    qsort(sites->list, sites->count, sizeof *sites->list, by_hash);
    for (uint64_t i = 1; i < sites->count; i++) {
        if (sites->list[i].hash == sites->list[last].hash)
            summary_site_sum(&sites->list[last], &sites->list[i]);
        else
            sites->list[++last] = sites->list[i];
    }
    sites->count = last + 1;
}

/* ---- of a process ------------------------------------------------------------------------------------------------ */

uint64_t summary_path_hash(const struct run_reader *reader, const struct path_record *path)
{
    uint64_t hash = HASH_BEGIN, kind_and_flags = (uint64_t)path->kind << 32 | path->flags;
    if (path->kind == CALL_NONE)
        return SITE_OTHERS;
    hash = hash_bytes(hash, &kind_and_flags, sizeof kind_and_flags);
    for (uint32_t i = 0; i < path->frames; i++) {
        const struct module_record *module = run_reader_module(reader, path->frame[i]);
        uint64_t offset = path->frame[i] & PATH_OFFSET_MASK;
        if (module && module->build_id_bytes)
            hash = hash_bytes(hash, module->build_id, module->build_id_bytes);
        else if (module)
            hash = hash_text(hash, module->path);
        hash = hash_bytes(hash, &offset, sizeof offset);
    }
    return hash == SITE_OTHERS ? SITE_OTHERS + 1 : hash;
}

/* `known`: by number of the module in the file, its place + 1 in the summary. 0: not known yet. */
static int path_frames_add(struct summary_sites *sites, struct summary_site *site, const struct run_reader *reader,
                           const struct path_record *path, uint32_t *known)
{
    for (uint32_t i = 0; i < path->frames; i++) {
        const struct module_record *module = run_reader_module(reader, path->frame[i]);
        struct summary_frame frame = {.address = path->frame[i] & PATH_OFFSET_MASK};
        if (module && !known[module->number])
            known[module->number] = module_add(sites, module->build_id, module->build_id_bytes, module->path);
        frame.module = module ? known[module->number] : 0;
        if (!frame_add(sites, &frame))
            return -1;
        site->frame_count++;
    }
    return 0;
}

struct summary_site *summary_path_append(struct summary_sites *sites, const struct run_reader *reader,
                                         const struct path_record *path, uint32_t *known)
{
    struct summary_site own = {
        .hash = summary_path_hash(reader, path), .kind = path->kind, .flags = path->flags, .ranks = 1};
    struct summary_site *site = site_append(sites, &own);
    return site && path_frames_add(sites, site, reader, path, known) == 0 ? site : NULL;
}

struct path_cells *paths_sum(const struct run_reader *reader)
{
    struct path_cells *sums = calloc(reader->path_count + 1, sizeof *sums);
    for (size_t i = 0; sums && i < reader->block_count; i++) {
        const struct run_block *block = &reader->blocks[i];
        if (block->kind != BLOCK_PATH || block->cells < sizeof *sums / sizeof(uint64_t))
            continue;
        const struct path_cells *cells = (const struct path_cells *)tally_cells(block);
        struct path_cells *sum = &sums[block->page];
        uint64_t longest = cells->longest > sum->longest ? cells->longest : sum->longest;
        cells_add(sum, cells, sizeof *sums / sizeof(uint64_t));
        sum->longest = longest;
    }
    return sums;
}

/* So many objects grow with the run, if each of the last three quarters has made a tenth of them. What is made at the begin
 * alone does not grow. */
enum { GROWING_LEAST = 10 };

static void left_fill(struct summary_site *site, const struct left_place *left)
{
    const uint64_t *quarter = left->quarter;
    uint64_t count = quarter[0] + quarter[1] + quarter[2] + quarter[3];
    bool grows =
        count >= GROWING_LEAST && quarter[1] >= count / 10 && quarter[2] >= count / 10 && quarter[3] >= count / 10;
    site->not_freed = count;
    site->not_freed_growing = grows ? count : 0;
}

/* By number of its path, what was left there. The caller frees it. NULL: no memory. */
static const struct left_place **left_by_path(const struct run_reader *reader)
{
    const struct run_left *left = run_reader_left(reader);
    const struct left_place **list = calloc(reader->path_count + 1, sizeof *list);
    for (uint64_t i = 0; list && left && i < left->places; i++)
        if (left->place[i].path < reader->path_count)
            list[left->place[i].path] = &left->place[i];
    return list;
}

int summary_sites_fill(struct summary *summary, const struct run_reader *reader)
{
    struct summary_sites *sites = &summary->sites;
    struct clock_scale scale = run_reader_scale(reader);
    struct path_cells *sums = paths_sum(reader);
    const struct left_place **left = left_by_path(reader);
    uint32_t *known = calloc(PATH_MODULES_MOST, sizeof *known);
    int result = sums && left && known ? 0 : -1;
    for (uint32_t number = 1; result == 0 && number < reader->path_count; number++) {
        const struct path_record *path = run_reader_path_of(reader, number);
        const struct path_cells *sum = &sums[number];
        if (!path || (!sum->calls && !left[number]) || path->kind >= CALL_COUNT)
            continue;
        struct summary_site *site = summary_path_append(sites, reader, path, known);
        if (site)
            summary_site_read(site, sum, scale);
        else
            result = -1;
        if (site && left[number])
            left_fill(site, left[number]);
    }
    summary_sites_sort(sites);
    for (uint64_t i = 0; i < sites->count; i++) {
        struct summary_site *site = &sites->list[i];
        site->least_ns = site->most_ns = site->time_ns;
        site->least_rank = site->most_rank = site->hash == SITE_OTHERS ? -1 : reader->header.world_rank;
    }
    free(known);
    free(left);
    free(sums);
    return result;
}

/* ---- of several -------------------------------------------------------------------------------------------------- */

/* Where the texts and modules of another summary are in this one. 0: not known yet. */
struct places {
    uint32_t *texts, *modules;
};

static uint32_t site_text_copy(struct summary_sites *sites, const struct summary_sites *from, uint32_t place,
                               const struct places *known)
{
    const char *text = summary_text(from, place);
    if (text && !known->texts[place])
        known->texts[place] = summary_text_add(sites, text);
    return text ? known->texts[place] : 0;
}

static int frames_copy(struct summary_sites *sites, struct summary_site *site, const struct summary_sites *from,
                       const struct summary_site *other, const struct places *known)
{
    for (uint32_t i = 0; i < other->frame_count; i++) {
        struct summary_frame frame = from->frames[other->first_frame + i];
        const struct summary_module *module = frame.module ? &from->modules[frame.module - 1] : NULL;
        const char *path = module ? summary_text(from, module->path) : NULL;
        if (module && !known->modules[frame.module])
            known->modules[frame.module] =
                module_add(sites, module->build_id, module->build_id_bytes, path ? path : "");
        frame.module = module ? known->modules[frame.module] : 0;
        frame.function = site_text_copy(sites, from, frame.function, known);
        frame.file = site_text_copy(sites, from, frame.file, known);
        if (!frame_add(sites, &frame))
            return -1;
        site->frame_count++;
    }
    return 0;
}

static int sites_add(struct summary_sites *sites, const struct summary_sites *from, const struct places *known)
{
    uint64_t sorted = sites->count;
    for (uint64_t i = 0; i < from->count; i++) {
        const struct summary_site *other = &from->list[i];
        struct summary_sites before = {.list = sites->list, .count = sorted};
        bool found;
        uint64_t place = site_position(&before, other->hash, &found);
        if (found) {
            site_merge(&sites->list[place], other);
            continue;
        }
        struct summary_site *site = site_append(sites, other);
        if (!site || frames_copy(sites, site, from, other, known) != 0)
            return -1;
    }
    summary_sites_sort(sites);
    return 0;
}

static int sites_merge(struct summary_sites *sites, const struct summary_sites *from)
{
    if (!from->count)
        return 0;
    struct places known = {.texts = calloc(from->text_bytes + 1, sizeof(uint32_t)),
                           .modules = calloc(from->module_count + 1, sizeof(uint32_t))};
    sites->named = (sites->named || !sites->count) && from->named;
    int result = known.texts && known.modules ? sites_add(sites, from, &known) : -1;
    free(known.texts);
    free(known.modules);
    return result;
}

int summary_sites_merge(struct summary *summary, const struct summary *other)
{
    return sites_merge(&summary->sites, &other->sites) != 0 ? -1 : sites_merge(&summary->parallel, &other->parallel);
}

static void sites_release(struct summary_sites *sites)
{
    free(sites->list);
    free(sites->frames);
    free(sites->modules);
    free(sites->texts);
    *sites = (struct summary_sites){0};
}

/* The costliest first, before them places where what is not freed grows. */
static int site_time_order(const void *one, const void *other)
{
    const struct summary_site *a = one, *b = other;
    bool last_a = a->hash == SITE_OTHERS, last_b = b->hash == SITE_OTHERS;
    return last_a - last_b ?: ORDER(b->not_freed_growing, a->not_freed_growing)
                             ?: ORDER(b->time_ns, a->time_ns) ?: ORDER(a->hash, b->hash);
}

void summary_sites_trim(struct summary *summary, size_t most)
{
    struct summary_sites *sites = &summary->sites;
    if (sites->count <= most)
        return;
    qsort(sites->list, sites->count, sizeof *sites->list, site_time_order);
    struct summary_site *others = &sites->list[most - 1];
    struct summary_site rest = {.hash = SITE_OTHERS};
    extremes_forget(&rest);
    for (uint64_t i = most - 1; i < sites->count; i++) {
        summary_site_sum(&rest, &sites->list[i]);
        rest.ranks = sites->list[i].ranks > rest.ranks ? sites->list[i].ranks : rest.ranks;
    }
    *others = rest;
    sites->count = most;
    qsort(sites->list, sites->count, sizeof *sites->list, by_hash);
    struct summary_sites copy = {0}; /* without frames and texts that no site has any more */
    if (sites_merge(&copy, sites) != 0) {
        sites_release(&copy);
        return;
    }
    sites_release(sites);
    *sites = copy;
}

static size_t text_length(const struct summary_sites *sites, uint32_t place)
{
    const char *text = summary_text(sites, place);
    return text ? strlen(text) : 0;
}

/* No frame is of two sites, and no long name of very many frames: what is written would be much longer than the file. */
static bool sites_are_sound(const struct summary_sites *sites)
{
    const uint64_t shown_most = (16 << 20) + 512 * sites->frame_count;
    if (sites->text_bytes && (sites->texts[0] || sites->texts[sites->text_bytes - 1]))
        return false;
    for (uint64_t at = 1; at < sites->text_bytes; at += strlen(sites->texts + at) + 1)
        text_tidy(sites->texts + at, strlen(sites->texts + at) + 1);
    for (uint64_t i = 0; i < sites->module_count; i++)
        if (sites->modules[i].build_id_bytes > MODULE_BUILD_ID_BYTES)
            return false;
    uint64_t shown = 0, frames = 0;
    for (uint64_t i = 0; i < sites->frame_count && shown <= shown_most; i++) {
        const struct summary_frame *frame = &sites->frames[i];
        if (frame->module > sites->module_count)
            return false;
        shown += text_length(sites, frame->function) + text_length(sites, frame->file);
    }
    for (uint64_t i = 0; i < sites->count; i++) {
        const struct summary_site *site = &sites->list[i];
        if (site->kind >= CALL_COUNT || site->first_frame > sites->frame_count ||
            site->frame_count > sites->frame_count - site->first_frame || (i && site->hash <= sites->list[i - 1].hash))
            return false;
        frames += site->frame_count;
    }
    return frames <= sites->frame_count && shown <= shown_most;
}

bool summary_sites_are_sound(const struct summary *summary)
{
    return sites_are_sound(&summary->sites) && sites_are_sound(&summary->parallel);
}

void summary_sites_release(struct summary *summary)
{
    sites_release(&summary->sites);
    sites_release(&summary->parallel);
}
