#include "definitions/otf2_callpaths.h"

#include "base/array.h"
#include "base/keytable.h"
#include "base/text.h"
#include "calls.h"
#include "report/callplaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { NAME_BYTES = 512 };

struct numbered {
    struct keyed keyed;
    uint32_t number; /* + 1, or 0 for a new one */
};

/* What the first process looks up. */
struct building {
    struct trace_callpaths *paths;
    struct call_places *places;
    struct keytable functions; /* by texts: name, file */
    struct keytable lines;     /* by text of the file, line */
    struct keytable contexts;  /* by caller, function << 32 | line */
};

/* Returns the number of a key in *number, and whether the number exists already: 1, 0 if it is new, -1 without
 * memory. */
static int context_number_find(struct keytable *table, uint64_t first, uint64_t second, uint32_t *number)
{
    struct numbered *found = keytable_make(table, first, second, sizeof *found);
    if (!found)
        return -1;
    bool known = found->number != 0;
    if (!known)
        found->number = (uint32_t)table->count;
    *number = found->number - 1;
    return known;
}

/* ---- of a frame -------------------------------------------------------------------------------------------------- */

/* Writes the name of a frame's function, or its place in the file if it has none. */
static const char *function_name(const struct summary_sites *sites, const struct summary_frame *frame,
                                 char text[NAME_BYTES])
{
    const char *name = summary_text(sites, frame->function);
    const char *path = summary_frame_module(sites, frame);
    if (name)
        snprintf(text, NAME_BYTES, "%s", name);
    else
        snprintf(text, NAME_BYTES, "%.200s+0x%" PRIx64, path ? path_base(path) : "?", frame->address);
    return text;
}

static int function_number(struct building *building, const char *name, const char *file, uint32_t *number)
{
    struct trace_callpaths *paths = building->paths;
    uint32_t name_id = trace_strings_id(&paths->texts, name), file_id = trace_strings_id(&paths->texts, file);
    int known = name_id == UINT32_MAX || file_id == UINT32_MAX
                    ? -1
                    : context_number_find(&building->functions, name_id, file_id, number);
    if (known)
        return known < 0 ? -1 : 0;
    if (!ARRAY_GROWN(paths->functions, paths->function_count))
        return -1;
    paths->functions[paths->function_count++] =
        (struct trace_function){paths->texts.list[name_id], paths->texts.list[file_id]};
    return 0;
}

static int line_number(struct building *building, const char *file, uint32_t line, uint32_t *number)
{
    struct trace_callpaths *paths = building->paths;
    uint32_t file_id = trace_strings_id(&paths->texts, file);
    int known = file_id == UINT32_MAX ? -1 : context_number_find(&building->lines, file_id, line, number);
    if (known)
        return known < 0 ? -1 : 0;
    if (!ARRAY_GROWN(paths->lines, paths->line_count))
        return -1;
    paths->lines[paths->line_count++] = (struct trace_line){paths->texts.list[file_id], line};
    return 0;
}

/* Replaces *context by the context of a frame that it called. */
static int context_enter(struct building *building, const struct summary_sites *sites,
                         const struct summary_frame *frame, uint32_t *context)
{
    struct trace_callpaths *paths = building->paths;
    char name[NAME_BYTES];
    const char *file = summary_text(sites, frame->file);
    uint32_t function, line, number, caller = *context;
    if (function_number(building, function_name(sites, frame, name), file ? file : "", &function) != 0 ||
        line_number(building, file ? file : "", file ? frame->line : 0, &line) != 0)
        return -1;
    int known = context_number_find(&building->contexts, caller, (uint64_t)function << 32 | line, &number);
    if (known < 0)
        return -1;
    *context = number;
    if (known)
        return 0;
    if (!ARRAY_GROWN(paths->contexts, paths->context_count))
        return -1;
    uint32_t depth = caller == NO_CONTEXT ? 0 : paths->contexts[caller].depth + 1;
    paths->contexts[paths->context_count++] = (struct trace_context){function, line, caller, depth};
    return 0;
}

