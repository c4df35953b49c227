/*
 * MPI_Pcontrol(level, ...): the program switches the recording.
 *
 *   0            off: calls are not recorded, until it is on again
 *   1            on
 *   2 and more   on, and what the run file has only at the end otherwise (values of instruments) is written now; events
 *                need no writing out: they are in the file when they are recorded
 *   negative     nothing
 *
 * It is for the process, in all its threads. What is posted, or made, while it is off is known all the same, so that
 * handles that are used again are not mistaken. The library's own MPI_Pcontrol (or another tool's) is called behind,
 * with all arguments, whatever they are.
 */
#ifndef MPIT_PROBES_PCONTROL_H
#define MPIT_PROBES_PCONTROL_H

/* Finds what stands behind; lets nothing pass. */
void pcontrol_find(void);
/* A run begins: it is off already, perhaps. */
void pcontrol_begin(void);

#endif
