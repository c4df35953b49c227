/*
 * What keeps mpit-run from recording a program. The program comes first: it runs without being recorded, and standard
 * error says why. With --strict it does not run.
 */
#ifndef MPIT_TOOLS_REFUSAL_H
#define MPIT_TOOLS_REFUSAL_H

#include <stdbool.h>

struct refusal {
    bool strict; /* nothing runs that is not recorded as asked for */
    bool silent; /* another mpit-run of the job speaks */
};

/* Says what is wrong and that the program runs unrecorded. Strict: ends the tool with 2 and the reason. */
__attribute__((format(printf, 2, 3))) void refusal_say(const struct refusal *refusal, const char *format, ...);
/* Says what is wrong with a recording that takes place all the same. Strict: as above. */
__attribute__((format(printf, 2, 3))) void refusal_warn(const struct refusal *refusal, const char *format, ...);

#endif
