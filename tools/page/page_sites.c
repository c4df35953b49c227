#include "page/page_sites.h"

#include "job/jsonvalue.h"
#include "page/page.h"
#include "report/summary_sites.h"

#include <stdlib.h>

/* The time of a place on the ranks that call there. */
struct site_spread {
    struct rank_spread of;
    uint64_t rank_ns; /* of the rank that is being added */
    bool called;      /* by this rank */
};

void rank_spread_add(struct rank_spread *spread, uint64_t ns, int32_t rank, bool first, bool counts)
{
    spread->ranks += counts;
    spread->sum_ns += ns;
    if (first || ns < spread->min_ns) {
        spread->min_ns = ns;
        spread->min_rank = rank;
    }
    if (first || ns > spread->max_ns) {
        spread->max_ns = ns;
        spread->max_rank = rank;
    }
}

int site_spreads_open(struct site_spreads *spreads, const struct summary *job)
{
    const struct summary_site **order = sites_by_time(&job->sites);
    size_t *places = order ? sites_places(&job->sites, order) : NULL;
    *spreads = (struct site_spreads){.list = calloc(job->sites.count + 1, sizeof *spreads->list),
                                     .places = calloc(job->sites.count + 1, sizeof *spreads->places),
                                     .sites = &job->sites};
    bool good = places && spreads->list && spreads->places;
    for (size_t i = 0; good && i < job->sites.count; i++)
        spreads->places[order[i] - job->sites.list] = places[i];
    free(places);
    free(order);
    return good ? 0 : -1;
}

static struct site_spread *spread_of(const struct site_spreads *spreads, uint64_t hash)
{
    const struct summary_site *site = summary_site_of(spreads->sites, hash);
    if (!site || hash == SITE_OTHERS) /* the others are not the same sites on each rank */
        return NULL;
    return &spreads->list[spreads->places[site - spreads->sites->list]];
}

void site_spreads_add(struct site_spreads *spreads, const struct summary *part, int32_t rank)
{
    for (uint64_t i = 0; i < part->sites.count; i++) {
        const struct summary_site *site = &part->sites.list[i];
        struct site_spread *spread = spread_of(spreads, site->hash);
        if (!spread || !site->count)
            continue;
        spread->rank_ns += site->time_ns;
        spread->called = true;
    }
    for (uint64_t i = 0; i < spreads->sites->count; i++) {
        struct site_spread *spread = &spreads->list[i];
        if (spread->called)
            rank_spread_add(&spread->of, spread->rank_ns, rank, !spread->of.ranks, true);
        spread->rank_ns = 0;
        spread->called = false;
    }
}

json_t *site_spreads_json(const struct site_spreads *spreads)
{
    const struct summary_site **order = sites_by_time(spreads->sites);
    json_t *list = json_array();
    for (uint64_t i = 0; order && i < spreads->sites->count; i++) {
        const struct site_spread *site = spread_of(spreads, order[i]->hash);
        const struct rank_spread *spread = site ? &site->of : NULL;
        bool known = spread && spread->ranks && spread->ranks >= order[i]->ranks;
        json_array_append_new(list, known ? json_pack("{s:o, s:i, s:o, s:i}", "min_ns", count_json(spread->min_ns),
                                                      "min_rank", (int)spread->min_rank, "max_ns",
                                                      count_json(spread->max_ns), "max_rank", (int)spread->max_rank)
                                          : json_null());
    }
    free(order);
    return list;
}

void site_spreads_release(struct site_spreads *spreads)
{
    free(spreads->list);
    free(spreads->places);
}

json_t *page_site_places(const struct run_job *job)
{
    const struct summary_site **order = sites_by_time(&job->summary->sites);
    size_t *places = order ? sites_places(&job->summary->sites, order) : NULL;
    json_t *list = JSON_LIST(i, places ? job->summary->sites.count : 0, json_integer((json_int_t)places[i]));
    free(places);
    free(order);
    return list;
}
