/* Definitions, held against the rules: each once, before its use, of the right type. */
#ifndef MPIT_INTEGRATION_CHECKEDDEFINITIONS_H
#define MPIT_INTEGRATION_CHECKEDDEFINITIONS_H

#include "checkedarchive.h"

/* The global ones. */
void definitions_read(OTF2_Reader *reader);

/* A location's own, when the files of the definitions are open. */
void location_definitions_read(OTF2_Reader *reader, struct location *location);

#endif
