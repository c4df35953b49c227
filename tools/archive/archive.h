/*
 * From a run directory to OTF2: which jobs can be converted, and the places of their archives.
 */
#ifndef MPIT_TOOLS_ARCHIVE_H
#define MPIT_TOOLS_ARCHIVE_H

#include "archive/otf2.h"
#include "job/rundir.h"
#include "job/select.h"

/* 0 if the target does not exist yet and can be made, else -1 with a reason. */
int archive_target_check(const char *target, char error[512]);

/*
 * Writes the archive of the run's job to `target`, a directory that must not exist. The archives of several jobs go to
 * target/JOB. Returns 0, or -1 with a reason. After an error no part of the archive is left. A signal that came
 * meanwhile (interrupt.h) ends the tool in the end. With a team, all its processes call this.
 */
int archive_write(const struct run_dir *dir, const char *target, const struct otf2_manner *manner, char error[512]);

#endif
