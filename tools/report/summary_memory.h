/* The memory of the ranks, and what they read and wrote, as text. */
#ifndef MPIT_TOOLS_SUMMARY_MEMORY_H
#define MPIT_TOOLS_SUMMARY_MEMORY_H

#include "summary/summary.h"

#include <stdio.h>

void summary_memory_print(const struct summary *summary, FILE *out);

#endif
