/*
 * A live file whose trace was drained (jobfile/drained.h), as one file again, before anybody collects it.
 *
 *   live file in the spool ─┐
 *   OUTPUT/NAME.mpit.part ──┴─> packed run in a temporary file that has no name
 */
#ifndef MPIT_TOOLS_DRAINEDRUN_H
#define MPIT_TOOLS_DRAINEDRUN_H

#include "base/linkage.h"
#include "format/runfile.h"

/* Makes that file for a live file and its header. Returns a descriptor, or -1: the process runs, nothing was drained, or a
 * collector brings it just now. */
MUST_CHECK int drained_run_open(const struct run_header *header, const char *path);

#endif
