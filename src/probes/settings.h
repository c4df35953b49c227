/*
 * The settings of the recorder in this process: read once from the environment (MPIT_*), some changed later through
 * control variables. A value that cannot be used is named on stderr with what is allowed, and the default holds.
 */
#ifndef MPIT_PROBES_SETTINGS_H
#define MPIT_PROBES_SETTINGS_H

#include "knobs.h"

/* Reads the environment into `knobs`. */
void settings_read(void);

#endif
