/* Checks whether a run contains the selected parts. A missing part would make an empty output without an error. */
#ifndef MPIT_TOOLS_SELECTCHECK_H
#define MPIT_TOOLS_SELECTCHECK_H

#include "job/rundir.h"
#include "job/select.h"

/* Returns 0, or -1 with a text in `problem`: the missing part, and the available ones. A run without run files passes,
 * because its contents are not known. */
int selection_check(const struct selection *selection, const struct run_dir *dir, char problem[SELECT_PROBLEM_BYTES]);

#endif
