/* Where the process comes from, for its live file: user, command line, working directory, the scheduler's job. */
#ifndef MPIT_PROBES_ORIGIN_H
#define MPIT_PROBES_ORIGIN_H

#include "writer/run.h"

/* The user's name, or "". */
void origin_user(char text[ORIGIN_USER_BYTES]);

/* Writes it into the run. Once, when the run begins. */
void origin_note(struct run *run);

#endif
