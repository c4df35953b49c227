/*
 * A summary as text of at most 100 columns.
 */
#ifndef MPIT_TOOLS_SUMMARY_TEXT_H
#define MPIT_TOOLS_SUMMARY_TEXT_H

#include "summary.h"

#include <stdio.h>

void summary_print(const struct summary *summary, FILE *out);

#endif
