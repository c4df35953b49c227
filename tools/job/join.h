/*
 * One file for a job: the job files of its nodes become one, with a copy of each section.
 *
 *   HOST1.JOB.mpit HOST2.JOB.mpit   ──>   HOST1.JOB.mpit.part-XXXXXX   ──>   HOST1.JOB.1.mpit; the others go
 *
 * Every step leaves all data readable. One process at a time joins in a directory (flock). Each file must still be the
 * file that was read, before the new one gets a free name, and before it goes. In the end the new one gets its name.
 */
#ifndef MPIT_TOOLS_JOIN_H
#define MPIT_TOOLS_JOIN_H

#include "base/linkage.h"
#include "format/jobfile.h"
#include "job/rundir.h"

/* Makes one job file of the files of a job in the directory, which may be live files, too. If the trace goes
 * (run_job.trace_goes), the summary takes the place of the processes. Files stay as they are if one of them is elsewhere,
 * cannot be read, or belongs to another user. The new file has the access of one of them. Returns 0, or -1 with errno:
 * EWOULDBLOCK if another process joins. After an error the files stay. */
MUST_CHECK int run_job_join(const struct run_dir *dir, const struct run_job *job);

/* Returns whether all of the job is in one job file. */
bool run_job_is_one_file(const struct run_job *job);

/* Appends a section to a file of the job. Returns as above. ENOENT: the job has no job file. */
MUST_CHECK int run_job_append(const struct run_dir *dir, const struct run_job *job,
                              const struct section_header *section);

/* Removes what a killed process has left in the directory: files that were joined, and files that were not complete. Does
 * nothing while another process joins. */
void run_dir_tidy(const struct run_dir *dir);

#endif
