#include "summary/efficiency.h"

#include "summary/summary.h"
#include "summary/summaryopenmp.h"

#include <stdlib.h>

struct node {
    double sum;
    size_t count;
};

/* The largest mean of useful time of a node. Without memory: of all together, as if there were one node. */
static double best_node(const struct efficiency_part *parts, size_t count, size_t hosts, double mean)
{
    struct node *nodes = calloc(hosts + 1, sizeof *nodes);
    double best = 0;
    if (!nodes)
        return mean;
    for (size_t i = 0; i < count; i++)
        if (parts[i].host < hosts) {
            nodes[parts[i].host].sum += parts[i].useful;
            nodes[parts[i].host].count++;
        }
    for (size_t i = 0; i < hosts; i++)
        if (nodes[i].count && nodes[i].sum / (double)nodes[i].count > best)
            best = nodes[i].sum / (double)nodes[i].count;
    free(nodes);
    return best;
}

static double ratio(double part, double whole)
{
    double value = whole > 0 ? part / whole : 1; /* without useful time, all are equally far */
    return value > 1 ? 1 : value;
}

struct efficiency efficiency_of(const struct efficiency_part *parts, size_t count, size_t hosts)
{
    struct efficiency is = {.known = false};
    double sum = 0;
    for (size_t i = 0; i < count; i++) {
        sum += parts[i].useful;
        is.max = parts[i].useful > is.max ? parts[i].useful : is.max;
        is.run = parts[i].run > is.run ? parts[i].run : is.run;
    }
    if (is.run <= 0)
        return (struct efficiency){.known = false};
    is.known = true;
    is.mean = sum / (double)count;
    is.in_node = best_node(parts, count, hosts, is.mean);
    is.parallel = is.mpi = ratio(is.mean, is.run);
    is.openmp = is.openmp_serial = is.openmp_balance = is.openmp_scheduling = 1;
    is.load_balance = ratio(is.mean, is.max);
    is.load_balance_in_node = ratio(is.in_node, is.max);
    is.load_balance_between_nodes = ratio(is.mean, is.in_node);
    is.communication = ratio(is.max, is.run);
    return is;
}

void efficiency_split(struct efficiency *is, double ideal)
{
    /* the replay knows the threads that call MPI alone. Where their team computes longer on average, it says nothing */
    is->split = is->known && !(is->threaded && is->max > 1.01 * ideal);
    is->ideal = is->split ? ideal : 0;
    is->serialization = is->split ? ratio(is->max, ideal) : 0;
    is->transfer = is->split ? ratio(ideal, is->run) : 0;
}

void efficiency_thread(struct efficiency *is, const struct openmp_sums *sums)
{
    double parallel = sums->outside - sums->serial, balanced = parallel - sums->imbalance;
    is->threaded = is->known && sums->threads > sums->processes;
    if (!is->threaded)
        return;
    is->openmp_serial = ratio(parallel, sums->outside);
    is->openmp_balance = ratio(balanced, parallel);
    is->openmp_scheduling = ratio(sums->useful, balanced);
    is->openmp = is->openmp_serial * is->openmp_balance * is->openmp_scheduling;
    is->parallel = is->mpi * is->openmp;
}

/* Calls that were not recorded or not timed would count as useful time. */
static bool is_complete(const struct summary *summary)
{
    bool timed = summary->timed && !summary->timed_mixed;
    bool filtered = summary->filter[0] || summary->filter_mixed;
    return summary->mpi[0] && timed && !filtered;
}

/* Ranks are comparable if recording was off for the same time in all of them. */
static bool is_comparable(double off_least, double off_most, double run)
{
    return off_most - off_least <= 0.01 * run;
}

static bool is_whole(const struct summary *summary)
{
    const struct summary_spread *off = &summary->off_seconds;
    return is_complete(summary) && is_comparable(off->min, off->max, summary->run_seconds.max);
}

const char *efficiency_obstacle(const struct summary *summary)
{
    if (!summary->mpi[0] || !summary->row_count)
        return NULL;
    if (summary->filter[0] || summary->filter_mixed)
        return "a filter leaves out calls";
    if (!is_complete(summary))
        return "not all calls were timed";
    return is_whole(summary) ? NULL : "recording was off for different times on the ranks";
}

struct efficiency summary_efficiency(const struct summary *summary)
{
    struct efficiency_part *parts = is_whole(summary) ? calloc(summary->row_count + 1, sizeof *parts) : NULL;
    size_t count = 0;
    for (size_t i = 0; parts && i < summary->row_count; i++) {
        const struct summary_row *row = &summary->rows[i];
        if (row->threads) /* a process without figures has none */
            parts[count++] =
                (struct efficiency_part){(double)row_recorded_ns(row) * 1e-9, (double)row->useful_ns * 1e-9, row->host};
    }
    struct efficiency is = efficiency_of(parts, parts ? count : 0, summary->host_count);
    free(parts);
    struct openmp_sums sums = summary_openmp_sums(summary);
    efficiency_thread(&is, &sums);
    if (summary->traced.split)
        efficiency_split(&is, (double)summary->traced.ideal_ns * 1e-9);
    return is;
}

/* A process without a row counts as one of the first host. */
static uint32_t rank_host_of(const struct summary *summary, int32_t rank)
{
    const struct summary_row *row = summary_row_of(summary, rank);
    return row ? row->host : 0;
}

struct efficiency summary_phase_efficiency(const struct summary *summary, const struct summary_phase *first,
                                           size_t ranks)
{
    struct efficiency_part *parts = is_complete(summary) ? calloc(ranks + 1, sizeof *parts) : NULL;
    struct efficiency is = {.known = false};
    double off_least = 0, off_most = 0, run = 0;
    for (size_t i = 0; parts && i < ranks; i++) {
        const struct summary_phase *phase = &first[i];
        uint64_t recorded = phase_recorded_ns(phase);
        uint64_t useful = recorded > phase->mpi_ns ? recorded - phase->mpi_ns : 0;
        double off = (double)phase->off_ns * 1e-9;
        parts[i] = (struct efficiency_part){(double)recorded * 1e-9, (double)useful * 1e-9,
                                            rank_host_of(summary, phase->rank)};
        off_least = i == 0 || off < off_least ? off : off_least;
        off_most = off > off_most ? off : off_most;
        run = (double)phase->run_ns * 1e-9 > run ? (double)phase->run_ns * 1e-9 : run;
    }
    if (parts && is_comparable(off_least, off_most, run))
        is = efficiency_of(parts, ranks, summary->host_count + 1);
    free(parts);
    return is;
}
