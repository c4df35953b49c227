/* Warns when MPI is initialized about errors in the environment of the process. */
#ifndef MPIT_PROBES_ENVIRONMENT_H
#define MPIT_PROBES_ENVIRONMENT_H

#include <stdbool.h>

/* Such an error affects all processes of a program, and the first one reports it. Several programs may each have their
 * own environment. Refused: there is no directory to write into. */
void environment_tell(bool trace_refused, bool samples_refused);

#endif
