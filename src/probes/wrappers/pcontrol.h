/*
 * MPI_Pcontrol(level, ...): the program switches the recording.
 *
 *   0            off: calls are not recorded, until it is on again
 *   1            on. With a name: the phase of that name begins (namedphases.h)
 *   2 and more   on, and values of instruments, which otherwise reach the run file only at the end, are written now.
 *                Events need no writing out: they are in the file when they are recorded
 *   5 and more   also, the phase of that number begins
 *   -1           with a name: the phase ends. -5 and less: the phase of that number ends. Recording stays on or off
 *   other        nothing
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
