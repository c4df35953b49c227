/* Threads of OpenMP that are idle. What OpenMP does not tell, findings_ranks.c has from processor time. */
#include "findings/findings_rules.h"

#include "base/units.h"
#include "report/summary_openmp.h"

#include <inttypes.h>
#include <stddef.h>

/* Idle time of all threads of a rank, and what the place of a region has of it: where it is in both. */
struct idle {
    size_t in_row, in_site;
};

#define IDLE(of_row, of_site)                                                                                          \
    {                                                                                                                  \
        offsetof(struct summary_row, openmp.of_row), offsetof(struct summary_site, of_site)                            \
    }

static uint64_t idle_ns(const void *is, size_t place)
{
    return *(const uint64_t *)((const char *)is + place);
}

/* By how much it would be outside of MPI for a shorter time. */
static double saved_of(const struct summary_row *row, struct idle idle)
{
    return row->openmp.threads > 1 ? seconds_of(idle_ns(row, idle.in_row)) / (double)row->openmp.threads : 0;
}

/* The rank that has most of it. NULL: none, or it costs too little. */
static const struct summary_row *idle_row_find(const struct facts *facts, struct idle idle, struct finding *finding)
{
    const struct summary_row *worst = NULL;
    double most = 0, even = 0;
    for (size_t i = 0; i < facts->summary->row_count; i++) {
        const struct summary_row *row = &facts->summary->rows[i];
        double saved = saved_of(row, idle);
        most = useful_of(row) > most ? useful_of(row) : most;
        even = useful_of(row) - saved > even ? useful_of(row) - saved : even;
        if (saved > 0 && (!worst || saved > saved_of(worst, idle)))
            worst = row;
    }
    finding->seconds = most - even;
    if (!worst || finding->seconds < LEAST_SHARE * facts->run)
        return NULL;
    rank_list_add(&finding->causes, worst->rank);
    return worst;
}

static void gain_append(const struct facts *facts, struct finding *finding, const char *how)
{
    char run[UNIT_TEXT_BYTES], shorter[UNIT_TEXT_BYTES];
    finding_append(finding, " %s, the run would take %s in place of %s.", how,
                   text_of_seconds(shorter, facts->run - finding->seconds), text_of_seconds(run, facts->run));
}

/* The region that has most of it, with `word` in front. */
static void idle_region_append(const struct facts *facts, struct finding *finding, struct idle idle, const char *word)
{
    const struct summary_sites *sites = &facts->summary->parallel;
    const struct summary_site *most = NULL;
    char place[SITE_PLACE_BYTES];
    for (uint64_t i = 0; i < sites->count; i++)
        if (idle_ns(&sites->list[i], idle.in_site) &&
            (!most || idle_ns(&sites->list[i], idle.in_site) > idle_ns(most, idle.in_site)))
            most = &sites->list[i];
    if (most && most->frame_count)
        finding_append(finding, ", most %s the region at %.*s", word, PLACE_TEXT_BYTES,
                       parallel_place_text(facts->summary, most, place));
    finding_append(finding, ".");
}

/* True if a good part of the idle time is in regions that have fewer threads than others: it has another cause. */
static bool teams_differ(const struct summary_row *row)
{
    double alone =
        (double)row->run_ns - (double)row->openmp.parallel_ns - (double)row->mpi_ns + (double)row->openmp.mpi_ns;
    return (double)row->openmp.serial_ns > 1.1 * (double)(row->openmp.threads - 1) * (alone > 0 ? alone : 0);
}

bool find_serial_part(struct facts *facts, struct finding *finding)
{
    const struct idle idle = IDLE(serial_ns, serial_ns);
    const struct summary_row *row = idle_row_find(facts, idle, finding);
    char alone[UNIT_TEXT_BYTES];
    if (!row || teams_differ(row))
        return false;
    finding_append(finding,
                   "%" PRIu64 " of %" PRIu64 " threads of rank %" PRId32 " are idle for %s outside of parallel regions",
                   row->openmp.threads - 1, row->openmp.threads, row->rank,
                   text_of_seconds(alone, seconds_of(row->openmp.serial_ns) / (double)(row->openmp.threads - 1)));
    idle_region_append(facts, finding, idle, "after");
    gain_append(facts, finding, "Shared by all");
    return true;
}

bool find_openmp_imbalance(struct facts *facts, struct finding *finding)
{
    const struct idle idle = IDLE(imbalance_ns, stall_ns);
    const struct summary_row *row = idle_row_find(facts, idle, finding);
    char mean[UNIT_TEXT_BYTES];
    if (!row ||
        2 * row->openmp.threads * row->openmp.mpi_ns > row->openmp.imbalance_ns) /* they may wait for a thread in MPI */
        return false;
    finding_append(finding, "Threads of rank %" PRId32 " wait %s on average for the slowest thread of a region",
                   row->rank, text_of_seconds(mean, saved_of(row, idle)));
    idle_region_append(facts, finding, idle, "in");
    gain_append(facts, finding, "In balance");
    return true;
}

bool find_openmp_overhead(struct facts *facts, struct finding *finding)
{
    const struct idle idle = IDLE(overhead_ns, overhead_ns);
    const struct summary_row *row = idle_row_find(facts, idle, finding);
    char mean[UNIT_TEXT_BYTES];
    if (!row)
        return false;
    finding_append(
        finding, "Threads of rank %" PRId32 " wait %s each in parallel regions, though none is slower than the others",
        row->rank, text_of_seconds(mean, saved_of(row, idle)));
    idle_region_append(facts, finding, idle, "in");
    gain_append(facts, finding, "Without that");
    return true;
}
