/* The answers of MPI's functions in a process without an MPI library. */
#ifndef MPIT_PRELOAD_ABSENT_H
#define MPIT_PRELOAD_ABSENT_H

/* Returns a function to jump to instead of the function with this name. It reports once that there is no MPI, if the
 * call needs one, and returns an error. */
void *absent_function(const char *name);

#endif