/* ---- of a job ---------------------------------------------------------------------------------------------------- */

static int contexts_build(struct building *building)
{
    struct trace_callpaths *paths = building->paths;
    for (uint32_t place = 1; place <= paths->place_count; place++) {
        struct summary_sites sites;
        const struct summary_site *site = call_place_site(building->places, place, &sites);
        const struct summary_frame *inner = site ? site_call_frame(&sites, site) : NULL;
        uint32_t context = NO_CONTEXT;
        if (!site)
            return -1;
        for (uint32_t i = site->frame_count; inner && i-- > 0 && &sites.frames[site->first_frame + i] >= inner;)
            if (context_enter(building, &sites, &sites.frames[site->first_frame + i], &context) != 0)
                return -1;
        paths->context[place] = context;
    }
    return 0;
}

/* The places of all ranks that are written, in the order of ranks. */
static int places_find(struct trace_callpaths *paths, struct call_places *places, const struct trace_job *job,
                       struct otf2_report *report)
{
    paths->places = calloc((size_t)job->size + 1, sizeof(uint32_t *));
    if (!paths->places)
        return report_no_memory(report);
    for (int32_t r = 0; r < job->size; r++) {
        const struct trace_rank *rank = &job->ranks[r];
        if (!rank->run || rank->left_out)
            continue;
        if (trace_run_wake(rank->run, report) != 0)
            return -1;
        paths->places[r] = call_places_of(places, rank->run);
        if (rank->run->path_count && !paths->places[r])
            return report_no_memory(report);
        run_reader_rest(rank->run);
    }
    paths->place_count = call_places_count(places);
    paths->context = malloc((paths->place_count + 1) * sizeof *paths->context);
    if (!paths->context)
        return report_no_memory(report);
    for (uint32_t place = 0; place <= paths->place_count; place++)
        paths->context[place] = NO_CONTEXT;
    return 0;
}

static int contexts_spread(struct trace_callpaths *paths, const struct team *team, struct otf2_report *report)
{
    uint32_t counts[2] = {paths->context_count, paths->function_count};
    team_spread(team, counts, sizeof counts, 0);
    if (team->rank != 0)
        paths->contexts = malloc((counts[0] + 1) * sizeof *paths->contexts);
    if (team_failed(team, counts[0] && !paths->contexts, report->error, sizeof report->error))
        return report_no_memory(report);
    paths->context_count = counts[0];
    paths->function_count = counts[1];
    team_spread(team, paths->context, (paths->place_count + 1) * sizeof *paths->context, 0);
    if (counts[0])
        team_spread(team, paths->contexts, counts[0] * sizeof *paths->contexts, 0);
    return 0;
}

int trace_callpaths_open(struct trace_callpaths *paths, const struct trace_job *job, const struct team *team,
                         struct otf2_report *report)
{
    struct building building = {.paths = paths, .places = call_places_open(paths->names)};
    int result = building.places ? places_find(paths, building.places, job, report) : report_no_memory(report);
    if (result == 0 && team->rank == 0 && contexts_build(&building) != 0)
        result = report_no_memory(report);
    call_places_close(building.places);
    keytable_release(&building.functions, NULL);
    keytable_release(&building.lines, NULL);
    keytable_release(&building.contexts, NULL);
    if (team_failed(team, result != 0, report->error, sizeof report->error))
        return -1;
    if (!team_same(team, paths->place_count))
        return report_error(report, "the run " TEAM_DIFFERS);
    return contexts_spread(paths, team, report);
}

void trace_callpaths_release(struct trace_callpaths *paths, const struct trace_job *job)
{
    for (int32_t r = 0; paths->places && r < job->size; r++)
        free(paths->places[r]);
    free(paths->places);
    free(paths->context);
    free(paths->contexts);
    free(paths->functions);
    free(paths->lines);
    trace_strings_release(&paths->texts);
    *paths = (struct trace_callpaths){0};
}
