#include "page/page_sites.h"

#include "job/jsonvalue.h"
#include "report/summary_sites.h"

#include <stdlib.h>

struct site_spread {
    uint64_t hash;
    uint64_t ranks, min_ns, max_ns;
    int32_t min_rank, max_rank;
};

static int site_spread_order(const void *one, const void *other)
{
    const struct site_spread *a = one, *b = other;
    return a->hash < b->hash ? -1 : a->hash > b->hash;
}

int site_spreads_open(struct site_spreads *spreads, const struct summary *job)
{
    *spreads =
        (struct site_spreads){.list = calloc(job->sites.count + 1, sizeof *spreads->list), .count = job->sites.count};
    if (!spreads->list)
        return -1;
    for (size_t i = 0; i < spreads->count; i++)
        spreads->list[i].hash = job->sites.list[i].hash;
    qsort(spreads->list, spreads->count, sizeof *spreads->list, site_spread_order);
    return 0;
}

static struct site_spread *spread_find(const struct site_spreads *spreads, uint64_t hash)
{
    struct site_spread key = {.hash = hash};
    if (!spreads->count || hash == SITE_OTHERS) /* the others are not the same sites on each rank */
        return NULL;
    return bsearch(&key, spreads->list, spreads->count, sizeof key, site_spread_order);
}

void site_spreads_add(struct site_spreads *spreads, const struct summary *part, int32_t rank)
{
    for (uint64_t i = 0; i < part->sites.count; i++) {
        const struct summary_site *site = &part->sites.list[i];
        struct site_spread *spread = spread_find(spreads, site->hash);
        if (!spread || !site->count)
            continue;
        if (!spread->ranks || site->time_ns < spread->min_ns) {
            spread->min_ns = site->time_ns;
            spread->min_rank = rank;
        }
        if (!spread->ranks || site->time_ns > spread->max_ns) {
            spread->max_ns = site->time_ns;
            spread->max_rank = rank;
        }
        spread->ranks++;
    }
}

json_t *site_spreads_json(const struct site_spreads *spreads, const struct summary *job)
{
    const struct summary_site **order = sites_by_time(&job->sites);
    json_t *list = json_array();
    for (uint64_t i = 0; order && i < job->sites.count; i++) {
        const struct site_spread *spread = spread_find(spreads, order[i]->hash);
        bool known = spread && spread->ranks == order[i]->ranks;
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
}
