/*
 * Summaries in sections of job files, and names that are stored with a job (storednames.h).
 */
#ifndef MPIT_TOOLS_SUMMARYFILE_H
#define MPIT_TOOLS_SUMMARYFILE_H

#include "jobfile/jobindex.h"
#include "summary/summary.h"

#include <sys/types.h>

/* No summary is larger: SUMMARY_COMMS_MAX communicators of some 2 KiB, or names (storednames.c). */
enum { SUMMARY_BYTES_MAX = 64 << 20 };

/* Makes the section of a summary, which the caller frees. Parts without room are left out, or share a line
 * (MPIT_SUMMARY_LIMIT_BYTES, summary_reduce).
 * NULL: errno is ENOMEM, or EFBIG, as no reader would accept it. */
struct section_header *summary_section_make(struct summary *summary, enum section_kind kind);
/* Likewise, with all that is in it. */
struct section_header *summary_section_make_whole(const struct summary *summary, enum section_kind kind);

/* Reads a summary. Returns 0, or -1 with a reason. *owner is set if the file could be opened. */
int summary_part_read(struct summary *summary, const char *path, struct run_extent extent, uid_t *owner,
                      char error[128]);

/* Reads the summary of all processes of a job file, in one look at the file. JOB_SUMMARY_NONE: it is no job file, or has no
 * such section. JOB_SUMMARY_BROKEN: with a reason. *owner is set unless the file could not be read. */
enum job_summary { JOB_SUMMARY_NONE, JOB_SUMMARY_READ, JOB_SUMMARY_BROKEN };
enum job_summary job_summary_read(struct summary *summary, const char *path, struct run_extent which, uid_t *owner,
                                  char error[128]);

#endif
