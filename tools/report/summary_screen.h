/*
 * The first screen of a summary: 24 lines of 80 columns. What ran, how good it is, what stands out, the costliest call
 * sites. All else is in summary_text.h.
 */
#ifndef MPIT_TOOLS_SUMMARY_SCREEN_H
#define MPIT_TOOLS_SUMMARY_SCREEN_H

#include "summary/summary.h"

#include <stdio.h>

void summary_screen_print(const struct summary *summary, FILE *out);

#endif
