/* Memory for requests (request.h). */
#ifndef MPIT_PROBES_REQUESTARENA_H
#define MPIT_PROBES_REQUESTARENA_H

#include "requests/request.h"

enum { ARENA_STEP = 256 }; /* requests */

/* Returns ARENA_STEP zeroed requests side by side, or NULL without memory. The caller holds the table. */
struct request *arena_extend(void);
/* Returns how many requests have memory: numbers below that. */
uint32_t arena_count(void);

#endif
