/*
 * The problems that keep mpit-run from recording a program. The program has priority: it runs without recording, and
 * standard error has the reason. With --strict it does not run.
 */
#ifndef MPIT_TOOLS_RUNREFUSAL_H
#define MPIT_TOOLS_RUNREFUSAL_H

#include <stdbool.h>

struct refusal {
    bool strict; /* do not run without the requested recording */
    bool silent; /* another mpit-run of the job prints messages */
};

/* Reports the problem, and that the program runs unrecorded. Strict: ends the tool with 2 and the reason. */
__attribute__((format(printf, 2, 3))) void refusal_say(const struct refusal *refusal, const char *format, ...);
/* Reports a problem of a recording that happens nevertheless. Strict: as above. */
__attribute__((format(printf, 2, 3))) void refusal_warn(const struct refusal *refusal, const char *format, ...);

#endif
