/*
 * All of a summary as text. Its first screen is summary_screen.h.
 */
#ifndef MPIT_TOOLS_SUMMARY_TEXT_H
#define MPIT_TOOLS_SUMMARY_TEXT_H

#include "summary/summary.h"

#include <stdio.h>

struct run_part;

void summary_print(const struct summary *summary, FILE *out);
/* Prints the summary of a part of a job (rundir.h). */
void summary_print_part(const struct summary *summary, const struct run_part *part, FILE *out);

#endif
