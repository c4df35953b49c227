/* A thread without memory for a log: each of its calls is counted as lost when it asks for the log (log_attach). */
#ifndef MPIT_PROBES_REFUSAL_H
#define MPIT_PROBES_REFUSAL_H

#include <stdbool.h>

/* True if the calling thread has no log, and will get none. Who asks for a log outside of a call looks here first, so
 * that no call counts twice. */
bool log_refused(void);

#endif
