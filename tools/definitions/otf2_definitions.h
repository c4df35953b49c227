/*
 * The definitions of an archive. They are written last, when it is known how many events each location has, which
 * regions and communicators they use, and how long the trace is; readers read them first.
 */
#ifndef MPIT_TOOLS_OTF2_DEFINITIONS_H
#define MPIT_TOOLS_OTF2_DEFINITIONS_H

#include "definitions/otf2_communicators.h"
#include "definitions/otf2_objects.h"
#include "definitions/otf2_strings.h"
#include "archive/team.h"

#include <otf2/otf2.h>

/* All of the team: each those of the locations it has written, the first the global ones. Returns 0, or -1 with the
 * report's error set. */
int trace_definitions_write(OTF2_Archive *archive, const struct trace_job *job, const struct trace_comms *comms,
                            struct trace_objects *objects, struct trace_strings *strings, const struct team *team,
                            struct otf2_report *report);

#endif
