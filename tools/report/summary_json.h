/*
 * Summaries as JSON. share/doc/summary-json.md describes every field.
 */
#ifndef MPIT_TOOLS_SUMMARY_JSON_H
#define MPIT_TOOLS_SUMMARY_JSON_H

#include "job/rundir.h"

#include <jansson.h>
#include <stdio.h>

/* Returns one document with all jobs of the directory: a new reference, or NULL without memory. */
json_t *summary_json(const struct run_dir *dir);
/* Writes it. Returns 0, or -1 without memory, or if `out` fails. */
int summary_write_json(const struct run_dir *dir, FILE *out);

#endif
