/* What the process used of its node during the run: processor time, waits for a processor, major faults. */
#ifndef MPIT_PROBES_USAGE_H
#define MPIT_PROBES_USAGE_H

#include "format/runfile.h"

/* The run time begins. */
void usage_begin(void);
/* It ends: writes what was used in between. */
void usage_end(struct run_header *header);

#endif
