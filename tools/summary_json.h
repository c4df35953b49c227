/*
 * Summaries as JSON; every field is described in share/doc/summary-json.md.
 */
#ifndef MPIT_TOOLS_SUMMARY_JSON_H
#define MPIT_TOOLS_SUMMARY_JSON_H

#include "rundir.h"

#include <stdio.h>

/* One document with all jobs of the directory. Returns 0, or -1 when there is no memory or `out` fails. */
int summary_write_json(const struct run_dir *dir, FILE *out);

#endif
