/*
 * Regions of the program's functions, derived from the call paths of consecutive calls (--otf2-callpaths).
 */
#ifndef MPIT_TOOLS_OTF2_FUNCTIONS_H
#define MPIT_TOOLS_OTF2_FUNCTIONS_H

#include "archive/otf2_events.h"

/*
 * Leaves the functions that are not on the new path, at `left`, and enters the others, at `now`. A function goes on if
 * both paths have it at the same depth, called from the same line of the same callers. NO_CONTEXT leaves all.
 */
void functions_switch(struct trace_location *location, uint32_t context, OTF2_TimeStamp left, OTF2_TimeStamp now);

#endif
