/* Warns when MPI is initialized about errors in the environment of the process. */
#ifndef MPIT_PROBES_ENVIRONMENT_H
#define MPIT_PROBES_ENVIRONMENT_H

#include "recorder/opening.h"

/* Such an error affects all processes of a program, and the first one reports it. Several programs may each have their
 * own environment. */
void environment_tell(const struct opened *opened);

#endif
