/* The files of the locations: their own definitions, and their events in the order of time over all of them. */
#ifndef MPIT_TOOLS_CHECK_STREAM_H
#define MPIT_TOOLS_CHECK_STREAM_H

#include "check/check_model.h"

/* `directory` is the place of the .evt and .def files, or NULL if there are no such files. */
void check_locations_read(OTF2_Reader *reader, const char *directory);

/* Returns the last message of the OTF2 library, or "". */
const char *check_otf2_error(void);

#endif
