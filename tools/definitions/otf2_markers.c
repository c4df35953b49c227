#include "definitions/otf2_markers.h"

#include "definitions/otf2_content.h"
#include "reader/readergaps.h"

#include <inttypes.h>
#include <stdio.h>

enum { MARKER_GAP = 0 };

struct markers {
    OTF2_Archive *archive;
    OTF2_MarkerWriter *writer; /* NULL: there was nothing to mark yet */
    OTF2_ErrorCode error;
};

static void writer_open(struct markers *markers)
{
    if (markers->writer)
        return;
    markers->writer = OTF2_Archive_GetMarkerWriter(markers->archive);
    markers->error = markers->writer ? OTF2_MarkerWriter_WriteDefMarker(markers->writer, MARKER_GAP, "mpit",
                                                                        "events are missing", OTF2_SEVERITY_HIGH)
                                     : OTF2_ERROR_MEM_FAULT;
}

/* Times are job times, like all times outside a location's events. */
static void gap_write(struct markers *markers, const struct trace_job *job, int32_t r, const struct run_gap *gap,
                      const char *cause)
{
    const struct trace_rank *rank = &job->ranks[r];
    uint64_t begin = trace_time(job, rank, gap->begin_ticks), end = trace_time(job, rank, gap->end_ticks);
    char text[GAP_CAUSE_BYTES + 96];
    snprintf(text, sizeof text, "%" PRIu64 " events of rank %" PRId32 ", thread %" PRIu32 " are missing (%s)",
             gap->count, r, gap->thread, cause);
    writer_open(markers);
    if (markers->error == OTF2_SUCCESS)
        markers->error =
            OTF2_MarkerWriter_WriteMarker(markers->writer, begin, end > begin ? end - begin : 0, MARKER_GAP,
                                          OTF2_MARKER_SCOPE_LOCATION, trace_location(r, gap->thread), text);
}

static int rank_mark(struct markers *markers, const struct trace_job *job, int32_t r, struct otf2_report *report)
{
    const struct run_reader *run = job->ranks[r].run;
    struct run_gaps gaps;
    char cause[GAP_CAUSE_BYTES];
    if (trace_run_wake(run, report) != 0)
        return -1;
    int result = run_gaps_find(&gaps, run) == 0 ? 0 : report_no_memory(report);
    for (size_t i = 0; result == 0 && i < gaps.count; i++) {
        run_gap_cause(run, &gaps.list[i], cause);
        if (job->ranks[r].written[gaps.list[i].thread])
            gap_write(markers, job, r, &gaps.list[i], cause);
    }
    run_gaps_release(&gaps);
    run_reader_rest(run);
    return result;
}

int trace_markers_write(OTF2_Archive *archive, const struct trace_job *job, struct otf2_report *report)
{
    struct markers markers = {.archive = archive, .error = OTF2_SUCCESS};
    int result = 0;
    for (int32_t r = 0; result == 0 && markers.error == OTF2_SUCCESS && r < job->size; r++)
        if (job->ranks[r].run && !job->ranks[r].left_out && !job->ranks[r].complete)
            result = rank_mark(&markers, job, r, report);
    if (markers.writer) {
        OTF2_ErrorCode closed = OTF2_Archive_CloseMarkerWriter(archive, markers.writer);
        markers.error = markers.error == OTF2_SUCCESS ? closed : markers.error;
    }
    if (markers.error != OTF2_SUCCESS)
        return report_error(report, "the markers could not be written: %s", OTF2_Error_GetDescription(markers.error));
    return result;
}
