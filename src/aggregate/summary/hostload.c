#include "summary/hostload.h"

#include <stdlib.h>

static int by_set(const void *one, const void *other)
{
    const struct summary_row *a = *(const struct summary_row *const *)one,
                             *b = *(const struct summary_row *const *)other;
    if (a->host != b->host)
        return a->host < b->host ? -1 : 1;
    return a->processor_set < b->processor_set ? -1 : a->processor_set > b->processor_set;
}

/* Adds processes that share a set of processors. */
static void set_add(struct host_load *load, uint32_t ranks, uint32_t processors)
{
    load->ranks += ranks;
    load->processors += processors;
    if (ranks > processors) {
        load->crowded_ranks += ranks;
        load->crowded_processors += processors;
    }
}

static void loads_fill(struct host_load *loads, const struct summary_row **rows, size_t count)
{
    for (size_t i = 0, next; i < count; i = next) {
        const struct summary_row *row = rows[i];
        for (next = i + 1; next < count && by_set(&rows[i], &rows[next]) == 0;)
            next++;
        set_add(&loads[row->host], (uint32_t)(next - i), row->processors);
    }
    for (size_t i = 0; i < count; i++) /* if one is not known, nothing is known of the host */
        if (!rows[i]->processor_set || !rows[i]->processors)
            loads[rows[i]->host] = (struct host_load){.ranks = loads[rows[i]->host].ranks};
}

struct host_load *host_loads_of(const struct summary *summary)
{
    struct host_load *loads = calloc(summary->host_count + 1, sizeof *loads);
    const struct summary_row **rows = calloc(summary->row_count + 1, sizeof *rows);
    for (size_t i = 0; rows && i < summary->row_count; i++)
        rows[i] = &summary->rows[i];
    if (loads && rows) {
        qsort(rows, summary->row_count, sizeof *rows, by_set);
        loads_fill(loads, rows, summary->row_count);
    } else {
        free(loads);
        loads = NULL;
    }
    free(rows);
    return loads;
}
