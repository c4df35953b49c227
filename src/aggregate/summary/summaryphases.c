#include "summary/summaryphases.h"

#include "format/label.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int phase_order(const struct summary_phase *a, const struct summary_phase *b)
{
    int order = strcmp(a->name, b->name);
    return order ? order : (a->rank > b->rank) - (a->rank < b->rank);
}

/* Processes without a rank of their own share a line. */
static void phase_sum(struct summary_phase *to, const struct summary_phase *from)
{
    to->count += from->count;
    to->calls += from->calls;
    to->run_ns += from->run_ns;
    to->off_ns += from->off_ns;
    to->mpi_ns += from->mpi_ns;
    to->stall_ns += from->stall_ns;
}

int summary_phase_add(struct summary *summary, const struct summary_phase *phase)
{
    struct summary one = {.phases = (struct summary_phase *)(uintptr_t)phase, .phase_count = 1};
    return summary_phases_merge(summary, &one);
}

int summary_phase_fill(struct summary *summary, const char *name, int32_t rank, const struct region_cells *sum,
                       struct clock_scale scale)
{
    const size_t prefix = sizeof PHASE_PREFIX - 1;
    struct summary_phase phase = {.rank = rank,
                                  .count = sum->count,
                                  .calls = sum->calls,
                                  .run_ns = clock_ns(scale, sum->time),
                                  .off_ns = clock_ns(scale, sum->off_time),
                                  .mpi_ns = clock_ns(scale, sum->mpi_time),
                                  .stall_ns = clock_ns(scale, sum->stall_time)};
    if (summary->phase_count >= SUMMARY_PHASES_MOST || !sum->count)
        return 0; /* the recorder makes no more */
    snprintf(phase.name, sizeof phase.name, "%s", strncmp(name, PHASE_PREFIX, prefix) == 0 ? name + prefix : name);
    return summary_phase_add(summary, &phase);
}

int summary_phases_merge(struct summary *summary, const struct summary *other)
{
    size_t mine = 0, theirs = 0, count = 0, most = summary->phase_count + other->phase_count;
    struct summary_phase *phases = other->phase_count ? calloc(most, sizeof *phases) : NULL;
    if (!other->phase_count)
        return 0;
    if (!phases)
        return -1;
    while (mine < summary->phase_count || theirs < other->phase_count) {
        const struct summary_phase *a = mine < summary->phase_count ? &summary->phases[mine] : NULL;
        const struct summary_phase *b = theirs < other->phase_count ? &other->phases[theirs] : NULL;
        int order = !a ? 1 : !b ? -1 : phase_order(a, b);
        phases[count] = order <= 0 ? *a : *b;
        if (order == 0)
            phase_sum(&phases[count], b);
        mine += order <= 0;
        theirs += order >= 0;
        count++;
    }
    free(summary->phases);
    summary->phases = phases;
    summary->phase_count = count;
    return 0;
}

bool summary_phases_are_sound(struct summary *summary)
{
    for (size_t i = 0; i < summary->phase_count; i++) {
        text_tidy(summary->phases[i].name, sizeof summary->phases[i].name);
        if (summary->phases[i].rank < -1 || (i && phase_order(&summary->phases[i - 1], &summary->phases[i]) >= 0))
            return false;
    }
    return true;
}
