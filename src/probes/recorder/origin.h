/* Where the process comes from, for its live file: user, command line, working directory, the scheduler's job. */
#ifndef MPIT_PROBES_ORIGIN_H
#define MPIT_PROBES_ORIGIN_H

#include "writer/run.h"

#include <limits.h>

/* The user's name, or "". If the site hides it: its hash. */
void origin_user(char text[ORIGIN_USER_BYTES]);

/* The program's name, without its folder, or its hash. */
void origin_program(char text[NAME_MAX + 1]);

/* Writes it into the run. Once, when the run begins. */
void origin_note(struct run *run);

#endif
