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

#include <stdbool.h>

/* Makes that file for a live file and its header. Returns a descriptor, or -1: the process runs, nothing was drained, there is no
 * room for the file, or a collector has the spool. Then *busy is set, and the next call does not wait for it again. */
MUST_CHECK int drained_run_open(const struct run_header *header, const char *path, bool *busy);

#endif
