/*
 * Ages in the options of tools: 30m (minutes), 12h, 90d, 8w.
 */
#ifndef MPIT_TOOLS_AGE_H
#define MPIT_TOOLS_AGE_H

#include <stdbool.h>

/* For messages about an age that cannot be used. */
#define AGE_EXAMPLES "30m (minutes), 12h, 7d and 8w"

/* Returns false if the text is no age. */
bool age_read(const char *text, double *seconds);

#endif
