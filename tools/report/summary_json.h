/*
 * Summaries as JSON; every field is described in share/doc/summary-json.md.
 */
#ifndef MPIT_TOOLS_SUMMARY_JSON_H
#define MPIT_TOOLS_SUMMARY_JSON_H

#include "job/rundir.h"

#include <jansson.h>
#include <stdio.h>

/* One document with all jobs of the directory: a new reference; NULL without memory. */
json_t *summary_json(const struct run_dir *dir);
/* Writes it. Returns 0, or -1 when there is no memory or `out` fails. */
int summary_write_json(const struct run_dir *dir, FILE *out);

#endif
