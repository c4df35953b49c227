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

/* The file's descriptor, to be released; -1 with errno. */
int run_file_hold(struct run *run);
void run_file_release(const struct run *run, int fd);

/* run_gap, without its count and its lock. */
void run_gap_note(struct run *run, enum loss_cause cause, uint32_t thread, uint64_t first, uint64_t count);

/* Says what is wrong, and returns what to count it as. */
enum loss_cause run_file_trouble(struct run *run, int error);
/* What is half written cannot be cut off: the file is not continued. */
void run_tear(struct run *run, int error);
/* The errno with which a file broke that does not grow any more. */
int run_broken_by(const struct run *run);

#endif
