#include "live/livesites.h"

#include "calls.h"
#include "summary/summarysites.h"

#include <stdlib.h>

enum { PASSES_LEAST = 5, PASSES_APART = 2 };

/* Adds the calls of a process. */
static void process_sites_add(struct keytable *sites, struct call_places *places, const struct run_reader *run)
{
    struct path_cells *sums = run->path_count ? paths_sum(run) : NULL;
    uint32_t *list = sums ? call_places_of(places, run) : NULL;
    const struct clock_scale scale = run_reader_scale(run);
    for (uint32_t number = 1; list && number < run->path_count; number++) {
        const struct path_record *path = run_reader_path_of(run, number);
        const struct path_cells *sum = &sums[number];
        struct live_site *site =
            path && list[number] && sum->calls ? keytable_make(sites, list[number], 0, sizeof *site) : NULL;
        if (!site)
            continue;
        site->function = path->kind;
        site->calls += sum->calls;
        site->ns += clock_ns(scale, sum->time);
        site->stall_ns += clock_ns(scale, sum->stall_time);
        site->least = !site->ranks || sum->calls < site->least ? sum->calls : site->least;
        site->most = sum->calls > site->most ? sum->calls : site->most;
        site->ranks++;
    }
    free(list);
    free(sums);
}

struct keytable live_sites_read(const struct live_job *job, struct call_places *places)
{
    struct keytable sites = {.count = 0};
    for (size_t i = 0; i < job->count; i++)
        if (job->processes[i].readable)
            process_sites_add(&sites, places, &job->processes[i].run);
    return sites;
}

/* A poll may find nothing, and a loop over neighbours makes several other calls in a pass. */
static bool ends_a_pass(unsigned kind)
{
    return kind < CALL_COUNT &&
           (call_table[kind].fold == FOLD_COLL || kind == CALL_MPI_Waitall || kind == CALL_MPI_Win_fence);
}

static bool may_be_beat(const struct live_site *site, size_t ranks)
{
    return ends_a_pass(site->function) && site->ranks == ranks && site->least >= PASSES_LEAST &&
           site->most - site->least <= PASSES_APART;
}

/* Calls of all places that are about as frequent: the loop with most of them is the one. */
static uint64_t calls_alike(const struct keytable *sites, const struct live_site *as, size_t ranks)
{
    uint64_t calls = 0;
    for (size_t i = 0; i < sites->capacity; i++)
        for (const struct keyed *keyed = sites->buckets[i]; keyed; keyed = keyed->next) {
            const struct live_site *site = (const struct live_site *)keyed;
            bool alike = site->least <= as->least + PASSES_APART && as->least <= site->least + PASSES_APART;
            calls += may_be_beat(site, ranks) && alike ? site->least : 0;
        }
    return calls;
}

/* The last one stays if it has half of the calls of the best: it does not change with each look. NULL: there is none. */
static const struct live_site *beat_choose(const struct keytable *sites, size_t ranks, uint32_t last)
{
    const struct live_site *best = NULL, *before = last ? keytable_find(sites, last, 0) : NULL;
    uint64_t most = 0;
    for (size_t i = 0; i < sites->capacity; i++)
        for (const struct keyed *keyed = sites->buckets[i]; keyed; keyed = keyed->next) {
            const struct live_site *site = (const struct live_site *)keyed;
            uint64_t calls = may_be_beat(site, ranks) ? calls_alike(sites, site, ranks) : 0;
            if (calls > most) {
                most = calls;
                best = site;
            }
        }
    bool stays = before && may_be_beat(before, ranks) && 2 * calls_alike(sites, before, ranks) >= most;
    return stays ? before : best;
}

struct live_passes live_passes_find(const struct keytable *sites, const struct live_job *job, uint32_t last)
{
    size_t ranks = 0;
    for (size_t i = 0; i < job->count; i++)
        ranks += job->processes[i].readable;
    const struct live_site *beat = beat_choose(sites, ranks, last);
    return beat ? (struct live_passes){(uint32_t)beat->keyed.key[0], beat->least} : (struct live_passes){0, 0};
}
