/* Other libraries' instruments in the summary, as text and as JSON. */
#ifndef MPIT_TOOLS_SUMMARY_INSTRUMENTS_H
#define MPIT_TOOLS_SUMMARY_INSTRUMENTS_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

void summary_instruments_print(const struct summary *summary, FILE *out);
/* An array with an object for each line. */
json_t *summary_instruments_json(const struct summary *summary);

#endif
