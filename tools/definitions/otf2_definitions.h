/*
 * The definitions of an archive. They are written last, because they contain the number of events of each location, the
 * used regions and communicators, and the length of the trace. Readers read them first.
 */
#ifndef MPIT_TOOLS_OTF2_DEFINITIONS_H
#define MPIT_TOOLS_OTF2_DEFINITIONS_H

#include "trace/tracecomms.h"
#include "definitions/otf2_objects.h"
#include "definitions/otf2_strings.h"
#include "archive/team.h"

#include <otf2/otf2.h>

/* OTF2 knows three types of metrics. */
static inline OTF2_Type trace_metric_type(uint32_t type)
{
    return type == MPIT_TYPE_DOUBLE ? OTF2_TYPE_DOUBLE : type == MPIT_TYPE_INT ? OTF2_TYPE_INT64 : OTF2_TYPE_UINT64;
}

/* All processes of the team call this. Each writes the definitions of its own locations. The first also writes the
 * global ones. Returns 0, or -1 with the report's error set. */
int trace_definitions_write(OTF2_Archive *archive, const struct trace_job *job, const struct trace_comms *comms,
                            struct trace_objects *objects, struct trace_strings *strings, const struct team *team,
                            struct otf2_report *report);

#endif
