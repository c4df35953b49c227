/*
 * The settings of the recorder in this process: read once from the environment (MPIT_*), by MPI_Init or by a tool that
 * asks for control variables before; changed later through those. A value that cannot be used is named on stderr with
 * what is allowed, and the default holds: once for the job, because its processes have the same environment as a rule.
 */
#ifndef MPIT_AGGREGATE_SETTINGS_H
#define MPIT_AGGREGATE_SETTINGS_H

#include "settings/knobs.h"

/* Reads the environment into `knobs`; the first call does. */
void settings_read(void);
/* Says what in it cannot be used, a line with each call of `say`; for one process of the job, as soon as its rank is
 * known. */
void settings_tell(void (*say)(const char *format, ...));

#endif
