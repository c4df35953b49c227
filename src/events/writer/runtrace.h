/*
 * Functions that the two halves of the writer share. run.c makes the file and maps pieces of it. runtrace.c appends the
 * trace to it. The caller of each function holds the run's lock.
 */
#ifndef MPIT_EVENTS_RUNTRACE_H
#define MPIT_EVENTS_RUNTRACE_H

#include "writer/run.h"

static inline size_t run_pages(size_t bytes)
{
    return (bytes + RUN_PAGE_BYTES - 1) / RUN_PAGE_BYTES * RUN_PAGE_BYTES;
}

bool run_is_valid(const struct run *run);

/* Returns the file's descriptor, which the caller must release. -1 with errno. */
int run_file_hold(struct run *run);
void run_file_release(const struct run *run, int fd);

/* Like run_gap, without counting and locking. */
void run_gap_note(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count);

/* Reports an error of the file, and returns the cause to count. */
enum loss_cause run_file_trouble(struct run *run, int error);
/* Half written data cannot be cut off, so the file is not continued. */
void run_tear(struct run *run, int error);
/* The errno that broke a file that does not grow any more. */
int run_broken_by(const struct run *run);

#endif
