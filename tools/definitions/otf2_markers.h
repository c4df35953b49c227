/* Markers of an archive: one for each gap, with the number of missing events and the reason (readergaps.h). */
#ifndef MPIT_TOOLS_OTF2_MARKERS_H
#define MPIT_TOOLS_OTF2_MARKERS_H

#include "trace/tracejob.h"

#include <otf2/otf2.h>

/* Writes the markers of all processes of the job. Call it when the locations are known. An archive without gaps gets no
 * markers. Returns 0, or -1 with report->error set. */
int trace_markers_write(OTF2_Archive *archive, const struct trace_job *job, struct otf2_report *report);

#endif
