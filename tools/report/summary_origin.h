/*
 * The origin of a job in a summary: command, times, user, batch job, hosts, and the ranks without any file.
 */
#ifndef MPIT_TOOLS_SUMMARY_ORIGIN_H
#define MPIT_TOOLS_SUMMARY_ORIGIN_H

#include "summary/summary.h"

#include <jansson.h>
#include <stdio.h>

/* Prints lines of text. */
void summary_origin_print(const struct summary *summary, FILE *out);
/* Prints one line: when it ran, for how long, by whom. */
void summary_when_print(const struct summary *summary, FILE *out);
/* The hosts, with ranks and processors. "" if they are not known. `bytes` is 512 or more. */
void summary_loads_text(const struct summary *summary, char *text, size_t bytes);
/* Prints a line with the ranks without any file, if there are any. */
void summary_missing_print(const struct summary *summary, FILE *out);

/* Returns the same as an object, or null if it is not known. */
json_t *summary_origin_json(const struct summary *summary);
/* Likewise, for people and scripts: what ran, when and where. */
json_t *summary_about_json(const struct summary *summary);
/* Returns the ranks without any file as an array, or null if they are not known. */
json_t *summary_missing_json(const struct summary *summary);

#endif
