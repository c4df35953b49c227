#include "report/summary_below.h"

#include "base/cxxname.h"
#include "base/keytable.h"
#include "base/array.h"
#include "base/units.h"
#include "job/jsonvalue.h"
#include "report/summary_sites.h"

#include <stdlib.h>

/* A function that hands on this part of its time to one other function only leads there. */
#define HANDS_ON 0.9
/* And one that has this part of all says nothing: it is main, or what main calls. */
#define ALL 0.99

enum { NAME_COLUMNS = 58 };

struct below {
    struct keyed keyed; /* module, name */
    const struct summary_frame *frame;
    uint64_t time_ns, most_ns; /* of all below it, and below one of the functions that it calls */
    uint64_t site;             /* the last one that was added, + 1: a function that calls itself counts once */
    bool place;                /* it is the place of a site */
};

struct belows {
    struct keytable functions, callees; /* callees: the same, by function and callee */
    uint64_t whole_ns;
    bool no_memory;
};

/* The callee is a function, or a function of MPI. */
static uint64_t callee_key(const struct summary_site *site, const struct summary_frame *callee)
{
    return callee ? (uint64_t)callee->module << 32 | callee->function : (uint64_t)1 << 63 | site->kind;
}

static uint64_t function_key(const struct summary_frame *frame)
{
    return (uint64_t)frame->module << 32 | frame->function;
}

static struct below *below_add(struct belows *belows, struct keytable *table, uint64_t first, uint64_t second,
                               uint64_t site, uint64_t time_ns)
{
    struct below *below = keytable_make(table, first, second, sizeof *below);
    if (!below) {
        belows->no_memory = true;
        return NULL;
    }
    below->time_ns += below->site == site + 1 ? 0 : time_ns;
    below->site = site + 1;
    return below;
}

/* `callee`: what it calls on the way to MPI. NULL: MPI. */
static void below_frame_add(struct belows *belows, const struct summary_sites *sites, uint64_t number,
                            const struct summary_frame *frame, const struct summary_frame *callee)
{
    const struct summary_site *site = &sites->list[number];
    if (!summary_text(sites, frame->function))
        return;
    struct below *below = below_add(belows, &belows->functions, function_key(frame), 0, number, site->time_ns);
    struct below *called =
        below_add(belows, &belows->callees, function_key(frame), callee_key(site, callee), number, site->time_ns);
    if (!below || !called)
        return;
    below->frame = frame;
    below->place |= frame == site_place_frame(sites, site);
    below->most_ns = called->time_ns > below->most_ns ? called->time_ns : below->most_ns;
}

static void site_add(struct belows *belows, const struct summary_sites *sites, uint64_t number)
{
    const struct summary_site *site = &sites->list[number];
    const struct summary_frame *place = site_place_frame(sites, site), *call = site_call_frame(sites, site);
    const struct summary_frame *end = &sites->frames[site->first_frame + site->frame_count];
    if (!place || call_is_end(site->kind))
        return;
    belows->whole_ns += site->time_ns;
    for (const struct summary_frame *frame = place; frame < end && !frame_is_of_interpreter(sites, frame); frame++)
        below_frame_add(belows, sites, number, frame, frame > place ? frame - 1 : call != place ? call : NULL);
}

static int below_by_time(const void *one, const void *other)
{
    const struct below *a = *(const struct below *const *)one, *b = *(const struct below *const *)other;
    return ORDER(b->time_ns, a->time_ns) ?: ORDER(a->frame, b->frame);
}

static bool tells_something(const struct belows *belows, const struct below *below)
{
    bool splits = (double)below->most_ns < HANDS_ON * (double)below->time_ns;
    return below->time_ns && (double)below->time_ns < ALL * (double)belows->whole_ns && (below->place || splits);
}

/* Those that tell something, by time, as an array that the caller frees. NULL: none, or no memory. */
static const struct below **belows_find(struct belows *belows, const struct summary *summary, size_t *count)
{
    for (uint64_t i = 0; i < summary->sites.count; i++)
        site_add(belows, &summary->sites, i);
    const struct below **list = calloc(belows->functions.count + 1, sizeof *list);
    *count = 0;
    for (size_t i = 0; list && !belows->no_memory && i < belows->functions.capacity; i++)
        for (const struct keyed *keyed = belows->functions.buckets[i]; keyed; keyed = keyed->next)
            if (tells_something(belows, (const struct below *)keyed))
                list[(*count)++] = (const struct below *)keyed;
    if (list)
        qsort(list, *count, sizeof *list, below_by_time);
    return list;
}

static void belows_release(struct belows *belows, const struct below **list)
{
    free(list);
    keytable_release(&belows->functions, NULL);
    keytable_release(&belows->callees, NULL);
}

void summary_below_print(const struct summary *summary, size_t most, FILE *out)
{
    struct belows belows = {0};
    size_t count;
    const struct below **list = belows_find(&belows, summary, &count);
    double whole = summary_run_ns(summary);
    char name[CXX_NAME_BYTES], a[UNIT_TEXT_BYTES], b[UNIT_TEXT_BYTES];
    for (size_t i = 0; count > 1 && i < count && i < most; i++) {
        if (i == 0)
            fprintf(out, "\n%-*s %9s %7s\n", NAME_COLUMNS + 2, "MPI time below functions, sums over all ranks", "time",
                    "of run");
        cxx_name_short(summary_text(&summary->sites, list[i]->frame->function), name);
        fprintf(out, "  %-*.*s %9s %7s\n", NAME_COLUMNS, NAME_COLUMNS, name, text_of_ns(a, list[i]->time_ns),
                share_of_run_text(b, CALL_NONE, list[i]->time_ns, whole));
    }
    belows_release(&belows, list);
}

json_t *summary_below_json(const struct summary *summary)
{
    struct belows belows = {0};
    size_t count;
    const struct below **list = belows_find(&belows, summary, &count);
    json_t *json = JSON_LIST(i, count,
                             json_pack("{s:o, s:o}", "function",
                                       text_json(summary_text(&summary->sites, list[i]->frame->function)), "time_ns",
                                       count_json(list[i]->time_ns)));
    belows_release(&belows, list);
    return json;
}
