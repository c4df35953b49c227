/* What a program left at its end: messages that nobody received, requests, and objects that were not freed. */
#ifndef MPIT_TOOLS_SUMMARY_LEFT_H
#define MPIT_TOOLS_SUMMARY_LEFT_H

#include "summary/summary.h"

#include <stdio.h>

/* All calls of all ranks were recorded, and all ranks came to their end. */
bool left_is_known(const struct summary *summary);

/* Messages that were sent and not received. count = 0: none, or it is not known. `comm` has most of them. */
struct unreceived {
    uint64_t count, sent;
    const struct summary_comm *comm;
};

struct unreceived unreceived_find(const struct summary *summary);
/* "12 datatypes". LEFT_NONE: "12 objects". */
enum { LEFT_TEXT_BYTES = 48 };
const char *left_kind_text(enum left_kind kind, uint64_t count, char text[LEFT_TEXT_BYTES]);
/* "freed", "closed" or "completed". */
const char *left_verb_text(enum left_kind kind);
/* Prints nothing if nothing is left. */
void summary_left_print(const struct summary *summary, FILE *out);

#endif
