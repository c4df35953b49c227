/* What MPI's functions answer in a process without an MPI library. */
#ifndef MPIT_PRELOAD_ABSENT_H
#define MPIT_PRELOAD_ABSENT_H

/* A function to jump to in the place of the one with this name. It says once that there is no MPI, where the call
 * cannot do without, and returns an error. */
void *absent_function(const char *name);

#endif
