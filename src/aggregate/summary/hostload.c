#include "summary/hostload.h"

#include "base/array.h"

#include <stdlib.h>

static int by_set(const void *one, const void *other)
{
    const struct summary_row *a = *(const struct summary_row *const *)one,
                             *b = *(const struct summary_row *const *)other;
    return ORDER(a->host, b->host) ?: ORDER(a->processor_set, b->processor_set);
}

/* The share of processor time, of the time that it was wanted for, below which processes lack processors. And the least
 * lack: it is a share of the run time. */
#define ENOUGH 0.8
#define LEAST_LACK 0.02
/* From this share on a process lacks none. */
#define NEARLY_ALL 0.95

/* The share of its time with a processor, of the time for which it wanted one. 0: not known. */
static double row_processor_share(const struct summary_row *row)
{
    double had = (double)row->usage.user_ns + (double)row->usage.system_ns, lacked = (double)row->usage.run_delay_ns;
    if (row->usage.known != (USAGE_TIMES | USAGE_DELAY) || had <= 0)
        return 0;
    return lacked >= LEAST_LACK * (double)row->run_ns ? had / (had + lacked) : 1;
}

double *row_processor_shares(const struct summary *summary, int32_t size)
{
    double *shares = calloc((size_t)size + 1, sizeof *shares);
    int32_t lacked = 0, had = 0;
    for (size_t i = 0; shares && i < summary->row_count; i++) {
        double share = row_processor_share(&summary->rows[i]);
        lacked += share > 0 && share < ENOUGH;
        had += share >= NEARLY_ALL;
    }
    for (int32_t r = 0; shares && r < size; r++)
        shares[r] = 1;
    for (size_t i = 0; shares && lacked <= had && i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        double share = row_processor_share(row);
        if (share > 0 && share < ENOUGH && row->rank >= 0 && row->rank < size)
            shares[row->rank] = share;
    }
    return shares;
}

double *row_asleep_shares(const struct summary *summary, int32_t size)
{
    double *shares = calloc((size_t)size + 1, sizeof *shares);
    for (int32_t r = 0; shares && r < size; r++)
        shares[r] = 1;
    for (size_t i = 0; shares && i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        const struct run_usage *usage = &row->usage;
        double run = (double)row->run_ns;
        double wanted = (double)usage->user_ns + (double)usage->system_ns + (double)usage->run_delay_ns;
        if (usage->known == (USAGE_TIMES | USAGE_DELAY) && row->rank >= 0 && row->rank < size && run > 0)
            shares[row->rank] = wanted < run ? 1 - wanted / run : 0;
    }
    return shares;
}

/* Of a process, or of processes that are more than their processors. These lack as many processors as they are too many.
 * That is another matter: only what others take counts here. Likewise with more threads than processors. Processes that
 * sleep want no processor. */
static void lack_find(struct host_load *load, const struct summary_row **rows, uint32_t ranks)
{
    double had = 0, wanted = 0, run = 0;
    for (uint32_t i = 0; i < ranks; i++) {
        const struct run_usage *usage = &rows[i]->usage;
        if (usage->known != (USAGE_TIMES | USAGE_DELAY))
            return;
        had += (double)usage->user_ns + (double)usage->system_ns;
        wanted += (double)usage->run_delay_ns;
        run = (double)rows[i]->run_ns > run ? (double)rows[i]->run_ns : run;
    }
    double processors = rows[0]->processors ? rows[0]->processors : ranks;
    wanted = (wanted + had) * (ranks > processors ? processors / ranks : 1);
    if (rows[0]->processors && wanted > processors * run)
        wanted = processors * run;
    if (had < ENOUGH * wanted && wanted - had >= LEAST_LACK * run * ranks &&
        (load->wanted <= 0 || had * load->wanted < load->had * wanted)) {
        load->had = had;
        load->wanted = wanted;
    }
}

/* Adds processes that share a set of processors. */
static void set_add(struct host_load *load, const struct summary_row **rows, uint32_t ranks)
{
    uint32_t processors = rows[0]->processors, together = ranks > processors ? ranks : 1;
    for (uint32_t i = 0; i < ranks; i += together)
        lack_find(load, &rows[i], together);
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
        set_add(&loads[row->host], &rows[i], (uint32_t)(next - i));
    }
    for (size_t i = 0; i < count; i++) /* if one is not known, nothing is known of the host */
        if (!rows[i]->processor_set || !rows[i]->processors)
            loads[rows[i]->host].processors = loads[rows[i]->host].crowded_ranks = 0;
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
