/* Events, held against the rules of nesting, order and range; what has two ends goes on to checkedmatches. */
#ifndef MPIT_INTEGRATION_CHECKEDEVENTS_H
#define MPIT_INTEGRATION_CHECKEDEVENTS_H

#include "checkedarchive.h"

/* Reads what is local: of each location its definitions, then its events. */
void events_read(OTF2_Reader *reader);

#endif
