/* What a program left at its end: messages that nobody received, requests, communicators, windows and files. */
#ifndef MPIT_TOOLS_SUMMARY_LEFT_H
#define MPIT_TOOLS_SUMMARY_LEFT_H

#include "summary/summary.h"

#include <stdio.h>

/* Messages that were sent and not received. count = 0: none, or it is not known. `comm` has most of them. */
struct unreceived {
    uint64_t count, sent;
    const struct summary_comm *comm;
};

struct unreceived unreceived_find(const struct summary *summary);
/* Prints nothing if nothing is left. */
void summary_left_print(const struct summary *summary, FILE *out);

#endif
