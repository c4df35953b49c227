#include "database/database_paths.h"

#include "base/array.h"
#include "base/hash.h"
#include "summarysql.h"

enum { OF_CALLS, OF_SAMPLES }; /* second part of the keys */

struct known_path {
    struct keyed keyed;
    int64_t number; /* 0: new */
};

/* Returns the record of a path. *fresh: it has no row yet. */
static struct known_path *stored_path_find(struct database_paths *paths, uint64_t hash, uint64_t of, bool *fresh)
{
    struct known_path *known = keytable_make(&paths->known, hash, of, sizeof *known);
    *fresh = known && !known->number;
    if (*fresh)
        known->number = ++paths->last;
    paths->no_memory |= !known;
    return known;
}

static void frame_put(struct database_paths *paths, uint32_t depth, const struct summary_sites *sites,
                      const struct summary_frame *frame, const struct summary_frame *place)
{
    struct database *to = paths->database;
    row_begin(to, TABLE_FRAMES);
    row_signed(to, paths->last);
    row_signed(to, depth);
    row_text(to, summary_text(sites, frame->function));
    row_text(to, summary_text(sites, frame->file));
    row_known(to, frame->line > 0, frame->line);
    row_text(to, summary_frame_module(sites, frame));
    row_count(to, frame->address);
    row_signed(to, frame->inlined);
    row_signed(to, frame == place);
    row_end(to);
}

/* The first columns of a path's row. */
static void head_put(struct database_paths *paths, const char *kind, const char *mpi, const char *function,
                     const char *file, uint32_t line)
{
    struct database *to = paths->database;
    row_begin(to, TABLE_PATHS);
    row_signed(to, paths->last);
    row_signed(to, paths->job);
    row_word(to, kind);
    row_word(to, mpi);
    row_text(to, function);
    row_text(to, file);
    row_known(to, line > 0, line);
}

/* `summary`: NULL if the counters are not known. */
static void site_put(struct database_paths *paths, const struct summary *summary, const struct summary_sites *sites,
                     const struct summary_site *site)
{
    struct database *to = paths->database;
    const struct summary_frame *frame = site_call_frame(sites, site);
    const struct summary_known known =
        summary ? summary_known_of(summary, site->kind) : (struct summary_known){.figures = false};
    head_put(paths, site->kind ? "call" : "others", site->kind ? call_table[site->kind].name : NULL,
             frame ? summary_text(sites, frame->function) : NULL, frame ? summary_text(sites, frame->file) : NULL,
             frame ? frame->line : 0);
    row_signed(to, site->flags != 0);
    database_site_add(to, site, &known);
    row_end(to);
    for (uint32_t i = 0; i < site->frame_count; i++)
        frame_put(paths, i, sites, &sites->frames[site->first_frame + i], site_place_frame(sites, site));
}

void database_paths_fill(struct database_paths *paths, const struct summary *summary)
{
    const struct summary_site **order = sites_by_time(&summary->sites);
    bool fresh;
    paths->no_memory |= !order;
    for (uint64_t i = 0; order && i < summary->sites.count; i++)
        if (stored_path_find(paths, order[i]->hash, OF_CALLS, &fresh) && fresh)
            site_put(paths, summary, &summary->sites, order[i]);
    free(order);
}

int64_t database_path_of_site(const struct database_paths *paths, const struct summary_site *site)
{
    const struct known_path *known = site ? keytable_find(&paths->known, site->hash, OF_CALLS) : NULL;
    return known ? known->number : 0;
}

static int64_t place_row_add(struct database_paths *paths, struct call_places *places, uint32_t place)
{
    struct summary_sites sites;
    const struct summary_site *site = call_place_site(places, place, &sites);
    bool fresh;
    struct known_path *known = site ? stored_path_find(paths, site->hash, OF_CALLS, &fresh) : NULL;
    if (known && fresh)
        site_put(paths, NULL, &sites, site);
    return known ? known->number : 0;
}

int64_t database_path_of_place(struct database_paths *paths, struct call_places *places, uint32_t place)
{
    if (!place)
        return 0;
    if (place >= paths->place_count) {
        size_t count = array_room(paths->place_count, 64, (size_t)place + 1);
        if (!ARRAY_EXTENDED(paths->of_place, paths->place_count, count)) {
            paths->no_memory = true;
            return 0;
        }
        paths->place_count = count;
    }
    if (!paths->of_place[place])
        paths->of_place[place] = place_row_add(paths, places, place);
    return paths->of_place[place];
}

/* ---- samples ----------------------------------------------------------------------------------------------------- */

static void stack_put(struct database_paths *paths, const struct stack_sample *sample)
{
    struct database *to = paths->database;
    const struct stack_frame *innermost = &sample->frames[sample->count - 1];
    head_put(paths, "sample", NULL, innermost->frame->name, innermost->file, innermost->line);
    row_signed(to, sample->sample->flags != 0);
    row_rest_null(to); /* counters */
    row_end(to);
    for (unsigned i = 0; i < sample->count; i++) {
        const struct stack_frame *frame = &sample->frames[sample->count - 1 - i];
        row_begin(to, TABLE_FRAMES);
        row_signed(to, paths->last);
        row_signed(to, i);
        row_text(to, frame->frame->name);
        row_text(to, frame->file);
        row_known(to, frame->file && frame->line > 0, frame->line);
        row_text(to, frame->frame->module);
        row_null(to);
        row_signed(to, 0);
        row_signed(to, 0);
        row_end(to);
    }
}

int64_t database_path_of_sample(struct database_paths *paths, const struct stack_sample *sample)
{
    uint64_t hash = HASH_BEGIN;
    bool fresh;
    for (unsigned i = 0; i < sample->count; i++) {
        const struct stack_frame *frame = &sample->frames[i];
        const uint64_t place[] = {frame->frame->number, (uintptr_t)frame->file, frame->line, sample->sample->flags};
        hash = hash_bytes(hash, place, sizeof place);
    }
    struct known_path *known = stored_path_find(paths, hash, OF_SAMPLES, &fresh);
    if (known && fresh)
        stack_put(paths, sample);
    return known ? known->number : 0;
}

void database_paths_release(struct database_paths *paths)
{
    keytable_release(&paths->known, NULL);
    free(paths->of_place);
    *paths = (struct database_paths){.database = paths->database, .last = paths->last};
}
