#include "summary/summary.h"
#include "summary/summarycomms.h"
#include "summary/summaryphases.h"
#include "summary/summarysites.h"

#include <string.h>

/* So many keep a line of their own as long as anything else can go. */
enum { SITES_FEW = 32, COMMS_FEW = 16 };

static size_t fewer(size_t count, size_t least)
{
    return count * 3 / 4 > least ? count * 3 / 4 : least;
}

static bool sites_reduce(struct summary *summary, size_t least)
{
    if (summary->sites.count <= least)
        return false;
    summary_sites_trim(summary, fewer(summary->sites.count, least));
    return true;
}

static bool comms_reduce(struct summary *summary, size_t least)
{
    size_t own = summary->comm_count ? summary->comm_count - 1 : 0; /* the others have a line, at the latest then */
    return own > least && summary_comms_trim(summary, fewer(own, least)) == 0;
}

static bool instruments_reduce(struct summary *summary)
{
    size_t left = fewer(summary->instrument_count, 0), before = summary->instrument_count;
    for (size_t i = left; i < before; i++)
        summary->instruments_left_out += summary->instruments[i].ranks;
    summary->instrument_count = left;
    return left < before;
}

/* Regions are after the phases. Libraries may have many. */
static bool regions_leave_out(struct summary *summary)
{
    size_t left = 0, before = summary->phase_count;
    while (left < before && !summary->phases[left].region)
        left++;
    summary->phase_count = left;
    summary->instruments_left_out += before - left;
    return left < before;
}

/* The phase that took the least time, all ranks together. */
static bool phase_leave_out(struct summary *summary)
{
    size_t least = 0, least_lines = 0;
    uint64_t least_ns = UINT64_MAX;
    for (size_t at = 0, lines; at < summary->phase_count; at += lines) {
        uint64_t ns = 0;
        lines = summary_phase_lines(summary, at);
        for (size_t i = at; i < at + lines; i++)
            ns += summary->phases[i].run_ns;
        if (ns >= least_ns)
            continue;
        least_ns = ns;
        least = at;
        least_lines = lines;
    }
    if (!least_lines)
        return false;
    summary->phase_count -= least_lines;
    summary->instruments_left_out += least_lines;
    memmove(&summary->phases[least], &summary->phases[least + least_lines],
            (summary->phase_count - least) * sizeof *summary->phases);
    return true;
}

/* A line of a communicator takes more room than a call site. */
static bool sites_or_comms_reduce(struct summary *summary)
{
    if (summary->sites.count > 3 * summary->comm_count && sites_reduce(summary, 1))
        return true;
    return comms_reduce(summary, 1) || sites_reduce(summary, 1);
}

/* A quarter of the names, and one at least. */
static bool phases_reduce(struct summary *summary)
{
    size_t names = 0;
    for (size_t at = 0; at < summary->phase_count; at += summary_phase_lines(summary, at))
        names++;
    for (size_t goes = names / 4 + 1; goes > 0 && phase_leave_out(summary); goes--)
        ;
    return names > 0;
}

static bool links_leave_out(struct summary *summary)
{
    bool some = summary->link_count > 0;
    summary->link_count = 0;
    return some;
}

bool summary_reduce(struct summary *summary)
{
    return links_leave_out(summary) || regions_leave_out(summary) || sites_reduce(summary, SITES_FEW) ||
           comms_reduce(summary, COMMS_FEW) || instruments_reduce(summary) || phases_reduce(summary) ||
           sites_or_comms_reduce(summary);
}
