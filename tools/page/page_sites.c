#include "page/page_sites.h"

#include "job/jsonvalue.h"
#include "page/page.h"
#include "report/summary_sites.h"

#include <stdlib.h>

/* The time of a place on the ranks that call there. */
struct site_spread {
    uint64_t ranks, min_ns, max_ns;
    int32_t min_rank, max_rank;
    uint64_t rank_ns; /* of the rank that is being added */
    bool called;      /* by this rank */
};

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

static void spread_add(struct site_spread *spread, int32_t rank)
{
    if (!spread->ranks || spread->rank_ns < spread->min_ns) {
        spread->min_ns = spread->rank_ns;
        spread->min_rank = rank;
    }
    if (!spread->ranks || spread->rank_ns > spread->max_ns) {
        spread->max_ns = spread->rank_ns;
        spread->max_rank = rank;
    }
    spread->ranks++;
    spread->rank_ns = 0;
    spread->called = false;
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
    for (uint64_t i = 0; i < spreads->sites->count; i++)
        if (spreads->list[i].called)
            spread_add(&spreads->list[i], rank);
}

json_t *site_spreads_json(const struct site_spreads *spreads)
{
    const struct summary_site **order = sites_by_time(spreads->sites);
    json_t *list = json_array();
    for (uint64_t i = 0; order && i < spreads->sites->count; i++) {
        const struct site_spread *spread = spread_of(spreads, order[i]->hash);
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
    json_t *list = json_array();
    for (uint64_t i = 0; places && i < job->summary->sites.count; i++)
        json_array_append_new(list, json_integer((json_int_t)places[i]));
    free(places);
    free(order);
    return list;
}
