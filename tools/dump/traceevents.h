/*
 * Converts run files of one job to Chrome's trace-event format (JSON), which Perfetto, chrome://tracing and speedscope
 * read. share/doc/outputs.md describes the fields.
 *
 *   for each thread: call_stream ──> nest ──> B, E      calls and regions, outer ones first
 *                                   schedule ─┘ C       samples
 *   analysis ──> s, f                                   an arrow for each message
 *
 * A begin names its stack by the number of its innermost frame ("sf"). Each frame is written once, with the number of
 * its caller ("stackFrames").
 *
 * Begin and end are separate events (B, E), and not one event with a duration (X). A reader would add begin and
 * duration in floating point. If two ends are in the same nanosecond, the sums may differ, and the reader would see
 * overlapping calls.
 *
 * Memory does not grow with the length of the trace. There are two exceptions: regions and samples
 * (traceinstruments.h), and the analysis's memory for messages under way.
 */
#ifndef MPIT_TOOLS_TRACEEVENTS_H
#define MPIT_TOOLS_TRACEEVENTS_H

#include "trace/tracereport.h"
#include "job/rundir.h"
#include "job/select.h"

#include <jansson.h>
#include <stdio.h>

struct trace_events {
    FILE *out;
    uint64_t written; /* events, metadata and all */
    uint64_t flows;
    int64_t first_pid; /* of the next job: its rank 0 */
    json_t *frames;    /* of the stacks, by number. Written at the end */
    json_t *numbers;   /* of these frames, by caller and text */
};

/* Writes the text before the first job, and after the last one. */
void trace_events_begin(struct trace_events *events, FILE *out);
void trace_events_end(struct trace_events *events);
/* Writes the selected events of a job. `title` is added to the names of its processes. It is "" if there is only one
 * job. Returns 0, or -1 with the report's error set. */
int trace_events_write(struct trace_events *events, const struct run_job *job, const struct selection *selection,
                       const char *title, struct otf2_report *report);

#endif
