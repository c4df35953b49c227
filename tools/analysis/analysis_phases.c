#include "analysis/analysis.h"
#include "trace/tracereport.h"
#include "summary/summary.h"

#include <stdlib.h>
#include <string.h>

static bool has_phases(const struct trace_instruments *instruments)
{
    for (uint32_t i = 0; i < instruments->region_count; i++)
        if (strncmp(instruments->regions[i]->name, PHASE_PREFIX, sizeof PHASE_PREFIX - 1) == 0)
            return true;
    return false;
}

/* `part` is for the summary of one rank. */
static int ranks_merge(struct analysis *analysis, struct summary *part)
{
    int result = 0;
    for (int32_t r = 0; r < analysis->job.size && result == 0; r++) {
        const struct run_reader *run = analysis->job.ranks[r].run;
        if (!run || !selection_has_rank(analysis->selection, r))
            continue;
        if (trace_run_wake(run, &analysis->report) != 0)
            return -1;
        if (summary_of_run(part, run) != 0 || summary_merge(analysis->phases, part) != 0)
            result = report_no_memory(&analysis->report);
        summary_release(part);
        run_reader_rest(run);
    }
    return result;
}

int analysis_join_phases(struct analysis *analysis)
{
    if (selection_cuts_calls(analysis->selection))
        return 0;
    struct summary *part = calloc(1, sizeof *part);
    analysis->phases = calloc(1, sizeof *analysis->phases);
    int result = part && analysis->phases ? 0 : report_no_memory(&analysis->report);
    if (result == 0 && has_phases(&analysis->job.instruments))
        result = ranks_merge(analysis, part);
    free(part);
    return result;
}

void analysis_phases_release(struct analysis *analysis)
{
    if (analysis->phases)
        summary_release(analysis->phases);
    free(analysis->phases);
}
