/*
 * Copies of the preload library, of one ABI or of several, that stand in one process: the first that comes to record
 * keeps the others from it, as two would count each call twice.
 */
#ifndef MPIT_PROBES_COPY_H
#define MPIT_PROBES_COPY_H

#include <stdbool.h>

/* This copy would record. True: another one does already, which is told. */
bool copy_is_second(void);
/* Is it this copy that records in this process? Async-signal-safe. */
bool copy_records(void);
/* Is it any? */
bool copy_any_records(void);

#endif
