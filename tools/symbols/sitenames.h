/* The names of call sites. */
#ifndef MPIT_TOOLS_SITENAMES_H
#define MPIT_TOOLS_SITENAMES_H

#include "summary/summarysites.h"

/*
 * Gives the frames of the summary's call sites their functions, files and lines, as far as the files on this machine
 * tell. A place in an inlined function becomes several frames. Does nothing if they have names already. Returns 0, or
 * -1 without memory; then the sites stay as they were.
 */
int site_names_find(struct summary *summary);

#endif
