/*
 * Collects in a separate process, so that mpit-run does not wait for a file system that does not answer.
 */
#ifndef MPIT_TOOLS_COLLECTCHILD_H
#define MPIT_TOOLS_COLLECTCHILD_H

#include "collect/collect.h"

enum collect_end {
    COLLECT_DONE,
    COLLECT_FAILED, /* problem[] has the reason */
    COLLECT_STUCK,  /* it continues alone, once the file system answers */
};

/* Collects the spools of an output directory. Waits until the child ends, or has read and written nothing for
 * `patience_ms`. Call it in a process with one thread. */
enum collect_end collect_child(const char *output, const struct collect_wish *wish, int patience_ms,
                               struct collected *sum, char problem[COLLECT_PROBLEM_BYTES]);

#endif
