/*
 * The part of a summary for communicators: a line for each, sorted by name. If there are too many, the first names keep
 * their lines: MPI_COMM_WORLD and the like, sums, and then the others in the order of their names. All others share the
 * line "(other communicators)".
 *
 * This order is the same in all processes. So a line has all ranks of its communicator, in any order of merging. Only a
 * summary that has all ranks of its job is trimmed further.
 */
#ifndef MPIT_AGGREGATE_SUMMARYCOMMS_H
#define MPIT_AGGREGATE_SUMMARYCOMMS_H

#include "figures/figures.h"
#include "summary/summary.h"

/* These return 0, or -1 without memory. */
int summary_comms_fill(struct summary *summary, const struct figures *from);
int summary_comms_merge(struct summary *summary, const struct summary *other);
/* At most `most` communicators keep a line of their own. */
int summary_comms_trim(struct summary *summary, size_t most);

/* Returns the line that has this communicator: its own, or that of the others. NULL: none has. `name` as in a run file. */
struct summary_comm *summary_comm_of(const struct summary *summary, const char name[COMM_NAME_BYTES]);

#endif
