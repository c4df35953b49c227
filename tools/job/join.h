/*
 * One file for a job: its summaries become one, or all of its files become a container (container.h).
 *
 *   HOST.1.mpit HOST.2.mpit HOST.1.summary JOB.names   ──>   HOST.1.mpit.part   ──rename──>   HOST.1.mpit; the others go
 *
 * Every step leaves all data readable. Two who join at once do not meet: the file .part is made by one of them, and each
 * piece must still be the file that was read.
 */
#ifndef MPIT_TOOLS_JOIN_H
#define MPIT_TOOLS_JOIN_H

#include "job/rundir.h"

/* Joins the files of a job in the directory. A job stays as it is if it has one file already, if a file of it is
 * elsewhere, cannot be read, or belongs to another user, or while somebody else joins it. Returns 0, or -1 with errno. After an error its
 * files stay. The job can still be read, as its files are mapped, but its pieces are those of before. */
int run_job_join(const struct run_dir *dir, const struct run_job *job);

/* Takes the files out of the containers of all jobs, into a directory. It is made if it is missing. An existing file
 * stays. Returns 0, or -1 with a reason. */
int run_dir_unpack(const struct run_dir *dir, const char *to, char error[512]);

#endif
