/*
 * One file for a job: its summaries become one, or all of its files become a container (container.h).
 *
 *   HOST.1.mpit HOST.2.mpit HOST.1.summary JOB.names   ──>   HOST.1.mpit.part   ──rename──>   HOST.1.mpit; the others go
 *
 * Every step leaves all data readable. One process at a time joins in a directory (flock). Before the rename each piece
 * must still be the file that was read.
 */
#ifndef MPIT_TOOLS_JOIN_H
#define MPIT_TOOLS_JOIN_H

#include "job/rundir.h"

/* Makes one file of the files of a job in the directory. `compress` makes run files compact before (compaction.h). Files
 * stay as they are if one of them is elsewhere, cannot be read, or belongs to another user. The new file has the access of
 * one of them. Returns 0, or -1 with errno: EWOULDBLOCK if another process joins. After an error the files
 * stay. */
int run_job_join(const struct run_dir *dir, const struct run_job *job, bool compress);

/* Removes what a killed process has left in the directory: files that a container has, and files that were not complete. Does
 * nothing while another process joins. */
void run_dir_tidy(const struct run_dir *dir);

/* Takes the files out of the containers of all jobs, into a directory. It is made if it is missing. An existing file
 * stays. Returns 0, or -1 with a reason. */
int run_dir_unpack(const struct run_dir *dir, const char *to, char error[512]);

#endif
