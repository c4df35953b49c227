#include "analysis/analysis_report.h"
#include "report/summary_phases.h"
#include "summary/summary.h"

#include <stdlib.h>

/* The summary of the ranks that are analysed. NULL: no memory. */
static struct summary *whole_make(const struct analysis *analysis)
{
    struct summary *whole = calloc(1, sizeof *whole), *part = calloc(1, sizeof *part);
    struct otf2_report report = {.warning_count = 0};
    int result = whole && part ? 0 : -1;
    for (int32_t r = 0; r < analysis->job.size && result == 0; r++) {
        const struct run_reader *run = analysis->job.ranks[r].run;
        if (!run || !selection_has_rank(analysis->selection, r) || trace_run_wake(run, &report) != 0)
            continue;
        result = summary_of_run(part, run);
        if (result == 0)
            result = summary_merge(whole, part);
        summary_release(part);
        run_reader_rest(run);
    }
    free(part);
    if (result != 0 && whole)
        summary_release(whole);
    if (result != 0)
        free(whole);
    return result == 0 ? whole : NULL;
}

int analysis_phases_print(const struct analysis *analysis, FILE *out)
{
    struct summary *whole = whole_make(analysis);
    if (!whole)
        return -1;
    summary_phases_print(whole, out);
    summary_release(whole);
    free(whole);
    return 0;
}

json_t *analysis_phases_json(const struct analysis *analysis)
{
    struct summary *whole = whole_make(analysis);
    json_t *json = whole ? summary_phases_json(whole) : NULL;
    if (whole)
        summary_release(whole);
    free(whole);
    return json;
}
