/*
 * MPI_Pcontrol(level, ...): the program switches the recording.
 *
 *   0            off: calls are not recorded, until it is on again
 *   1            on
 *   2 and more   on, and values of instruments, which otherwise reach the run file only at the end, are written now.
 *                Events need no writing out: they are in the file when they are recorded
 *   negative     nothing
 *
 * It applies to the process, in all its threads. Requests and objects made while it is off are known all the same, so
 * that handles that are used again are not mistaken. Then the library's own MPI_Pcontrol (or another tool's) is called
 * with all arguments.
 */
#ifndef MPIT_PROBES_PCONTROL_H
#define MPIT_PROBES_PCONTROL_H

/* Finds the next functions. Lets no gate pass. */
void pcontrol_find(void);
/* A run begins. It may be off already. */
void pcontrol_begin(void);

#endif
