/*
 * Reads the settings of the recorder in this process, once, from the environment (MPIT_*) and the site's file. MPI_Init
 * calls it, or a tool that asks for control variables before. Later they change through control variables. An invalid
 * value is named on stderr with the valid ones, and the default holds. That appears once for the job, because its
 * processes usually have the same settings.
 */
#ifndef MPIT_AGGREGATE_SETTINGS_H
#define MPIT_AGGREGATE_SETTINGS_H

#include "settings/knobs.h"

/* Reads the environment into the settings, at the first call. */
void settings_read(void);
/* True if mpit has a variable of this name. */
bool settings_know(const char *variable, size_t bytes);
/* For an unknown MPIT_...: "; did you mean MPIT_OUTPUT?", or where all are if no name looks like it. `of_site`: it stands in
 * the site's file, where names have another form. */
enum { SETTINGS_HINT_BYTES = 96 };
void settings_hint(const char *variable, size_t bytes, bool of_site, char hint[SETTINGS_HINT_BYTES]);
/* Reports invalid settings of the environment and of the site's file, a line with each call of `say`. For one process
 * of the job, as soon as its rank is known. */
void settings_tell(void (*say)(const char *format, ...));

#endif
