/*
 * Faults in the live file: somebody may truncate it, or its file system may fail. Memory of this process replaces a
 * page that is gone. So the program goes on, and the loss is counted.
 *
 *   pieces[]   the mapped pieces of the live file. A fault outside of them is the program's, and goes to the handler
 *              that would have got it without mpit
 *
 * The handler of SIGBUS writes into mapped memory and calls mmap. It takes no lock.
 */
#ifndef MPIT_EVENTS_RUNGUARD_H
#define MPIT_EVENTS_RUNGUARD_H

#include "writer/run.h"

/*
 * Handles the faults of this run from now on. Call it again after others may have set a handler. Their handler is then
 * called after ours.
 */
void run_guard(struct run *run);

/* Reports a mapped piece. Called with the run's lock, or before other threads know the run. */
void run_guard_add(const void *memory, size_t bytes);

/* Keeps a copy of the header in case its page is lost. */
void run_guard_remember(const struct run *run);

#endif
