#include "summary/summaryphases.h"

#include "base/array.h"
#include "format/label.h"
#include "summaryreading.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int phase_name_order(const struct summary_phase *a, const struct summary_phase *b)
{
    return ORDER(a->region, b->region) ?: strcmp(a->name, b->name);
}

static int phase_order(const struct summary_phase *a, const struct summary_phase *b)
{
    return phase_name_order(a, b) ?: ORDER(a->rank, b->rank);
}

size_t summary_phase_lines(const struct summary *summary, size_t first)
{
    size_t end = first;
    while (end < summary->phase_count && phase_name_order(&summary->phases[first], &summary->phases[end]) == 0)
        end++;
    return end - first;
}

int summary_phase_add(struct summary *summary, const struct summary_phase *phase)
{
    struct summary one = {.phases = (struct summary_phase *)(uintptr_t)phase, .phase_count = 1};
    return summary_phases_merge(summary, &one);
}

/* Returns true if the summary of a process has room for it: a region on another communicator has its line. */
static bool has_room(const struct summary *summary, const struct summary_phase *phase)
{
    size_t kind = 0;
    for (size_t i = 0; i < summary->phase_count; i++) {
        if (phase_order(&summary->phases[i], phase) == 0)
            return true;
        kind += summary->phases[i].region == phase->region;
    }
    return kind < (phase->region ? SUMMARY_REGIONS_MOST : SUMMARY_PHASES_MOST);
}

int summary_phase_fill(struct summary *summary, const char *name, bool is_phase, int32_t rank,
                       const struct region_cells *sum, struct clock_scale scale)
{
    struct summary_phase phase = {.rank = rank, .region = !is_phase};
    summary_phase_read(&phase, sum, scale);
    if (is_phase && strncmp(name, PHASE_PREFIX, sizeof PHASE_PREFIX - 1) == 0)
        name += sizeof PHASE_PREFIX - 1;
    snprintf(phase.name, sizeof phase.name, "%s", name);
    return sum->count && has_room(summary, &phase) ? summary_phase_add(summary, &phase) : 0;
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
            summary_phase_sum(&phases[count], b); /* processes without a rank of their own share a line */
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
        if (summary->phases[i].rank < -1 || summary->phases[i].region > 1 ||
            (i && phase_order(&summary->phases[i - 1], &summary->phases[i]) >= 0))
            return false;
    }
    return true;
}
