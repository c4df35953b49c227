/*
 * The past owners of slots: records of communicators that have lost theirs (runfile.h, comm_past). The run file has the
 * latest. Before a record is overwritten that a trace needs, all of them are appended to the trace.
 *
 * All functions are called under the registry's lock.
 */
#ifndef MPIT_AGGREGATE_COMMPAST_H
#define MPIT_AGGREGATE_COMMPAST_H

#include "format/runfile.h"

#include <stdbool.h>

/* Makes room for the records, once. Returns false without memory (counted). */
bool comm_past_open(void);
/* Stores a copy of a record, with the time of its last event and the slot of its sum. */
void comm_past_add(const struct comm_record *record, uint64_t end_ticks, uint32_t sum);

#endif
