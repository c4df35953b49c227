/* The files of the locations: their own definitions, and their events in the order of time over all of them. */
#ifndef MPIT_TOOLS_CHECK_STREAM_H
#define MPIT_TOOLS_CHECK_STREAM_H

#include "check/check_model.h"

/* `directory`: where the .evt and .def files are; NULL where they are no files of their own. */
void check_locations_read(OTF2_Reader *reader, const char *directory);

/* What the OTF2 library said last, or "". */
const char *check_otf2_error(void);

#endif
