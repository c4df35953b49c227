/* Is there in a run what a selection asks for? What is not there would make an empty output, and no error. */
#ifndef MPIT_TOOLS_SELECTCHECK_H
#define MPIT_TOOLS_SELECTCHECK_H

#include "job/rundir.h"
#include "job/select.h"

/* 0, or -1 with what no job of the run has, and what there is, in `problem`. A run without run files passes: what there
 * is of it is not known. */
int selection_check(const struct selection *selection, const struct run_dir *dir, char problem[SELECT_PROBLEM_BYTES]);

#endif
