#include "analysis/analysis_report.h"
#include "report/summary_phases.h"
#include "summary/summaryinstruments.h"
#include "summary/summaryphases.h"

#include <stdlib.h>

/* Adds the phases of the rank. `part` is for the instruments of one process. Returns 0, or -1 without memory. */
static int rank_phases_add(struct summary *phases, struct summary *part, const struct run_reader *run, int32_t rank)
{
    int result = summary_instruments_fill(part, &(struct figures){run}, rank);
    if (result == 0)
        result = summary_phases_merge(phases, part);
    summary_release(part);
    return result;
}

/* Only the phases of the summary are filled in. NULL: no memory. */
static struct summary *phases_make(const struct analysis *analysis)
{
    struct summary *phases = calloc(1, sizeof *phases), *part = calloc(1, sizeof *part);
    struct otf2_report report = {.warning_count = 0};
    int result = phases && part ? 0 : -1;
    for (int32_t r = 0; r < analysis->job.size && result == 0; r++) {
        const struct run_reader *run = analysis->job.ranks[r].run;
        if (!run || !selection_has_rank(analysis->selection, r) || trace_run_wake(run, &report) != 0)
            continue;
        phases->sampling = analysis->has_times;
        phases->stall_known = run->header.stall_known;
        result = rank_phases_add(phases, part, run, r);
        run_reader_rest(run);
    }
    free(part);
    if (result != 0 && phases)
        summary_release(phases);
    if (result != 0)
        free(phases);
    return result == 0 ? phases : NULL;
}

int analysis_phases_print(const struct analysis *analysis, FILE *out)
{
    struct summary *phases = phases_make(analysis);
    if (!phases)
        return -1;
    summary_phases_print(phases, out);
    summary_release(phases);
    free(phases);
    return 0;
}

json_t *analysis_phases_json(const struct analysis *analysis)
{
    struct summary *phases = phases_make(analysis);
    json_t *json = phases ? summary_phases_json(phases) : NULL;
    if (phases)
        summary_release(phases);
    free(phases);
    return json;
}
