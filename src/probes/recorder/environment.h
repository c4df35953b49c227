/*
 * What is wrong with the environment that a process was started in, told when MPI is initialized.
 */
#ifndef MPIT_PROBES_ENVIRONMENT_H
#define MPIT_PROBES_ENVIRONMENT_H

#include <stdbool.h>

/* It is wrong for all processes of a program, and said by the first. Where there are several programs, each may have an
 * environment of its own. Refused: for want of a directory to write into. */
void environment_tell(bool trace_refused, bool samples_refused);

#endif
