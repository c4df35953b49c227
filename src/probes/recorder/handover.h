/*
 * Hands over what a process recorded when its run has ended.
 *
 * A process only marks its live file as ended. The one that finds no other process of its job at work on this node runs
 * mpit-collect, which makes the node's part of the results out of the live files. It waits until they can be
 * seen, and no longer than mpit-collect gets on: where that has done nothing for a second, it goes on by itself.
 */
#ifndef MPIT_PROBES_HANDOVER_H
#define MPIT_PROBES_HANDOVER_H

/* A traced run begins: mpit-collect will move what the spool cannot hold to the output directory. */
void handover_drain(const char *spool, const char *output);

/* The run has ended, in a process that lies in `spool` ("": it has none) and writes to `output`. */
void handover_end(const char *spool, const char *output);

#endif
