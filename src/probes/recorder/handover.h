/*
 * Hands over the records of a process when its run has ended.
 *
 * A process only marks its live file as ended. Sometimes it finds no other process of its job at work on this node.
 * Then it runs mpit-collect, which makes the node's part of the results from the live files. The process waits until
 * the results can be seen. If mpit-collect has done nothing for 0.8 seconds, the process goes on by itself.
 */
#ifndef MPIT_PROBES_HANDOVER_H
#define MPIT_PROBES_HANDOVER_H

/* A traced run begins: mpit-collect will move the data that the spool cannot hold to the output directory. */
void handover_drain(const char *spool, const char *output);

/* The run has ended, in a process with its live file in `spool` ("": none), which writes to `output`. */
void handover_end(const char *spool, const char *output);

#endif
